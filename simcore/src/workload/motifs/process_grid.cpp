#include "workload/motifs/process_grid.hpp"

#include <algorithm>

#include "simcore/error.hpp"

namespace flitgym::workload {

u64 ProcessGrid::ranks() const {
  u64 product = 1;
  // Larger products are refused in any case.
  for (const u32 size : sizes) product = std::min<u64>(product * size, u64{1} << 40);
  return product;
}

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

std::string ProcessGrid::text() const {
  std::vector<std::string> words;
  for (const u32 size : sizes) words.push_back(std::to_string(size));
  return join(words, " x ");
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
  const std::string name = "motif." + motif + "." + key + ": ";
  if (grid.dimensions() != dimensions)
    throw ConfigError(name + grid.text() + " has " + std::to_string(grid.dimensions()) + " dimensions; expected " +
                      std::to_string(dimensions));
  const u64 product = grid.ranks();
  if (ranks == 0 && product < (1 << 24)) ranks = static_cast<u32>(product);
  if (product != ranks)
    throw ConfigError(name + grid.text() + " = " + std::to_string(product) + ", but the number of ranks is " +
                      std::to_string(ranks));
  return grid;
}

}  // namespace flitgym::workload
