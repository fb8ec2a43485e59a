// The level of a switch is its distance from the top of the network. Routes go up and then down, for any ranking of the
// switches (up*/down* of Autonet: Schroeder et al., IEEE JSAC 9(8), 1991).
#pragma once

#include <optional>

#include "simcore/tables/table.hpp"

namespace flitgym::tables {

// Parameters `roots` and `root_names`, shared by the engines that use roots.
std::vector<ParamSpec> root_params();

struct Levels {
  bool of_roots = false;  // counted from given roots
  std::vector<u32> rank;  // [switches] 0 = top
};

// Hops from every switch to the nearest switch with terminals.
std::vector<u32> heights(const ChannelGraph& g);
u32 farthest(const std::vector<u32>& hops);  // the largest that is not kNone

// Finds the levels of a tree. With given roots they are counted from the roots. Otherwise a fat-tree topology defines
// them. Otherwise they are counted upwards from the switches with terminals, which requires that every channel joins
// neighbouring levels. Empty if there are no levels.
std::optional<Levels> find_levels(const std::string& engine, const Params& params, const ChannelGraph& g);

// A channel leads up if its end precedes its beginning in the order of (rank, number). Routes do not turn from down to
// up, so there is no cycle of dependencies. On every cycle, some switch comes after both of its neighbours in the
// order. Passing this switch would be such a turn.
//
// A table selects the port by the destination only, not by the input port. In general, the beginning of one legal route
// and the end of another may form an illegal route. Here they cannot. A switch that reaches the destination over down
// channels only takes the shortest of these paths, so a packet that came down continues down. At every other switch,
// packets have not gone down yet and take the shortest path up to the switch where the route turns down.
//
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
