// Distributes destinations over ports, for engines that handle each switch separately. At a switch, each destination
// gets the candidate channel with the fewest destinations so far.
#pragma once

#include "simcore/tables/table.hpp"

namespace flitgym::tables {

// Channels by which packets to one switch may leave every other switch.
struct Candidates {
  std::vector<u32> first{0}, channel;  // [switches + 1]; [first.back()] channels of each switch, ordered by port

  void begin() { first.assign(1, 0), channel.clear(); }
  void next_switch() { first.push_back(static_cast<u32>(channel.size())); }
};

// The switches with terminals, in the order of decreasing numbers of terminals. A switch with many terminals needs the
// most freedom, so it comes first. Ties are in the order of the switches or of their GUIDs. OpenSM compares GUIDs in
// network byte order, on most machines from the lowest byte on: switches 0, 256, 1, 257, ..., 7, 263, 8, ... of 264.
// The GUID of switch s is 0x10000 + s, as in tables that flitgym writes (_lft/dumps.py).
enum class Ties { kNumber, kGuid };
std::vector<u32> destination_switches(const ChannelGraph& g, Ties ties = Ties::kGuid);

// Assigns to each terminal of switch `to`, in order, the least used candidate at every other switch. `used` is the
// number of destinations per channel. Ties go to the lowest port. A switch without candidates gets no port.
void spread(const ChannelGraph& g, u32 to, const Candidates& candidates, std::vector<u32>& used,
            ForwardingTable& table);

// First channels of the shortest paths to switch `to`.
Candidates shortest_candidates(const ChannelGraph& g, u32 to);

}  // namespace flitgym::tables
