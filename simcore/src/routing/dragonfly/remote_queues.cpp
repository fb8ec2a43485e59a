// Queues at other routers: an oracle, for training alone. With relation=ugal_global these are the numbers that UGAL-G
// compares (routing/dragonfly/ugal_global.hpp): it takes the slot with the least number, and the minimal slot in a tie.
#include "routing/dragonfly/ugal_global.hpp"
#include "simcore/graph.hpp"
#include "simcore/learning.hpp"
#include "simcore/registry.hpp"

namespace flitgym::learning::observation::remote_queues {

constexpr float kMost = 65536;
constexpr u32 kMostHops = 64;

// The first hop by `port`, and then the minimal path.
static double seen_by(const Network& net, const State& s, const Asked& asked, u32 port) {
  const Seam& seam = *net.seam;
  const Graph& graph = graph_now(net, s);
  u32 router = asked.router, congestion = 0, hops = 0;
  while (router != kNone && router != asked.to && hops < kMostHops) {
    const u32 out = net.port(router, port);
    if (seam.region[router] == seam.region[asked.router] && net.channels[out].kind == PortKind::kGlobal)
      congestion += s.ports[out].load;
    hops++;
    router = seam.next_router[out];
    if (router != kNone && router != asked.to) port = net.topology->minimal_port(net, graph, router, asked.packet);
  }
  return static_cast<double>(congestion) * hops;
}

static void write(const Network& net, const State& s, const Asked& asked, float*, float* slots, u32 stride) {
  using namespace routing::dragonfly;
  const auto* const oracle = dynamic_cast<const OracleRule*>(net.relation.get());
  for (u32 k = 0; k < asked.slots; k++, slots += stride) {
    double seen = 0;
    if (oracle && k > 0) {  // slot k leads through the k-th group that the relation draws
      const Dragonfly& df = as_dragonfly(net);
      const u32 from = df.group(net.terminal_router[asked.packet.source]);
      const u32 middle =
          random_router_elsewhere(net, df, from, df.group(asked.to), routing::route_draw(net, asked.packet, k - 1));
      seen = seen_through(net, s, *oracle, asked.packet, asked.router, df.group(middle));
    } else {
      seen = seen_by(net, s, asked, asked.ports[k]);
    }
    slots[0] = std::min(static_cast<float>(seen) / 64, kMost);
  }
}

const Register<ObservationSpec> entry({
    .name = "remote_queues",
    .summary = "queues of global links at all routers of the group: an oracle, for training alone",
    .per_slot = {{"congestion", 0, kMost,
                  "flits queued for the global links of the router's group on the path through this candidate, or "
                  "without returned credit, times the hops of the path / 64"}},
    .write = write,
});

}  // namespace flitgym::learning::observation::remote_queues
