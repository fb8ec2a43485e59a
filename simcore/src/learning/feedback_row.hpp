// The rows of a table that is learned from feedback lie anywhere in memory: they are asked for some requests ahead.
#pragma once

#include "simcore/learning.hpp"

namespace flitgym {

// Inlined whatever happens: a function that only asks for memory has no effect that GCC knows of, and it drops calls of it.
inline __attribute__((always_inline)) void fetch_row(const Network& net, const State& s, u32 router, u32 row) {
  const float* const values = net.feedback.row(s, router, row);
  __builtin_prefetch(values);
  __builtin_prefetch(values + net.link_span - 1);
}

}  // namespace flitgym
