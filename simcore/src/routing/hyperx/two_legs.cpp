// VAL and UGAL on HyperX: paths of one or two legs, each in dimension order. Class 0 leads to the intermediate router,
// class 1 from there on and on minimal paths. Within a class the channels are used in the order of their dimensions,
// and class 1 never leads back to class 0.
//
// valiant  VAL (Valiant 1982): every packet to another router goes through a uniformly random router. This may be the
//          source or the destination router (as in SuperSim).
// ugal     UGAL (Singh 2005): the source router compares the weights of SC'19 of the minimal path and of VAL's paths.
//          It skips a drawn intermediate that is the source or destination router.
#include "routing/hyperx/incremental.hpp"

namespace flitgym::routing::hyperx::two_legs {

struct LegsRule : WeightRule {
  u32 candidates = 1;
  Kept<u32> intermediate;
  double weight(const Network&, State&, u32 packet, u32 router, u32 port, u32 vc_class) const override;
};

template <bool kAlways>
struct Legs {
  using Rule = LegsRule;
  static bool decides(const Head& at) { return at.packet.phase == kUndecided; }
  static u32 distance(const Head& at, u32 from, u32 to) {
    const HyperX& hx = as_hyperx(at.net);
    return hx.distance(hx.difference(from, to));
  }
  template <class Visit>
  static void paths(const Head& at, const Rule& rule, const Leg& now, Visit&& visit) {
    if (!kAlways || at.arrived()) visit(Leg{kMinimal, now.middle});
    for (u32 k = 0; !at.arrived() && k < rule.candidates; k++) {
      const u32 middle = below(route_draw(at.net, at.packet, k), at.net.routers);
      if (kAlways || (middle != at.router && middle != at.to)) visit(Leg{kToIntermediate, middle});
    }
  }
  template <class Out>
  static void hops(const Head& at, const Rule&, Leg& leg, Out&& out) {
    if (leg.phase == kToIntermediate && at.router == leg.middle) leg.phase = kFromIntermediate;
    const bool first = leg.phase == kToIntermediate;
    const u32 to = first ? leg.middle : at.to;
    if (at.router == to) out(at.net.terminal_port[at.packet.destination], kAnyClass);
    else out(as_hyperx(at.net).dor_port(at.router, to, at.packet), !first);
  }
  static Leg decide(const Head& at, const Rule& rule, const Congestion& congestion, const Leg& now) {
    return kAlways || at.arrived() ? first_path<Legs>(at, rule, now) : lightest_path<Legs>(at, rule, congestion, now);
  }
};

double LegsRule::weight(const Network& net, State& s, u32 packet, u32 router, u32 port, u32 vc_class) const {
  return weight_of_paths<Legs<false>>(net, s, packet, router, port, vc_class);
}

static RoutingFacts setup_valiant(const Params&, Network& net, LegsRule& rule) {
  rule.intermediate = declare_intermediate(net);
  return {2, 2 * as_hyperx(net).dimensions};
}

static RoutingFacts setup_ugal(const Params& params, Network& net, LegsRule& rule) {
  read_weight(params, net, rule);
  rule.candidates = params.count("candidates");
  rule.intermediate = declare_intermediate(net);
  return weighing({2, 2 * as_hyperx(net).dimensions}, rule);
}

const Register<RoutingSpec> valiant(routing::two_legs<Legs<true>>({
    .name = "valiant",
    .summary = "through a random router, both legs in dimension order (VAL)",
    .topologies = {"hyperx"},
    .setup = with_rule<setup_valiant>,
}));
const Register<RoutingSpec> ugal(routing::two_legs<Legs<false>>({
    .name = "ugal",
    .summary = "minimal or through a random router, by the queues of the source router (UGAL)",
    .topologies = {"hyperx"},
    .params = joined(weight_params("absolute", congestion_scope_of_paths_param("port")),
                     {integer("candidates", 1, 1, 15, "", "number of random intermediates compared")}),
    .setup = with_rule<setup_ugal>,
    .operations = weight_operations,
}));

}  // namespace flitgym::routing::hyperx::two_legs
