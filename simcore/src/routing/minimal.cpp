// MIN: the unique minimal path, at most three hops (local, global, local). VC 0 up to and with the global hop, VC 1 in
// the destination group: each VC's channels are used in the order local < global, and VC 1 never leads back to VC 0.
#include "simcore/registry.hpp"
#include "simcore/state.hpp"
#include "topology/dragonfly.hpp"

namespace flitgym {

namespace {

void route(const Network& net, State& s, Batch& b) {
  const Dragonfly& df = dragonfly(net);
  for (u32 i = 0; i < b.count; i++) {
    const u32 destination = s.packets[b.packet[i]].destination, router = b.router[i], to = net.terminal_router[destination];
    b.out_port[i] = static_cast<u8>(df.minimal_port(net, router, destination));
    b.out_class[i] = df.group(router) == df.group(to);
  }
}

RoutingFacts setup(const Params&, Network&, std::shared_ptr<const ComponentData>&) { return {2, 3}; }

const Register<RoutingSpec> entry({"minimal", "the minimal path, always (MIN)", {"dragonfly"}, {}, setup, route});

}  // namespace

}  // namespace flitgym
