// DimWAR: dimensionally-ordered weighted adaptive routing (McDonald et al., SC 2019). Dimensions in order; in each, the
// direct link or one deroute, by weight. A packet that came in on the same dimension and is still unaligned has been
// derouted and must go directly, so at most 2 L hops and no state that travels. Two VC classes, one after the other in
// each dimension:
//   after_deroute  the first hop in a dimension on class 0, the one after a deroute on class 1 (SuperSim's DOAL)
//   deroute        the deroute on class 1, every direct hop on class 0 (SST/Merlin's hyperx.cc)
#include "routing/hyperx/incremental.hpp"
#include "simcore/registry.hpp"

namespace flitgym::routing::hyperx::dim_war {

namespace {

struct DimWar {
  struct Rule : WeightRule {
    bool deroute_class = false;
  };
  static Reach reach(const Where& at, const Rule& rule) {
    const u32 first = at.unaligned & -at.unaligned;  // dimension
    const bool derouted = at.derouted_in() == at.hx.first_unaligned(at.difference);
    return {first, derouted ? 0 : first, derouted && !rule.deroute_class, rule.deroute_class};
  }
};

RoutingFacts setup(const Params& params, Network& net, std::shared_ptr<const ComponentData>& data) {
  auto rule = std::make_shared<DimWar::Rule>();
  read_weight(params, net, *rule);
  rule->deroute_class = params.text("classes") == "deroute";
  data = rule;
  return weighing({2, 2 * as_hyperx(net).dimensions}, *rule);
}

std::vector<ParamSpec> params() {
  auto specs = weight_params();
  specs.push_back(choice("classes", "after_deroute", {"after_deroute", "deroute"},
                         "the hop on VC class 1: the one after a deroute (SuperSim), or the deroute itself (SST)"));
  return specs;
}

const Register<RoutingSpec> entry(incremental<DimWar>(
    "dim_war", "dimension by dimension, with one weighted deroute in each (DimWAR)", params(), setup));

}  // namespace

}  // namespace flitgym::routing::hyperx::dim_war
