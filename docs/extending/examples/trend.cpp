// The growth of the queue of each candidate. A router keeps a running mean of each link's load.
// An agent sees the mean and the difference between the current load and the mean.
#include <algorithm>

#include "simcore/graph.hpp"
#include "simcore/learning.hpp"
#include "simcore/registry.hpp"

namespace flitgym::learning::observation::trend {

namespace {

constexpr double kMemoryNs = 1000;  // time constant of the mean

struct Own : ComponentData {
  Kept<float> mean;  // [router ports] flits queued for the link or not yet credited
  Kept<u32> seen;    // [router ports] cycle of the last update of the mean
};

// The declared memory is part of State, which is forked, saved and hashed.
std::shared_ptr<const ComponentData> setup(Network& net) {
  auto own = std::make_shared<Own>();
  MemoryShape shape;
  shape.per = Per::kPort;
  shape.name = "trend_mean";
  shape.meaning = "running mean of the link's load, flits";
  own->mean = declare<float>(net, shape);
  shape.name = "trend_seen";
  shape.meaning = "cycle of its last change";
  own->seen = declare<u32>(net, shape);
  return own;
}

// Runs before the rows of a cycle. Routers with requests update their means. Requests come at
// irregular times, so the current load counts for the time since the last update.
void prepare(const Network& net, State& s, const Batch& b, const ComponentData* data) {
  const auto* own = static_cast<const Own*>(data);
  float* const mean = own->mean.of(s);
  u32* const seen = own->seen.of(s);
  const Graph& graph = graph_now(net, s);
  for (u32 i = 0; i < b.count; i++)
    each_link(net, graph, b.router[i], [&](u32 k) {
      const u32 port = net.port(b.router[i], k);
      const double past = (b.now - seen[port]) * net.cycle_ns;
      mean[port] +=
          static_cast<float>((s.ports[port].load - mean[port]) * past / (past + kMemoryNs));
      seen[port] = b.now;
    });
}

void write(const Network& net, const State& s, const Asked& asked, float*, float* slots,
           u32 stride) {
  const float* const mean = static_cast<const Own*>(asked.own)->mean.of(s);
  const float room =
      1.0f / static_cast<float>(net.router.input_depth + net.router.output_depth);
  for (u32 k = 0; k < asked.slots; k++, slots += stride) {
    const u32 port = net.port(asked.router, asked.ports[k]);
    slots[0] = std::min(mean[port] * room, 32.0f);
    slots[1] =
        std::clamp((static_cast<float>(s.ports[port].load) - mean[port]) * room, -32.0f, 32.0f);
  }
}

const Register<ObservationSpec> entry({
    .name = "trend",
    .summary = "the change of each link's load",
    .per_slot = {{"mean", 0, 32,
                  "running mean of the flits queued for the link or not yet credited / "
                  "flits of one VC's buffers"},
                 {"rise", -32, 32, "current flits minus the mean, in the same unit"}},
    .write = write,
    .setup = setup,
    .prepare = prepare,
    .local = true,  // reads only the router that decides
});

}  // namespace

}  // namespace flitgym::learning::observation::trend
