// Random packet spraying. At every router each packet takes a minimal port drawn with equal probability. Source: Dixit,
// Prakash, Hu, Kompella, "On the impact of packet spraying in data center networks", INFOCOM 2013.
//
// Packets of a flow may arrive out of order. The authors' hosts react to that with retransmissions. A receiver here
// does not, because the network loses no packet.
#include "simcore/routing/paths.hpp"

namespace flitgym::routing::graph::packet_spray {

namespace {

void route(const Network& net, State& s, Batch& b) {
  route_minimally(net, s, b, [&](u32 i, const u16* ports, u32 n) {
    return ports[below(route_draw(net, s.packets[b.packet[i]], 0), n)];
  });
}

RoutingFacts setup(const Params&, Network& net, std::shared_ptr<const ComponentData>&) {
  return facts_of_minimal_paths(net);
}

const Register<RoutingSpec> entry([] {
  RoutingSpec spec{
      .name = "packet_spray",
      .summary = "a random shortest path for each packet (random packet spraying)",
      .setup = setup,
      .route = route,
  };
  spec.candidates = list_minimal_ports;
  spec.agent_can_choose = false;  // the relation `minimal` offers the same candidates
  spec.graph = true;
  return spec;
}());

}  // namespace

}  // namespace flitgym::routing::graph::packet_spray
