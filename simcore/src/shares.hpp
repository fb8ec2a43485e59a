// The partitions of each thread: consecutive ones, with about equal work. Work is measured in moves of flits, so equal
// runs are divided equally. How the partitions are shared changes only the time that a run takes.
#pragma once

#include <vector>

#include "simcore/state.hpp"

namespace flitgym {

class Shares {
 public:
  static constexpr Cycle kInterval = 2048;  // cycles between two divisions

  // Thread i has the partitions first(i) .. first(i+1)-1.
  u32 first(u32 thread) const { return first_[thread]; }

  // Divides the partitions of a network among threads, by their work since the last division. Call between two cycles.
  // Divides equally if the number of threads has changed or nothing is measured yet.
  void divide(const Network& net, const State& s, u32 threads);

 private:
  void measure_from(const State& s, u32 partitions);

  std::vector<u32> first_;   // [threads + 1]
  std::vector<u64> before_;  // [partitions] moves at the last division
  Cycle since_ = 0;          // its cycle
};

// The first partition of each thread, and the number of partitions, so that the thread with the most work has as little
// as possible. A thread may have no partition.
std::vector<u32> balanced(const std::vector<u64>& work, u32 threads);

}  // namespace flitgym
