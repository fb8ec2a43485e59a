// DimWAR: dimensionally-ordered weighted adaptive routing (McDonald et al., SC 2019). Dimensions are aligned in order.
// In each dimension the packet takes the direct link or one deroute, by weight. A packet that arrived along a dimension
// and is still unaligned in it has been derouted, so it must take the direct link. A path has at most 2 L hops, and
// packets carry no state. Each dimension uses two VC classes, one after the other:
//   after_deroute:  The first hop in a dimension takes class 0, the hop after a deroute class 1 (SuperSim's DOAL).
//   deroute:        The deroute takes class 1, every direct hop class 0 (SST/Merlin's hyperx.cc).
#include "routing/hyperx/incremental.hpp"

namespace flitgym::routing::hyperx::dim_war {

struct DimWar {
  struct Rule : WeightRule {
    bool deroute_class = false;
  };
  static Reach reach(const Where& at, const Rule& rule) {
    const u32 first = at.unaligned & -at.unaligned;  // bit of the first unaligned dimension
    const bool derouted = at.derouted_in() == at.hx.first_unaligned(at.difference);
    return {first, derouted ? 0 : first, derouted && !rule.deroute_class, rule.deroute_class};
  }
};

static RoutingFacts setup(const Params& params, Network& net, DimWar::Rule& rule) {
  read_weight(params, net, rule);
  rule.deroute_class = params.text("classes") == "deroute";
  return weighing({2, 2 * as_hyperx(net).dimensions}, rule);
}

const Register<RoutingSpec> entry(incremental<DimWar>({
    .name = "dim_war",
    .summary = "dimension by dimension, with one weighted deroute in each (DimWAR)",
    .params = joined(weight_params(),
                     {choice("classes", "after_deroute", {"after_deroute", "deroute"},
                             "hop that takes VC class 1: after_deroute = the hop after a deroute (SuperSim); deroute = "
                             "the deroute itself (SST)")}),
    .setup = with_rule<setup>,
}));

}  // namespace flitgym::routing::hyperx::dim_war
