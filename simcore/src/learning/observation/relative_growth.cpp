// Growth of each candidate's queue, as a time relative to the mean hop of the network. A policy without memory sees only
// the present length of a queue. The difference of a fast and a slow running mean tells a queue that began to grow from
// a queue with a settled length, and from a queue that drains.
#include <algorithm>
#include <limits>

#include "learning/relative.hpp"
#include "simcore/registry.hpp"

namespace flitgym::learning::observation::relative_growth {

namespace {

constexpr float kFast = 3, kSlow = 30;  // time constants of the running means, in mean hops of the network

// write() reads two means and takes their difference. prepare() reads a cycle, and may update both means: a sum, a
// quotient, a difference, a product and a sum for each.
constexpr Operations kPerCandidate = {.multiplications = 4, .additions = 7, .comparisons = 2, .reads = 3};

struct Own : ComponentData {
  Kept<u32> last;     // [router ports]
  Kept<float> means;  // [router ports, 2] fast, slow
};

std::shared_ptr<const ComponentData> setup(Network& net) {
  auto own = std::make_shared<Own>();
  MemoryShape last;
  last.name = "relative_growth_last";
  last.meaning = "relative_growth: cycle of the last update of a link's running means";
  last.per = Per::kPort;
  last.highest = std::numeric_limits<u32>::max();
  own->last = declare<u32>(net, last);
  MemoryShape means;
  means.name = "relative_growth_means";
  means.meaning = "relative_growth: flits queued for the link or without returned credit, fast and slow running mean";
  means.per = Per::kPort;
  means.columns = 2;
  means.highest = net.vcs * (net.router.input_depth + net.router.output_depth);
  own->means = declare<float>(net, means);
  return own;
}

// The means change at decisions only, at most once per mean hop. The present load counts for the time since then.
void prepare(const Network& net, State& s, const Batch& b, const ComponentData* data) {
  const auto& own = static_cast<const Own&>(*data);
  u32* const last = own.last.of(s);
  float* const means = own.means.of(s);
  const float hop = net.seam->hop_scale_ns / static_cast<float>(net.cycle_ns);  // cycles
  for (u32 i = 0; i < b.count; i++)
    for (u32 k = b.offsets[i]; k < b.offsets[i + 1]; k++) {
      const u32 port = net.port(b.router[i], b.candidate_port[k]);
      const u32 elapsed = b.now - last[port];
      if (elapsed <= static_cast<u32>(hop)) continue;
      const auto time = static_cast<float>(elapsed), load = static_cast<float>(s.ports[port].load);
      float* const mean = means + std::size_t{port} * 2;
      mean[0] += time / (time + kFast * hop) * (load - mean[0]);
      mean[1] += time / (time + kSlow * hop) * (load - mean[1]);
      last[port] = b.now;
    }
}

void write(const Network& net, const State& s, const Asked& asked, float*, float* slots, u32 stride) {
  const float* const means = static_cast<const Own&>(*asked.own).means.of(s);
  const float per_cycle = static_cast<float>(net.cycle_ns) / net.seam->hop_scale_ns;
  for (u32 k = 0; k < asked.slots; k++, slots += stride) {
    const u32 port = net.port(asked.router, asked.ports[k]);
    const float* const mean = means + std::size_t{port} * 2;
    const float growth = (mean[0] - mean[1]) * static_cast<float>(net.channels[port].flit_cycles) * per_cycle;
    slots[0] = bounded(std::max(growth, 0.0f));
    slots[1] = bounded(std::max(-growth, 0.0f));
  }
}

const Register<ObservationSpec> entry({
    .name = "relative_growth",
    .summary = "growth of each candidate's queue over some mean hops: a fast minus a slow running mean",
    .per_slot = {{"rising", 0, kMostRelative,
                  "time of the flits queued for the link or without returned credit, running mean over 3 minus running "
                  "mean over 30 mean hops, at least 0 / mean hop"},
                 {"falling", 0, kMostRelative, "the same with the opposite sign, at least 0"}},
    .write = write,
    .setup = setup,
    .prepare = prepare,
    .per_candidate = kPerCandidate,
});

}  // namespace

}  // namespace flitgym::learning::observation::relative_growth
