// Delay that the network has accrued: the area between the curves of packets due and packets delivered over time.
//
// By Little's law (Dally & Towles, 23.1), the sum of all delays is the integral over time of the packets that are due
// and not delivered. The number of packets due is the same for every policy. It follows from the generation clocks of
// the sources, as if a NIC were never full. For a workload, all packets that the ranks of a job will send are due at
// the start of the job, and a flow is due at its own time. Waiting outside the network, e.g. behind a full NIC or for
// another rank, therefore counts like waiting inside.
#pragma once

#include "core/stage/stage.hpp"

namespace flitgym::learning {

// Not part of the state. The packets due are a function of the network and the time. This class only caches the count
// up to the last call.
class DemandArea {
 public:
  // Delay so far per source terminal, in packet-cycles. For a workload, bytes are divided by the
  // full packet size, so counts may be fractions.
  const std::vector<double>& accrued(const Network&, const State&);
  // Call when the sources are stopped. Packets that wait outside the network are dropped, and no further packets become
  // due.
  void stop(const Network&, State&);

 private:
  struct Due {
    double packets = 0, moment = 0;  // number of packets, and sum of the cycles at which they were due
  };
  void begin(const Network&);
  void next_flow(const Workload&, u32 rank);

  Cycle counted_to_ = 0;
  std::vector<Terminal> clocks_;
  std::vector<Due> due_;
  std::vector<double> accrued_;
};

inline void add(Delivered& d, double packets, Cycle cycle) {
  d.packets += packets;
  d.moment += packets * cycle;
}

// `packets` from a terminal have reached their destination in the partition of the frame.
inline void count_delivered(Frame& f, u32 terminal, double packets) {
  if (f.s.delivered_from.empty()) return;
  if (f.s.further.empty()) add(f.s.delivered_from[terminal], packets, f.now);
  else f.part.deliveries.push_back({packets, terminal, f.now});
}
void settle_deliveries(State& s);  // call at the end of a partition window

}  // namespace flitgym::learning
