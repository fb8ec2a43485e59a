// Runs the partitions of a network (partition.hpp) window by window or cycle by cycle, on one thread or several.
#pragma once

#include <memory>
#include <vector>

#include "shares.hpp"
#include "simcore/network.hpp"
#include "simcore/state.hpp"
#include "team.hpp"

namespace flitgym {

// Durations of the windows of a run on one thread that does the work of `threads` threads in turn. For a model of the
// speed on more threads (bench/threads.cpp).
struct WindowTimes {
  u32 threads = 1;
  std::vector<float> advance, hand_over;  // [windows, threads] ns
  std::vector<float> rest;                // [windows, 2] ns before and after these
};

class PartitionRunner {
 public:
  // Advances all partitions to cycle `until`, on at most `threads` threads. The number of threads changes only the time
  // that this takes. With `times` the run has one thread, and the durations of its windows are appended. Partitions
  // that meet in every cycle have no windows.
  void run(const Network& net, State& s, Workspace& workspace, u32 threads, Cycle until, WindowTimes* times = nullptr);

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
