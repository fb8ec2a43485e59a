// PAR: progressive adaptive routing (Jiang, Kim, Dally, ISCA 2009), as in the Q-adaptive authors' code (dragonfly.cc
// 1097-1253). The source router decides by UGALn. A packet that is still minimal at the second router of its source
// group decides again, with the same intermediate router.
// VC classes, by the router at which the hop begins:
// 0  the source router, minimal path
// 1  the source group, detour
// 2  the intermediate group, on the way to the intermediate router
// 3  the intermediate group, on the way to the destination group; also the source group after its first router, minimal
//    path
// 4  the destination group
#include "routing/dragonfly/two_legs.hpp"

namespace flitgym::routing::dragonfly::par {

constexpr LegClasses kAtSource = {1, 0, 2, 3, 4}, kLater = {1, 3, 2, 3, 4};

struct Par : Legs<true, kAtSource> {
  static bool decides(const Head& at) {
    const Packet& p = at.packet;
    if (p.phase != kMinimal || p.hops != 1) return p.phase == kUndecided;
    const Dragonfly& df = as_dragonfly(at.net);
    const u32 group = df.group(at.router);
    return group == df.group(at.net.terminal_router[p.source]) && group != df.group(at.to) && df.g > 2;
  }
  // A minimal packet keeps the drawn intermediate router for its second decision.
  template <class Visit>
  static void paths(const Head& at, const Rule& rule, const Leg& now, Visit&& visit) {
    Leg minimal{kMinimal, now.middle};
    if (now.phase == kUndecided) detours(at, rule, [&](const Leg& leg) { minimal.middle = leg.middle; });
    visit(minimal);
    if (now.phase == kUndecided) detours(at, rule, visit);
    else visit(Leg{kToIntermediate, now.middle});
  }
  template <class Out>
  static void hops(const Head& at, const Rule&, Leg& leg, Out&& out) {
    const Hop hop = follow<true>(at, at.packet.hops == 0 ? kAtSource : kLater, leg);
    out(hop.port, hop.vc_class);
  }
  // If both paths share the output port, the authors compare its classes 0 and 1, also at the second router.
  static Leg decide(const Head& at, const Rule& rule, const Congestion&, const Leg& now) {
    const Leg detour = now.phase == kUndecided ? best_detour(at, rule, now) : Leg{kToIntermediate, now.middle};
    const bool takes = detour.phase == kToIntermediate && ugal_diverts<true>(at, rule, kAtSource, detour.middle);
    return {takes ? kToIntermediate : kMinimal, detour.middle};
  }
};

static RoutingFacts setup(const Params& params, Network& net, UgalRule& rule) {
  rule.detour_class = kAtSource.source_detour;
  return legs_setup<true, 5, 7>(params, net, rule);
}

const Register<RoutingSpec> entry(dragonfly_legs<Par>({
    .name = "par",
    .summary = "UGALn, with a second decision at the second router of the source group (PAR)",
    .params = diversion_params(2, false),
    .setup = with_rule<setup>,
}));

}  // namespace flitgym::routing::dragonfly::par
