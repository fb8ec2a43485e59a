// The rows of a table that is learned from feedback lie anywhere in memory: they are asked for some requests ahead.
#pragma once

#include "simcore/learning.hpp"

namespace flitgym {

// The row of request i of the batch, by the region of its destination.
inline void fetch_row(const Network& net, const State& s, const Batch& b, u32 i) {
  const u32 to = net.terminal_router[s.packets[b.packet[i]].destination];
  const float* const row = net.feedback.row(s, b.router[i], net.seam->region[to]);
  __builtin_prefetch(row);
  __builtin_prefetch(row + net.link_span - 1);
}

}  // namespace flitgym
