// Random packet spraying. At every router each packet takes a minimal port drawn with equal probability. Source: Dixit,
// Prakash, Hu, Kompella, "On the impact of packet spraying in data center networks", INFOCOM 2013.
//
// Packets of a flow may arrive out of order. The authors' hosts react to that with retransmissions. A receiver here
// does not, because the network loses no packet.
#include "simcore/routing/paths.hpp"

namespace flitgym::routing::graph::packet_spray {

struct Spray : MinimalPorts {
  using Rule = ComponentData;
  static u32 select(const Head& at, const Rule&, const Congestion&, const Offered<>& offered) {
    return below(route_draw(at.net, at.packet, 0), offered.count);
  }
};

static RoutingFacts setup(const Params&, Network& net, ComponentData&) { return facts_of_minimal_paths(net); }

const Register<RoutingSpec> entry(minimal_paths<Spray>({
    .name = "packet_spray",
    .summary = "a random shortest path for each packet (random packet spraying)",
    .setup = with_rule<setup>,
}));

}  // namespace flitgym::routing::graph::packet_spray
