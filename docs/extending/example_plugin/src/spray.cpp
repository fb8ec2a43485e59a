// Random packet spraying (Dixit et al., INFOCOM 2013): every packet takes a random minimal port.
#include "simcore/routing/paths.hpp"

namespace flitgym::routing::graph::spray {

namespace {

struct Spray {
  using Rule = ComponentData;  // it has no parameters
  template <class Out>
  static void offer(const Head& at, const Rule&, Out&& out) {
    offer_minimal(at, at.to, out);
  }
  static u32 select(const Head& at, const Rule&, const Congestion&, const Offered<>& offered) {
    return below(route_draw(at.net, at.packet, 0), offered.count);
  }
};

RoutingFacts setup(const Params&, Network& net, ComponentData&) { return class_per_hop(net); }

const Register<RoutingSpec> entry(declared<Spray>({
    .name = "spray",
    .summary = "a random minimal port for each packet",
    .setup = with_rule<setup>,
    .graph = true,  // uses the present links, so it runs with failed links
}));

}  // namespace

}  // namespace flitgym::routing::graph::spray
