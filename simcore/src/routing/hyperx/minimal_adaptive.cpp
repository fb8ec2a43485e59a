// MIN-AD: at every router the least congested direct link of any unaligned dimension. The VC class is the number of
// hops done, so there are L classes. Every hop leads to a higher class, so there is no dependency cycle.
#include "routing/hyperx/incremental.hpp"

namespace flitgym::routing::hyperx::minimal_adaptive {

struct MinimalAdaptive {
  using Rule = WeightRule;
  static Reach reach(const Where& at, const Rule&) { return {at.unaligned, 0, at.packet.hops, 0}; }
};

static RoutingFacts setup(const Params& params, Network& net, WeightRule& rule) {
  rule.measure = measure_of(params, net);
  see_ports(net, rule);
  const u32 dimensions = as_hyperx(net).dimensions;
  return weighing({.classes = dimensions, .max_hops = dimensions, .minimal = true}, rule);
}

const Register<RoutingSpec> entry(incremental<MinimalAdaptive>({
    .name = "minimal_adaptive",
    .summary = "any minimal path, hop by hop to the least congested link (MIN-AD)",
    .params = {congestion_param(), congestion_scope_param("class"), allocation_param()},
    .setup = with_rule<setup>,
}));

}  // namespace flitgym::routing::hyperx::minimal_adaptive
