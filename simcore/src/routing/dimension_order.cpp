// DOR: the direct link of each unaligned dimension, in one fixed order. One VC class: the channels of a dimension lead only to
// those of later ones.
#include <algorithm>

#include "routing/choice.hpp"
#include "simcore/error.hpp"
#include "simcore/registry.hpp"
#include "topology/hyperx.hpp"

namespace flitgym {

namespace {

struct Order : ComponentData {
  std::vector<u32> dimensions;
  bool ascending = true;
};

void route(const Network& net, State& s, Batch& b) {
  const HyperX& hx = hyperx(net);
  const auto& order = static_cast<const Order&>(*net.routing);
  for (u32 i = 0; i < b.count; i++) {
    const Packet& p = s.packets[b.packet[i]];
    const u32 router = b.router[i], to = net.terminal_router[p.destination];
    if (router == to) {
      choose(b, i, ejection(net, p));
    } else if (order.ascending) {
      choose(b, i, {hx.dor_port(router, to, p), 0});
    } else {
      const u64 difference = hx.difference(router, to);
      u32 n = 0;
      while (!hx.unaligned(difference, order.dimensions[n])) n++;
      const u32 k = order.dimensions[n];
      choose(b, i, {hx.port_towards(router, to, k, hx.link_of(p, k)), 0});
    }
  }
}

RoutingFacts setup(const Params& params, Network& net, std::shared_ptr<const ComponentData>& data) {
  const u32 dimensions = hyperx(net).dimensions;
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
    throw ConfigError("routing.dimension_order.order: " + to_string(Value{params.reals("order")}) + " does not name each of the " + std::to_string(dimensions) + " dimensions 0 .. " +
                      std::to_string(dimensions - 1) + " once");
  data = order;
  RoutingFacts facts{1, dimensions};
  facts.minimal = true;
  return facts;
}

const Register<RoutingSpec> entry({"dimension_order", "the direct links, dimension by dimension (DOR)", {"hyperx"},
                                   {integer_list("order", {}, 0, 25, "", "dimensions in the order in which they are aligned, 0 = x; empty = ascending")}, setup, route});

}  // namespace

}  // namespace flitgym
