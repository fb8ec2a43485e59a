// Levels of the switches, that is, their distance from the top of the network. Engines that route up and then down use
// them.
#pragma once

#include <string>
#include <vector>

#include "simcore/params.hpp"
#include "simcore/tables/channel_graph.hpp"

namespace flitgym::tables {

// Parameters `roots` and `root_names`, shared by the engines that use roots.
std::vector<ParamSpec> root_params();

struct Levels {
  bool of_roots = false;  // counted from given roots
  std::vector<u32> rank;  // [switches] 0 = top
};

// Hops from the nearest of `roots`. kNone: not connected.
std::vector<u32> ranks_below(const ChannelGraph& g, const std::vector<u32>& roots);

// The roots that the user gave; empty if there are none. Throws ConfigError, which names `engine`, if a switch does not
// exist.
std::vector<u32> given_roots(const std::string& engine, const Params& params, const ChannelGraph& g);

// Hops from every switch to the nearest switch with terminals.
std::vector<u32> heights(const ChannelGraph& g);

// Finds the levels of a tree. With given roots they are counted from the roots. Otherwise a fat-tree topology defines
// them. Otherwise they are counted upwards from the switches with terminals, which requires that every channel joins
// neighbouring levels. Returns false if there are no levels.
bool find_levels(const std::string& engine, const Params& params, const ChannelGraph& g, Levels& levels);

}  // namespace flitgym::tables
