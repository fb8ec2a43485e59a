// The channel dependency graph of a table (Dally & Seitz 1987), one per lane: a packet that holds one channel waits for
// the next of its route. Without a cycle in it nothing can wait in a circle.
#pragma once

#include <string>
#include <vector>

#include "tables/table.hpp"

namespace flitgym::tables {

struct LaneChannel {
  u32 channel, lane;
};

// One cycle of it, in order; empty: there is none, so the table is free of deadlock with a VC class per lane. Where the
// table counts on bubble flow control, rings of one direction do not count as cycles by themselves, but whatever joins
// several rings in a circle does. The layers of the table's entries are those that routes between terminals use.
std::vector<LaneChannel> find_cycle(const ChannelGraph& g, const ForwardingTable& table);

// "0:1->1, 1:3->4, ... in lane 0"
std::string cycle_name(const ChannelGraph& g, const std::vector<LaneChannel>& cycle);

}  // namespace flitgym::tables
