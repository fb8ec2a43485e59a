// Channel dependency graph of a table (Dally & Seitz 1987), one per lane. A packet that holds one channel waits for the
// next channel of its route. A graph without a cycle has no deadlock.
#pragma once

#include <string>
#include <vector>

#include "tables/table.hpp"

namespace flitgym::tables {

struct LaneChannel {
  u32 channel, lane;
};

// Returns one cycle of the graph in order. An empty result means that there is none, so the table is free of deadlock
// with one VC class per lane. If the table relies on bubble flow control, a ring of one direction does not count as a
// cycle. A cycle through several rings does. Only layers that routes between terminals use are considered.
std::vector<LaneChannel> find_cycle(const ChannelGraph& g, const ForwardingTable& table);

// "0:1->1, 1:3->4, ... in lane 0"
std::string cycle_name(const ChannelGraph& g, const std::vector<LaneChannel>& cycle);

}  // namespace flitgym::tables
