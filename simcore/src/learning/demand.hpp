// What the network owes its users: the area between what was asked of it and what it has delivered.
//
// By Little's law (Dally & Towles, 23.1) the sum of all delays is the integral over time of the packets that are due
// and not delivered. The part that is due is the same for every policy: it is read from the sources' generation clocks
// as if no NIC were ever full, and of a workload it is all that its ranks will send, from the start of their job on. So
// what keeps packets away from the network (a source that waits behind a full NIC, a rank that waits for another) is
// charged like what keeps them in it.
#pragma once

#include <vector>

#include "simcore/state.hpp"

namespace flitgym::learning {

// Not state: what is due is a function of the network and the time, so this only remembers how far it has counted.
class DemandArea {
 public:
  // Delay up to now per terminal, by source, in packet-cycles (of a workload: of packets of the full size).
  const std::vector<double>& accrued(const Network&, const State&);
  // The sources have been stopped: what still waits outside the network is given up, and nothing more is due.
  void stop(const Network&, State&);

 private:
  struct Due {
    double packets = 0, moment = 0;  // how many, and the sum of the cycles at which they were due
  };
  void begin(const Network&);

  Cycle counted_to_ = 0;
  std::vector<Terminal> clocks_;
  std::vector<Due> due_;
  std::vector<double> accrued_;
};

// `amount` packets of a terminal's have reached their destination.
inline void count_delivered(State& s, u32 terminal, double amount) {
  if (s.delivered_from.empty()) return;
  Delivered& d = s.delivered_from[terminal];
  d.packets += amount;
  d.moment += amount * s.part.totals.now;
}

}  // namespace flitgym::learning
