// What no program may have: operations that wait for each other in a circle, and messages without a partner.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "simcore/program.hpp"

namespace flitgym::workload {

// Dependencies (by index) that form a circle, each after the one before it; empty when there is none. Waiting for a
// start counts as waiting: two operations that each wait for the other's start never start.
std::vector<u32> find_cycle(std::size_t ops, std::span<const Dependency> dependencies);

// One side of `count` messages. A receive may have source kAnySource and tag kAnyTag.
struct Endpoint {
  u32 destination, source;
  i32 tag;
  bool is_send;
  u64 count, op;  // op: what the caller calls it; the lower, the earlier
};

struct Unmatched {
  u64 op = ~u64{0};  // the first one without a partner, ~0 when all have one
  std::string why;   // "rank 1 receives 2 messages from rank 0 with tag 7, and 3 are sent"
  explicit operator bool() const { return op != ~u64{0}; }
};

// Exact receives take their messages first, wildcards absorb what is left. Where one destination has both kinds of half
// a wildcard (any source with a tag, any tag of a source) only their numbers are compared: a false alarm would be worse
// than a miss.
Unmatched find_unmatched(std::vector<Endpoint>&& endpoints);

}  // namespace flitgym::workload
