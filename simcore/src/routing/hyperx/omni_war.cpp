// OmniWAR: omni-dimensional weighted adaptive routing (McDonald et al., SC 2019). At every router a packet may take any
// link of every unaligned dimension, direct or derouting, by weight. It may take M deroutes, at any time. By default,
// two successive hops are not both deroutes in the same dimension (back_to_back=false). VC class = hops done: L + M
// classes carry L minimal hops and M deroutes. A deroute does not reduce the number of minimal hops that remain. It is
// allowed only if at least that many classes remain after it.
#include "routing/hyperx/incremental.hpp"

namespace flitgym::routing::hyperx::omni_war {

struct OmniWar {
  struct Rule : WeightRule {
    u32 classes = 0;
    bool back_to_back = false;  // allow a second deroute in the dimension of the last one
  };
  static Reach reach(const Where& at, const Rule& rule) {
    const u32 hops = at.packet.hops;
    const u32 just = rule.back_to_back ? u32{HyperX::kNoDimension} : at.derouted_in();
    const u32 deroute = hops + 1 + at.h > rule.classes ? 0
                        : just == HyperX::kNoDimension ? at.unaligned
                                                       : at.unaligned & ~(1u << just);
    return {at.unaligned, deroute, hops, hops};
  }
};

static RoutingFacts setup(const Params& params, Network& net, OmniWar::Rule& rule) {
  read_weight(params, net, rule);
  const u32 dimensions = as_hyperx(net).dimensions;
  const i64 deroutes = params.integer("deroutes");
  rule.classes = dimensions + (deroutes < 0 ? dimensions : static_cast<u32>(deroutes));
  rule.back_to_back = params.boolean("back_to_back");
  return weighing({rule.classes, rule.classes}, rule);
}

const Register<RoutingSpec> entry(incremental<OmniWar>({
    .name = "omni_war",
    .summary = "any unaligned dimension, with M weighted deroutes at any time (OmniWAR)",
    .params = joined(weight_params(),
                     {integer("deroutes", -1, -1, kMaxVcs, "per packet",
                              "M; each takes one VC class, in addition to the L classes of the minimal hops; -1 = "
                              "number of dimensions"),
                      flag("back_to_back", false,
                           "allow a second deroute in the dimension of the last one; packets then tend to wander in "
                           "that dimension")}),
    .setup = with_rule<setup>,
    .widest = true,
}));

}  // namespace flitgym::routing::hyperx::omni_war
