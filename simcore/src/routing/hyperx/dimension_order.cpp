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

static Hop next_hop(const Network& net, const HyperX& hx, const Order& order, const Packet& p, u32 router) {
  const u32 to = net.terminal_router[p.destination];
  if (router == to) return ejection(net, p);
  if (order.ascending) return {hx.dor_port(router, to, p), 0};
  const u64 difference = hx.difference(router, to);
  u32 n = 0;
  while (!hx.unaligned(difference, order.dimensions[n])) n++;
  const u32 k = order.dimensions[n];
  return {hx.port_towards(router, to, k, hx.link_of(p, k)), 0};
}

static void route(const Network& net, State& s, Batch& b) {
  const auto& order = static_cast<const Order&>(*net.relation);
  for (u32 i = 0; i < b.count; i++)
    choose(b, i, next_hop(net, as_hyperx(net), order, s.packets[b.packet[i]], b.router[i]));
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
