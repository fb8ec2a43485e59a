// DOR: the direct link of each unaligned dimension, in one fixed order. One VC class is enough, because the channels of
// a dimension lead only to channels of later dimensions.
#include <algorithm>

#include "simcore/error.hpp"
#include "simcore/routing/choice.hpp"
#include "simcore/routing/relation.hpp"
#include "simcore/topology/hyperx.hpp"

namespace flitgym::routing::hyperx::dimension_order {

namespace {

struct Order : ComponentData {
  std::vector<u32> dimensions;
  bool ascending = true;
};

Hop next_hop(const Network& net, const HyperX& hx, const Order& order, const Packet& p, u32 router) {
  const u32 to = net.terminal_router[p.destination];
  if (router == to) return ejection(net, p);
  if (order.ascending) return {hx.dor_port(router, to, p), 0};
  const u64 difference = hx.difference(router, to);
  u32 n = 0;
  while (!hx.unaligned(difference, order.dimensions[n])) n++;
  const u32 k = order.dimensions[n];
  return {hx.port_towards(router, to, k, hx.link_of(p, k)), 0};
}

void route(const Network& net, State& s, Batch& b) {
  const auto& order = static_cast<const Order&>(*net.routing);
  for (u32 i = 0; i < b.count; i++)
    choose(b, i, next_hop(net, as_hyperx(net), order, s.packets[b.packet[i]], b.router[i]));
}

void candidates(const Network& net, State& s, Batch& b) {
  const auto& order = static_cast<const Order&>(*net.relation);
  list_candidates(net, b, [&](u32 i, auto&& offer) {
    const Hop hop = next_hop(net, as_hyperx(net), order, s.packets[b.packet[i]], b.router[i]);
    offer(hop.port, hop.vc_class);
  });
}

RoutingFacts setup(const Params& params, Network& net, std::shared_ptr<const ComponentData>& data) {
  const u32 dimensions = as_hyperx(net).dimensions;
  auto order = std::make_shared<Order>();
  order->dimensions = params.counts("order");
  if (order->dimensions.empty())
    for (u32 k = 0; k < dimensions; k++) order->dimensions.push_back(k);
  order->ascending = std::is_sorted(order->dimensions.begin(), order->dimensions.end());
  std::vector<u32> sorted = order->dimensions;
  std::sort(sorted.begin(), sorted.end());
  bool each_once = sorted.size() == dimensions;
  for (u32 k = 0; each_once && k < dimensions; k++) each_once = sorted[k] == k;
  if (!each_once)
    throw ConfigError("routing.dimension_order.order: " + to_string(Value{params.reals("order")}) +
                      " does not name each of the " + std::to_string(dimensions) + " dimensions 0 .. " +
                      std::to_string(dimensions - 1) + " exactly once");
  data = order;
  RoutingFacts facts{1, dimensions};
  facts.minimal = true;
  return facts;
}

const Register<RoutingSpec> entry([] {
  RoutingSpec spec{
      .name = "dimension_order",
      .summary = "the direct links, dimension by dimension (DOR)",
      .topologies = {"hyperx"},
      .params = {integer_list("order", {}, 0, 25, "",
                              "dimensions in the order in which they are aligned, 0 = x; empty = ascending")},
      .setup = setup,
      .route = route,
  };
  spec.candidates = candidates;
  return spec;
}());

}  // namespace

}  // namespace flitgym::routing::hyperx::dimension_order
