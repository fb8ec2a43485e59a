// MIN: a minimal path, at most three hops (local, global, local). VC class 0 up to and including the global
// hop, class 1 in the destination group. Within class 0, local channels come before global channels, and class 1 never
// leads back to class 0. So there is no dependency cycle.
#include "simcore/routing/relation.hpp"
#include "simcore/topology/dragonfly.hpp"

namespace flitgym::routing::dragonfly::minimal {

static void route(const Network& net, State& s, Batch& b) {
  const Dragonfly& df = as_dragonfly(net);
  const u32 count = b.count;
  const Packet* const packets = s.packets.data();
  const u32 *const ids = b.packet.data(), *const routers = b.router.data();
  u16 *const out_port = b.out_port.data(), *const out_class = b.out_class.data();
  for (u32 i = 0; i < count; i++) {
    const Packet& p = packets[ids[i]];
    out_port[i] = static_cast<u16>(df.own_minimal_port(net, routers[i], p));
    out_class[i] = df.group(routers[i]) == df.group(net.terminal_router[p.destination]);
  }
}

static RoutingFacts setup(const Params&, Network&, std::shared_ptr<const ComponentData>&) {
  return {.classes = 2, .max_hops = 3, .minimal = true};
}

const Register<RoutingSpec> entry({
    .name = "minimal",
    .summary = "the minimal path, always (MIN)",
    .topologies = {"dragonfly"},
    .setup = setup,
    .route = route,
    .candidates = only_candidate<route>,
    .operations = [](const Network&, double) { return Operations{}; },
});

}  // namespace flitgym::routing::dragonfly::minimal
