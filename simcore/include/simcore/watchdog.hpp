// Watchdog: ends a run in which no flit has moved for router.watchdog_ns while flits are in flight.
#pragma once

#include "simcore/state.hpp"

namespace flitgym {

// Remembers the last cycle in which a flit moved, across calls of run() and drain().
class Watchdog {
 public:
  void check(const Network& net, const State& s);  // throws CoreError with the deadlock report
  void restart(const State& s);                    // after the state has been replaced

 private:
  u64 moves_ = 0, moved_at_ = 0;
};

// The cycle of input VCs that wait for each other, as text. The search starts at the first input VC that waits.
std::string deadlock_report(const Network& net, const State& s);

}  // namespace flitgym
