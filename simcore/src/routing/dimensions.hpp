// The order of the dimensions, a parameter of dimension-order routings.
#pragma once

#include "simcore/params.hpp"

namespace flitgym::routing {

inline ParamSpec order_param() {
  return integer_list("order", {}, 0, 25, "",
                      "dimensions in the order in which they are aligned, 0 = x; empty = ascending");
}
inline std::vector<u32> order_of(const Params& params, u32 dimensions) {
  std::vector<u32> order = params.counts("order"), all(dimensions);
  std::iota(all.begin(), all.end(), 0u);
  if (order.empty()) return all;
  if (!std::ranges::is_permutation(order, all))
    throw ConfigError("routing.dimension_order.order: ", to_string(Value{params.reals("order")}),
                      " does not name each of the ", dimensions, " dimensions 0 .. ", dimensions - 1, " exactly once");
  return order;
}

}  // namespace flitgym::routing
