// The partitions of each thread. A thread has consecutive partitions with about equal work. The work of a partition is
// the number of moves of its flits. The division changes only the time that a run takes.
#pragma once

#include "simcore/state.hpp"

namespace flitgym {

class Shares {
 public:
  static constexpr Cycle kInterval = 2048;  // cycles, at least, between two divisions

  // Thread i has the partitions first(i) .. first(i+1)-1, at least one.
  u32 first(u32 thread) const { return first_[thread]; }

  // Divides the partitions among at most as many threads, by their work since the last division. Divides equally if the
  // number of threads has changed. Call while no thread works.
  void divide(const Network& net, const State& s, u32 threads);

  // These cycles were skipped, so no partition worked.
  void skip(Cycle cycles) { since_ += cycles; }

 private:
  void measure_from(const State& s, u32 partitions);

  std::vector<u32> first_;         // [threads + 1]
  std::vector<u64> moves_before_;  // [partitions] moves up to the last division
  Cycle since_ = 0;                // cycle of the last division
};

// Returns the first partition of each thread, then the number of partitions. No other division gives the busiest thread
// less work. Each thread has a partition, so there must be enough of them.
std::vector<u32> divide_by_work(const std::vector<u64>& work, u32 threads);

}  // namespace flitgym
