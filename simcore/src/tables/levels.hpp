// Which way is up: how far from the top of the network each switch is, for the engines that route up first and then
// down.
#pragma once

#include <string>
#include <vector>

#include "simcore/params.hpp"
#include "tables/channel_graph.hpp"

namespace flitgym::tables {

// `roots` and `root_names`, the same for all engines that take them.
std::vector<ParamSpec> root_params();

struct Levels {
  enum class From {
    kRoots,
    kTopology,
    kTerminals
  } from = From::kRoots;  // told by the user, by a FatTree, by where terminals hang
  std::vector<u32> rank;  // [switches] 0 = top
};

// Hops from the next of `roots`; kNone: no way.
std::vector<u32> ranks_below(const ChannelGraph& g, const std::vector<u32>& roots);

// What the user gave as roots, none if nothing. Throws ConfigError naming `engine`: no such switch.
std::vector<u32> given_roots(const std::string& engine, const Params& params, const ChannelGraph& g);

// Hops to the next switch with terminals, for every switch.
std::vector<u32> heights(const ChannelGraph& g);

// The levels of a tree: below the roots given; or those of a fat tree topology; or counted from the switches with
// terminals up, if every channel then joins neighbouring levels. False: there are none.
bool find_levels(const std::string& engine, const Params& params, const ChannelGraph& g, Levels& levels);

}  // namespace flitgym::tables
