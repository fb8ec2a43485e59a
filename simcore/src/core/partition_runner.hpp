// Runs the partitions of a network (partition.hpp) window by window or cycle by cycle, on one thread or several.
#pragma once

#include "simcore/state.hpp"
#include "simcore/team.hpp"

namespace flitgym {

// The partitions of each thread. A thread has consecutive partitions with about equal work. The work of a partition is
// the number of moves of its flits. The division changes only the time that a run takes.
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

class PartitionRunner {
 public:
  // Advances all partitions to cycle `until`, on at most `threads` threads. The number of threads changes only the time
  // that this takes.
  void run(const Network& net, State& s, Workspace& workspace, u32 threads, Cycle until);

  // Threads that share a cycle, at most `wanted`; null if one thread does all the work. Valid until the next call.
  const Threads* threads_of(const Network& net, const State& s, Workspace& workspace, u32 wanted);

  const Shares& shares() const { return shares_; }

 private:
  u32 gather_threads(const Network& net, const Workspace& workspace, u32 wanted);  // returns how many there are

  std::unique_ptr<Team> team_;      // made when it is first needed
  std::vector<Workspace> helpers_;  // of all threads but the first, which uses the caller's workspace
  Shares shares_;
  Threads threads_;
};

}  // namespace flitgym
