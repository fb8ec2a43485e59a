// Checks a program for cyclic dependencies and for messages without a matching operation.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "simcore/program.hpp"

namespace flitgym::workload {

// Returns the indices of dependencies that form a cycle, in order, or an empty list. Waiting for a start counts: two
// operations that wait for each other's start never start.
std::vector<u32> find_cycle(std::size_t ops, std::span<const Dependency> dependencies);

// One side of `count` messages. A receive may have source kAnySource and tag kAnyTag.
struct Endpoint {
  u32 destination, source;
  i32 tag;
  bool is_send;
  u64 count, op;  // op: the caller's number for the operation; earlier operations have lower numbers
};

struct Unmatched {
  u64 op = ~u64{0};  // first operation without a match; ~0: all match
  std::string why;   // "rank 1 receives 2 messages from rank 0 with tag 7, and 3 are sent"
  explicit operator bool() const { return op != ~u64{0}; }
};

// Exact receives take their messages first, and wildcards take the rest. If one destination has both kinds of partial
// wildcard (any source with a tag, any tag of a source), only the totals are compared. The check
// rather misses an error than refuses a valid program.
Unmatched find_unmatched(std::vector<Endpoint>&& endpoints);

}  // namespace flitgym::workload
