// DOR: the direct link of each unaligned dimension, in one fixed order. One VC class is enough, because the channels of
// a dimension lead only to channels of later dimensions.
#include "routing/dimensions.hpp"
#include "simcore/routing/relation.hpp"
#include "simcore/topology/hyperx.hpp"

namespace flitgym::routing::hyperx::dimension_order {

struct Order : ComponentData {
  std::vector<u32> dimensions;
  bool ascending = true;
};

static void route(const Network& net, State& s, Batch& b) {
  const HyperX& hx = as_hyperx(net);
  const auto& order = static_cast<const Order&>(*net.relation);
  route_heads(net, s, b, [&](const Head& at) -> Hop {
    if (order.ascending) return {hx.dor_port(at.router, at.to, at.packet), 0};
    const u64 difference = hx.difference(at.router, at.to);
    u32 n = 0;
    while (!hx.unaligned(difference, order.dimensions[n])) n++;
    const u32 k = order.dimensions[n];
    return {hx.port_towards(at.router, at.to, k, hx.link_of(at.packet, k)), 0};
  });
}

static RoutingFacts setup(const Params& params, Network& net, Order& order) {
  const u32 dimensions = as_hyperx(net).dimensions;
  order.dimensions = order_of(params, dimensions);
  order.ascending = std::is_sorted(order.dimensions.begin(), order.dimensions.end());
  return {.classes = 1, .max_hops = dimensions, .minimal = true};
}

const Register<RoutingSpec> entry({
    .name = "dimension_order",
    .summary = "the direct links, dimension by dimension (DOR)",
    .topologies = {"hyperx"},
    .params = {order_param()},
    .setup = with_rule<setup>,
    .route = route,
    .candidates = only_candidate<route>,
});

}  // namespace flitgym::routing::hyperx::dimension_order
