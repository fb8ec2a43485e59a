// VALn: as VALg, but through a uniformly random router of the intermediate group, which spreads the traffic over that
// group's local links too (Q-adaptive authors' dragonfly.cc, 642-733). Traffic within a group is minimal.
// VC 0 in the source group, 1 towards the intermediate router, 2 when leaving its group, 3 in the destination group.
#include "routing/two_legs.hpp"

namespace flitgym {

namespace {

constexpr LegClasses kClasses = {0, 0, 1, 2, 3};

void route(const Network& net, State& s, Batch& b) {
  const Dragonfly& df = dragonfly(net);
  for (u32 i = 0; i < b.count; i++) {
    Packet& p = s.packets[b.packet[i]];
    const Ends e = ends(net, df, p);
    if (p.phase == kUndecided) {
      p.phase = kMinimal;
      if (e.source_group != e.destination_group) {
        const u32 middle = random_router_elsewhere(net, df, e.source_group, e.destination_group, route_draw(net, p, 0));
        if (middle != kNone) {
          p.intermediate = middle;
          take_detour(p);
        }
      }
    }
    const Hop hop = follow_legs<true>(net, df, kClasses, p, b.router[i], e);
    b.out_port[i] = static_cast<u16>(hop.port);
    b.out_class[i] = static_cast<u16>(hop.vc_class);
  }
}

RoutingFacts setup(const Params&, Network&, std::shared_ptr<const ComponentData>&) { return {4, 6}; }

const Register<RoutingSpec> entry({"valiant_router", "through a random router (VALn)", {"dragonfly"}, {}, setup, route});

}  // namespace

}  // namespace flitgym
