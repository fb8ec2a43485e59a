// Runs the partitions of a network (partition.hpp) window by window or cycle by cycle, on one thread or several.
#pragma once

#include "core/shares.hpp"
#include "simcore/team.hpp"

namespace flitgym {

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
