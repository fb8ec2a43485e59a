// Routes that go up and then down, for any ranking of the switches (up*/down* of Autonet: Schroeder et al., IEEE JSAC
// 9(8), 1991).
#pragma once

#include <vector>

#include "simcore/tables/spread.hpp"

namespace flitgym::tables {

// A channel leads up if its end precedes its beginning in the order of (rank, number). Routes do not turn from down to
// up, so there is no cycle of dependencies. On every cycle, some switch comes after both of its neighbours in the
// order. Passing this switch would be such a turn.
//
// A table selects the port by the destination only, not by the input port. In general, the beginning of one legal route
// and the end of another may form an illegal route. Here they cannot. A switch that reaches the destination over down
// channels only takes the shortest of these paths, so a packet that came down continues down. At every other switch,
// packets have not gone down yet and take the shortest path up to the switch where the route turns down.
class UpDown {
 public:
  UpDown(const ChannelGraph& g, std::vector<u32> rank);
  // Finds the candidates towards switch `to`. Returns false if a switch with terminals has no legal path; unreached()
  // returns that switch.
  bool towards(u32 to, Candidates& candidates);
  u32 unreached() const { return unreached_; }

 private:
  bool up(u32 c) const { return place_[g_.to[c]] < place_[g_.from[c]]; }
  const ChannelGraph& g_;
  std::vector<u32> order_, place_;       // switches from the top down; position of each switch
  std::vector<u32> down_, way_, queue_;  // [switches] hops of the path down; hops of the path taken (kNone: none)
  u32 unreached_ = kNone;
};

// Makes a table of such routes in which each switch distributes destinations as min_hop does. Returns false if there is
// no legal path from switch `from` to switch `to`.
bool up_down_table(const ChannelGraph& g, const std::vector<u32>& rank, ForwardingTable& table, u32& from, u32& to);

// A few switches that may serve as the only root, among those with candidate[s]. The first is the switch with the
// smallest total distance to all terminals; ties go to the most channels. The others are the switch farthest from it
// and the candidate with the lowest number. On a mesh a corner is a better root than the centre, because all traffic
// would pass the centre. On other networks the centre is better.
std::vector<u32> likely_roots(const ChannelGraph& g, const std::vector<u8>& candidate);

// Selects the table with the lowest edge forwarding index among those of the given ranks. Ties go to the shortest
// routes, then to the first rank. Returns the number of the rank; kNone if no rank connects all terminals.
u32 best_up_down_table(const ChannelGraph& g, const std::vector<std::vector<u32>>& ranks, ForwardingTable& table);

}  // namespace flitgym::tables
