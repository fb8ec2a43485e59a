// UGAL-G: the oracle. It decides as UGALg does, but also sees queues at other routers. By default these are the queues
// of the global channels of the source group, the definition of Kim et al. (ISCA 2008, 4.2). With scope=path it
// sees the queues of every channel of both paths.
#include "routing/dragonfly/ugal_global.hpp"

namespace flitgym::routing::dragonfly {

using OraclePaths = Legs<false, LegClasses{0, 1, 1, 1, 2}>;

double OracleRule::weight(const Network& net, State& s, u32 packet, u32 router, u32 port, u32 vc_class) const {
  const Head at = head_of(net, s, packet, router);
  if (vc_class != detour_class) return seen_on_minimal_path(net, s, *this, at.packet, router);
  double least = ComponentData::weight(net, s, packet, router, port, vc_class);
  OraclePaths::detours(at, *this, [&](const Leg& leg) {
    const double seen = seen_through(net, s, *this, at.packet, router, leg.middle);
    if (port == port_to<false>(at, leg.middle) && !(seen >= least)) least = seen;
  });
  return least;
}

}  // namespace flitgym::routing::dragonfly

namespace flitgym::routing::dragonfly::ugal_global {

struct Oracle : OraclePaths {
  using Rule = OracleRule;
  static Leg decide(const Head& at, const Rule& rule, const Congestion&, const Leg& now) {
    Leg best{kMinimal, now.middle};
    double least = -1;
    detours(at, rule, [&](const Leg& leg) {
      const double q = seen_through(at.net, at.s, rule, at.packet, at.router, leg.middle);
      if (least < 0 || q < least) least = q, best.middle = leg.middle;
    });
    if (least >= 0 && rule.diverts(seen_on_minimal_path(at.net, at.s, rule, at.packet, at.router), least))
      best.phase = kToIntermediate;
    return best;
  }
};

static RoutingFacts setup(const Params& params, Network& net, OracleRule& rule) {
  read_diversion(params, rule);
  rule.measure = {congestion_of(params, net), Scope::kPort};
  rule.whole_path = params.text("scope") == "path";
  rule.intermediate = declare_intermediate(net, true);
  return {.classes = 3, .max_hops = 5, .marks = true, .remote = true};
}

const Register<RoutingSpec> entry(dragonfly_legs<Oracle>({
    .name = "ugal_global",
    .summary = "minimal or through a random group, by local and remote queues: an oracle (UGAL-G)",
    // The oracle measures whole channels.
    .params = joined(without(diversion_params(1, true), "congestion_scope"),
                     {choice("scope", "source_group", {"source_group", "path"},
                             "queues that it sees: source_group = global channels of the source group; path = every "
                             "channel of both paths")}),
    .setup = with_rule<setup>,
}));

}  // namespace flitgym::routing::dragonfly::ugal_global
