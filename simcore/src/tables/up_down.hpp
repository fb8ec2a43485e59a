// Routes that go up and then down, in whichever order of the switches (Autonet's up*/down*: Schroeder et al., IEEE JSAC
// 9(8), 1991).
#pragma once

#include <vector>

#include "tables/spread.hpp"

namespace flitgym::tables {

// A channel leads up if its end comes before its beginning in the order of (rank, number). No route turns from down to
// up, so no circle of channels can wait for itself: on it some switch would come after both of its neighbours, and to
// pass it is such a turn.
//
// A table looks at the destination alone, not at how a packet came, so legal routes joined at a switch need not make a
// legal one. Here they do: a switch from which channels down alone lead to the destination takes the shortest way of
// those, so whoever came down goes on down; all others have not come down yet, and take the shortest way up to where it
// goes down.
class UpDown {
 public:
  UpDown(const ChannelGraph& g, std::vector<u32> rank);
  // The candidates towards switch `to`. False: some switch with terminals has no legal way, unreached() tells which.
  bool towards(u32 to, Candidates& candidates);
  u32 unreached() const { return unreached_; }

 private:
  bool up(u32 c) const { return place_[g_.to[c]] < place_[g_.from[c]]; }
  const ChannelGraph& g_;
  std::vector<u32> order_, place_;       // switches from the top down, and where each stands
  std::vector<u32> down_, way_, queue_;  // [switches] hops of the way down, and of the way taken; kNone: none
  u32 unreached_ = kNone;
};

// A table of them in which each switch shares out destinations as min_hop does. False: as above, `from` and `to` have
// no way.
bool up_down_table(const ChannelGraph& g, const std::vector<u32>& rank, ForwardingTable& table, u32& from, u32& to);

// A few switches that may serve as the only root, of those with candidate[s]: the one from which all terminals together
// are nearest (of several the one with the most channels), the one farthest from it, and the first. On a mesh the
// corner is better than the middle, through which everything would go; elsewhere it is the other way round.
std::vector<u32> likely_roots(const ChannelGraph& g, const std::vector<u8>& candidate);

// The table, of those that these ranks give, whose fullest channel has the fewest routes; of several the one with the
// shortest routes, then the first. False: none of them reaches everybody.
bool best_up_down_table(const ChannelGraph& g, const std::vector<std::vector<u32>>& ranks, ForwardingTable& table);

}  // namespace flitgym::tables
