// VALg: every packet that leaves its group goes minimally to a uniformly random third group, and from wherever it lands
// there minimally to its destination (Valiant 1982; Kim et al., ISCA 2008). Traffic within a group is minimal.
// VC 0 in the source group, 1 in the intermediate group, 2 in the destination group.
#include "routing/two_legs.hpp"

namespace flitgym {

namespace {

constexpr LegClasses kClasses = {0, 0, 1, 1, 2};

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
          p.intermediate = df.group(middle);
          take_detour(p);
        }
      }
    }
    const Hop hop = follow_legs<false>(net, df, kClasses, p, b.router[i], e);
    b.out_port[i] = static_cast<u16>(hop.port);
    b.out_class[i] = static_cast<u16>(hop.vc_class);
  }
}

RoutingFacts setup(const Params&, Network&, std::shared_ptr<const ComponentData>&) { return {3, 5}; }

const Register<RoutingSpec> entry({"valiant_group", "through a random group (VALg)", {"dragonfly"}, {}, setup, route});

}  // namespace

}  // namespace flitgym
