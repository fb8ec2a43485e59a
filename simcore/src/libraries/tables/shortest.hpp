// Shortest paths towards one switch, and routes that balance load among them.
#pragma once

#include "simcore/tables/engine.hpp"

namespace flitgym::tables {

// Switches in the order of their distance from the destination, with the channels that lead nearer to it. A place is an
// index in this order, so data that are used together are adjacent in memory.
struct ShortestWays {
  struct Step {
    u32 channel, place;  // place of the switch at the end of the channel
  };
  std::vector<u32> order;  // [reached] switches, the destination first
  std::vector<u32> first;  // [reached + 1] place k has the steps first[k] .. first[k + 1] - 1, ordered by port
  std::vector<Step> step;
  std::vector<u32> place;  // [switches] kNone: no path

  void towards(const ChannelGraph& g, u32 destination);  // O(channels)
};

// The least loaded of the shortest paths from every switch to one destination.
struct LeastLoaded {
  std::vector<ShortestWays::Step> taken;  // [places] first step; place 0 has none

  // Sets the ports of destination d. Hops are compared first, so the costs of a level are final before the next level
  // begins and no priority queue is needed.
  void choose(const ChannelGraph& g, const ShortestWays& ways, const std::vector<double>& load, ForwardingTable& table,
              u32 d);
  // Adds the traffic of every switch to the loads of all channels of its route.
  void send(const ShortestWays& ways, const std::vector<double>& traffic, std::vector<double>& load);

 private:
  std::vector<double> sums_;  // [places] scratch memory
};

std::vector<ParamSpec> balance_params();
// SSSP routing (engines/sssp.cpp) with these parameters. Fills the ports of the table.
void balance_shortest(const Params& params, const ChannelGraph& g, const Demand& demand, ForwardingTable& table);

}  // namespace flitgym::tables
