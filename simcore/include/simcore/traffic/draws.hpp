// Random destinations, with one random stream per packet.
#pragma once

#include <numeric>
#include <utility>

#include "simcore/registry.hpp"
#include "simcore/rng.hpp"

namespace flitgym::traffic {

inline u64 traffic_draw(u64 seed, u32 terminal, u32 sequence, u32 k) {
  return draw(seed, u64{terminal} << 32 | sequence, kDrawDestination + k);
}

// Random order number `pattern` of a seed, [terminals].
inline void draw_order(u64 seed, u64 pattern, u32 terminals, u32* order) {
  std::iota(order, order + terminals, 0u);
  for (u32 k = terminals; k > 1; k--) std::swap(order[k - 1], order[below(draw(seed, pattern, k), k)]);
}

// Terminals per group if all groups have the same size and consecutive terminals, else 0. Without groups, each router
// counts as a group.
inline u32 terminals_per_group(const Network& net, u32 groups) {
  if (groups < 2 || net.terminals % groups != 0) return 0;
  const u32 size = net.terminals / groups;
  for (u32 t = 0; t < net.terminals; t++) {
    const u32 router = net.terminal_router[t];
    if ((groups == net.groups ? net.router_group[router] : router) != t / size) return 0;
  }
  return size;
}

}  // namespace flitgym::traffic
