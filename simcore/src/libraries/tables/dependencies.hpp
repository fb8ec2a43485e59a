// Channel dependency graph of a table (Dally & Seitz 1987), one per lane. A packet that holds one channel waits for the
// next channel of its route. A graph without a cycle has no deadlock.
#pragma once

#include "simcore/tables/table.hpp"

namespace flitgym::tables {

// Set of the layers in which the terminals of a switch send to a destination.
u64 layers_from(const ChannelGraph& g, const ForwardingTable& table, u32 s, u32 destination);

struct LaneChannel {
  u32 channel, lane;
};

// Returns the channels of one cycle of the graph, in order. If there is no cycle, the result is empty, and the table is
// free of deadlock with one VC class per lane. If the table relies on bubble flow control, a cycle along a single ring
// is allowed, but a cycle through several rings is not. Only layers that routes between terminals use are considered.
//
// If there is no cycle, `place` receives the position of each lane of each channel, [channels, lanes], in an order from
// 1 on. Every lane comes before the lanes for which its packets wait. If packets do not change lanes, all channels of a
// lane come before those of the next lane. The table must not rely on bubble flow control.
std::vector<LaneChannel> find_cycle(const ChannelGraph& g, const ForwardingTable& table,
                                    std::vector<u32>* place = nullptr);

// "0:1->1, 1:3->4, ... in lane 0"
std::string cycle_name(const ChannelGraph& g, const std::vector<LaneChannel>& cycle);

}  // namespace flitgym::tables
