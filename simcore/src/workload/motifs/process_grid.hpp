// A grid of ranks. The first dimension runs fastest: rank = x + px * (y + py * z) and so on.
#pragma once

#include "simcore/workload/motif.hpp"

namespace flitgym::workload {

struct ProcessGrid {
  std::vector<u32> sizes;
  bool periodic = false;

  u32 coordinate(u32 rank, u32 dimension) const;
  // The rank at distance `step` in one dimension. kNone: beyond the edge of a grid that is not periodic.
  u32 neighbor(u32 rank, u32 dimension, i32 step) const;
  // The same in several dimensions. kNone if a periodic grid leads back to the rank itself.
  u32 neighbor(u32 rank, const std::vector<i32>& steps) const;
};

std::vector<u32> prime_factors(u32 number);  // ascending

// Sizes as equal as the prime factors allow, smallest first. The largest factor always goes to the smallest size (528
// in 5 dimensions: 2 2 3 4 11).
std::vector<u32> balanced_sizes(u32 ranks, u32 dimensions);
// The two factors closest to each other, smaller first (528: 22 24).
std::vector<u32> near_square(u32 ranks);

ParamSpec grid_param(const std::string& doc);

// The grid from parameter `key`, or from choose(ranks) if the parameter is empty (no sizes without `choose`). If
// `ranks` is 0, it is set to the size of a given grid, else to `own`. Throws ConfigError if the grid has another number
// of dimensions or another number of ranks.
ProcessGrid process_grid(const std::string& motif, const Params& params, u32& ranks, u32 own, u32 dimensions,
                         std::vector<u32> (*choose)(u32 ranks), const std::string& key = "grid");

// A wavefront across a 2-D grid, or with direction -1 back: receive from x and y before, compute, send to x and y
// after.
struct Sweep {
  u32 steps;
  u64 x_bytes, y_bytes, compute_ns;
};
void sweep(Script& script, const ProcessGrid& grid, u32 rank, i32 direction, const Sweep& how, i32 tag);

// A program whose ranks form a grid.
struct GridLoop : Loop {
  ProcessGrid grid;
  u64 compute_ns = 0;
};

// Sets the grid, with the last arguments as in process_grid(), the ranks, the iterations and `compute_ns`.
template <class T>
std::shared_ptr<T> on_grid(const std::string& motif, const Params& params, u32 ranks, double scale, u32 own,
                           u32 dimensions, std::vector<u32> (*choose)(u32 ranks)) {
  const ProcessGrid grid = process_grid(motif, params, ranks, own, dimensions, choose);
  auto program = repeated<T>(params, ranks, scale);
  program->grid = grid;
  program->compute_ns = static_cast<u64>(params.integer("compute_ns"));
  return program;
}

}  // namespace flitgym::workload
