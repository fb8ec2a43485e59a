// How the engines that look at one switch at a time share out destinations: of the channels that lead on, each
// destination leaves by the one that the fewest have got so far.
#pragma once

#include <vector>

#include "tables/table.hpp"

namespace flitgym::tables {

// Channels by which a packet for one switch may leave each other switch.
struct Candidates {
  std::vector<u32> first, channel;  // [switches + 1], [first.back()] of each switch, by port

  void begin() { first.assign(1, 0), channel.clear(); }
  void next_switch() { first.push_back(static_cast<u32>(channel.size())); }
};

// The switches with terminals, those with the most of them first: what comes late has less left to choose from.
std::vector<u32> destination_switches(const ChannelGraph& g);

// Every terminal of switch `to`, in order, gets at every other switch the candidate that is least `used` ([channels])
// so far, of several the one of the lowest port. A switch without candidates keeps its hole.
void spread(const ChannelGraph& g, u32 to, const Candidates& candidates, std::vector<u32>& used,
            ForwardingTable& table);

// What the shortest paths to switch `to` begin with; `hops` is scratch.
void shortest_candidates(const ChannelGraph& g, u32 to, std::vector<u32>& hops, Candidates& candidates);

}  // namespace flitgym::tables
