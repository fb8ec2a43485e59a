// VAL and UGAL with detours through a random group or router.
//
// valiant_group   VALg: every packet to another group goes minimally to a uniformly random third group, and from the
//                 router where it enters that group minimally to its destination (Valiant 1982; Kim et al., ISCA 2008).
//                 Traffic within a group is minimal.
// valiant_router  VALn: as VALg, but through a uniformly random router of the intermediate group, which also
//                 spreads the traffic over that group's local links (Q-adaptive authors' dragonfly.cc, 642-733).
// ugal_group      UGALg: at the source router, the minimal path or a path through a random group, by the local queues.
//                 The defaults are the rule of the Q-adaptive papers, q_min > 2 q_nonmin without hop weights
//                 (dragonfly.cc 735-958, adaptive_threshold = 2). The preset ugal_l is the textbook's UGAL-L.
// ugal_router     UGALn: as UGALg, but the detour goes through a random router of the intermediate group (dragonfly.cc
//                 960-1095).
#include "routing/dragonfly/two_legs.hpp"

namespace flitgym::routing::dragonfly {

double UgalRule::weight(const Network& net, State& s, u32 packet, u32 router, u32 port, u32 vc_class) const {
  const Dragonfly& df = as_dragonfly(net);
  const Head at = head_of(net, s, packet, router);
  const Packet& p = at.packet;
  const u32 from = df.group(net.terminal_router[p.source]), to = df.group(at.to);
  const bool again = p.hops > 0, detours = vc_class == detour_class;  // PAR keeps its intermediate
  for (u32 k = 0; k < (again ? 1 : candidates); k++) {
    u32 middle = again ? intermediate.of(s)[packet] : random_router_elsewhere(net, df, from, to, route_draw(net, p, k));
    if (middle == kNone) break;
    if (!by_router) middle = df.group(middle);
    if (detours && port != (by_router ? port_to<true>(at, middle) : port_to<false>(at, middle))) continue;
    const u32 minimal_class = detours || again ? 0 : vc_class;
    const auto [minimal, detour] = by_router ? ugal_weights<true>(at, *this, minimal_class, detour_class, middle)
                                             : ugal_weights<false>(at, *this, minimal_class, detour_class, middle);
    return detours ? detour : minimal;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace flitgym::routing::dragonfly

namespace flitgym::routing::dragonfly::two_legs {

const Register<RoutingSpec> valiant_group(dragonfly_legs<Legs<false, LegClasses{0, 0, 1, 1, 2}, true>>({
    .name = "valiant_group",
    .summary = "through a random group (VALg)",
    .setup = with_rule<legs_setup<false, 3, 5>>,
}));
const Register<RoutingSpec> valiant_router(dragonfly_legs<Legs<true, LegClasses{0, 0, 1, 2, 3}, true>>({
    .name = "valiant_router",
    .summary = "through a random router (VALn)",
    .setup = with_rule<legs_setup<true, 4, 6>>,
}));
const Register<RoutingSpec> ugal_group(dragonfly_legs<Legs<false, LegClasses{0, 1, 1, 1, 2}>>({
    .name = "ugal_group",
    .summary = "minimal or through a random group, by the local queues (UGALg)",
    .params = diversion_params(2, false),
    .setup = with_rule<legs_setup<false, 3, 5>>,
}));
const Register<RoutingSpec> ugal_router(dragonfly_legs<Legs<true, LegClasses{0, 2, 1, 2, 3}>>({
    .name = "ugal_router",
    .summary = "minimal or through a random router, by the local queues (UGALn)",
    .params = diversion_params(2, false),
    .setup = with_rule<legs_setup<true, 4, 6>>,
}));

}  // namespace flitgym::routing::dragonfly::two_legs
