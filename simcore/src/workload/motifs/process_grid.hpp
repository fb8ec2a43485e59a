// A grid of ranks, the first dimension fastest: rank = x + px * (y + py * z) and so on.
#pragma once

#include <string>

#include "simcore/params.hpp"

namespace flitgym::workload {

struct ProcessGrid {
  std::vector<u32> sizes;
  bool periodic = false;

  u32 dimensions() const { return static_cast<u32>(sizes.size()); }
  u64 ranks() const;
  u32 coordinate(u32 rank, u32 dimension) const;
  // The rank `step` further on in one dimension, or kNone past the edge of a grid that is not periodic.
  u32 neighbor(u32 rank, u32 dimension, i32 step) const;
  // The same in several dimensions at once. None where a periodic grid leads back to the rank itself.
  u32 neighbor(u32 rank, const std::vector<i32>& steps) const;
  std::string text() const;  // "11 x 8 x 6"
};

// As equal as the prime factors allow, smallest first: the largest factor always to the smallest size (528 in 5: 2 2 3
// 4 11).
std::vector<u32> balanced_sizes(u32 ranks, u32 dimensions);
// Two factors as near to each other as there are, smaller first (528: 22 24).
std::vector<u32> near_square(u32 ranks);

// The parameter `grid` of a motif: one size per dimension, or empty.
ParamSpec grid_param(const std::string& doc);

// What the parameter `key` says, or choose(ranks) (without `choose` no sizes); `ranks` = 0 takes the number from the
// grid given, else `own`, and is set. Throws ConfigError where the grid has another number of dimensions or does not
// hold just the ranks.
ProcessGrid process_grid(const std::string& motif, const Params& params, u32& ranks, u32 own, u32 dimensions,
                         std::vector<u32> (*choose)(u32 ranks), const std::string& key = "grid");

}  // namespace flitgym::workload
