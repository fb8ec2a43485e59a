#include "core/partition_runner.hpp"

namespace flitgym {

// Cost of a cycle of an idle partition, in moves. Measured: 74 ns with `input_queued`, where a move takes about 45 ns.
constexpr u64 kMovesPerCycle = 2;

// Prefix sums: entry k is the work of the partitions 0 .. k-1.
static std::vector<u64> sums_of(const std::vector<u64>& work) {
  std::vector<u64> sums = {0};
  for (const u64 one : work) sums.push_back(sums.back() + one);
  return sums;
}

static u64 most_work(const std::vector<u64>& work, const std::vector<u32>& first) {
  const std::vector<u64> sums = sums_of(work);
  u64 most = 0;
  for (std::size_t i = 0; i + 1 < first.size(); i++) most = std::max(most, sums[first[i + 1]] - sums[first[i]]);
  return most;
}

std::vector<u32> divide_by_work(const std::vector<u64>& work, u32 threads) {
  const std::vector<u64> sums = sums_of(work);
  const u32 partitions = static_cast<u32>(work.size());
  // The earliest first partition of each thread if no thread has more work than `limit`. If the first entry is above 0,
  // the limit is too low.
  const auto earliest = [&](u64 limit) {
    std::vector<u32> first(threads + 1, partitions);
    for (u32 i = threads; i-- > 0;)
      for (first[i] = first[i + 1] - 1; first[i] > i && sums[first[i + 1]] - sums[first[i] - 1] <= limit;) first[i]--;
    return first;
  };
  u64 low = *std::max_element(work.begin(), work.end()), high = sums.back();
  while (low < high) {
    const u64 limit = low + (high - low) / 2;
    if (earliest(limit)[0] == 0) high = limit;
    else low = limit + 1;
  }
  // Within the least limit, each thread begins as near as possible to its share of the sum.
  std::vector<u32> first = earliest(high);
  for (u32 i = 1; i < threads; i++) {
    first[i] = std::max(first[i], first[i - 1] + 1);
    while (first[i] < partitions - (threads - i) && sums[first[i] + 1] - sums[first[i - 1]] <= high &&
           2 * threads * sums[first[i]] + threads * work[first[i]] <= 2 * i * sums.back())
      first[i]++;
  }
  return first;
}

void Shares::measure_from(const State& s, u32 partitions) {
  moves_before_.resize(partitions);
  for (u32 k = 0; k < partitions; k++) moves_before_[k] = partition(s, k).totals.moves;
  since_ = s.part.totals.now;
}

void Shares::divide(const Network& net, const State& s, u32 threads) {
  const u32 partitions = net.partitions();
  if (first_.size() != threads + 1 || moves_before_.size() != partitions) {
    first_ = divide_by_work(std::vector<u64>(partitions, 1), threads);
    return measure_from(s, partitions);
  }
  if (threads == 1) return;
  if (s.part.totals.now < since_) return measure_from(s, partitions);  // the state was restored
  const Cycle cycles = s.part.totals.now - since_;
  if (cycles < kInterval) return;
  std::vector<u64> work(partitions);
  for (u32 k = 0; k < partitions; k++) {
    const u64 moves = partition(s, k).totals.moves;
    work[k] = kMovesPerCycle * cycles + (moves > moves_before_[k] ? moves - moves_before_[k] : 0);
  }
  measure_from(s, partitions);
  // A partition that changes its thread leaves its cache. So the division changes only if the busiest thread then has
  // at most 16/17 of its work.
  const std::vector<u32> better = divide_by_work(work, threads);
  if (17 * most_work(work, better) < 16 * most_work(work, first_)) first_ = better;
}

}  // namespace flitgym
