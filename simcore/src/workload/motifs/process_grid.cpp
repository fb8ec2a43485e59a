#include "workload/motifs/process_grid.hpp"

namespace flitgym::workload {

u32 ProcessGrid::coordinate(u32 rank, u32 dimension) const {
  for (u32 d = 0; d < dimension; d++) rank /= sizes[d];
  return rank % sizes[dimension];
}

u32 ProcessGrid::neighbor(u32 rank, u32 dimension, i32 step) const {
  std::vector<i32> steps(sizes.size(), 0);
  steps[dimension] = step;
  return neighbor(rank, steps);
}

u32 ProcessGrid::neighbor(u32 rank, const std::vector<i32>& steps) const {
  u32 stride = 1, result = 0;
  for (u32 d = 0; d < sizes.size(); d++) {
    const i64 size = sizes[d];
    i64 at = i64{coordinate(rank, d)} + steps[d];
    if (periodic) at = (at % size + size) % size;
    if (at < 0 || at >= size) return kNone;
    result += stride * static_cast<u32>(at);
    stride *= sizes[d];
  }
  return result == rank ? kNone : result;
}

std::vector<u32> prime_factors(u32 number) {
  std::vector<u32> factors;
  for (u32 prime = 2; number > 1; prime++) {
    if (u64{prime} * prime > number) prime = number;
    for (; number % prime == 0; number /= prime) factors.push_back(prime);
  }
  return factors;
}

std::vector<u32> balanced_sizes(u32 ranks, u32 dimensions) {
  std::vector<u32> factors = prime_factors(ranks), sizes(dimensions, 1);
  for (; !factors.empty(); factors.pop_back()) *std::min_element(sizes.begin(), sizes.end()) *= factors.back();
  std::sort(sizes.begin(), sizes.end());
  return sizes;
}

std::vector<u32> near_square(u32 ranks) {
  u32 best = 1;
  for (u32 k = 1; u64{k} * k <= ranks; k++)
    if (ranks % k == 0) best = k;
  return {best, ranks / best};
}

void sweep(Script& script, const ProcessGrid& grid, u32 rank, i32 direction, const Sweep& how, i32 tag) {
  const u32 from_x = grid.neighbor(rank, 0, -direction), from_y = grid.neighbor(rank, 1, -direction);
  const u32 to_x = grid.neighbor(rank, 0, direction), to_y = grid.neighbor(rank, 1, direction);
  for (u32 step = 0; step < how.steps; step++) {
    if (from_x != kNone) script.receive(from_x, how.x_bytes, tag);
    if (from_y != kNone) script.receive(from_y, how.y_bytes, tag);
    script.compute(how.compute_ns);
    if (to_x != kNone) script.send(to_x, how.x_bytes, tag);
    if (to_y != kNone) script.send(to_y, how.y_bytes, tag);
  }
}

ParamSpec grid_param(const std::string& doc) { return integer_list("grid", {}, 1, 1 << 24, "ranks", doc); }

ProcessGrid process_grid(const std::string& motif, const Params& params, u32& ranks, u32 own, u32 dimensions,
                         std::vector<u32> (*choose)(u32 ranks), const std::string& key) {
  ProcessGrid grid;
  grid.sizes = params.counts(key);
  if (grid.sizes.empty()) {
    if (ranks == 0) ranks = own;
    if (choose) grid.sizes = choose(ranks);
    return grid;
  }
  std::string name = "motif." + motif + "." + key + ": ";
  u64 product = 1;
  for (u32 d = 0; d < grid.sizes.size(); d++) {
    name += (d ? " x " : "") + std::to_string(grid.sizes[d]);
    product = std::min<u64>(product * grid.sizes[d], u64{1} << 40);  // larger products are refused in any case
  }
  if (grid.sizes.size() != dimensions)
    throw ConfigError(name, " has ", grid.sizes.size(), " dimensions; expected ", dimensions);
  if (ranks == 0 && product < (1 << 24)) ranks = static_cast<u32>(product);
  if (product != ranks) throw ConfigError(name, " = ", product, ", but the number of ranks is ", ranks);
  return grid;
}

}  // namespace flitgym::workload
