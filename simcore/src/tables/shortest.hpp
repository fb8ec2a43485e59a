// The shortest ways towards one switch, and routes that balance the load among them.
#pragma once

#include <string>
#include <vector>

#include "tables/engine.hpp"

namespace flitgym::tables {

// Switches in the order of their distance from one of them, with the channels by which each comes nearer. Places are
// those of this order; what is looked at together lies together.
struct ShortestWays {
  struct Step {
    u32 channel, place;  // of the switch it leads to
  };
  std::vector<u32> order;  // [reached] switches, the destination first
  std::vector<u32> first;  // [reached + 1] the steps of place k are step[first[k]] ... step[first[k + 1] - 1], by port
  std::vector<Step> step;
  std::vector<u32> place;  // [switches] kNone: no way

  void towards(const ChannelGraph& g, u32 destination);  // O(channels)
};

std::vector<ParamSpec> balance_params();
// SSSP routing (engines/sssp.cpp) as these parameters say: fills the table's ports.
void balance_shortest(const Params& params, const ChannelGraph& g, const Demand& demand, ForwardingTable& table);

}  // namespace flitgym::tables
