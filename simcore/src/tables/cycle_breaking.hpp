// Virtual layers for a table that is there: the offline algorithm of DFSSSP (Domke, Hoefler, Nagel, "Deadlock-Free
// Oblivious Routing for Arbitrary Topologies", IPDPS 2011).
#pragma once

#include "tables/engine.hpp"

namespace flitgym::tables {

// Which dependency of a cycle is given up, that is: whose routes go to the next layer.
enum class BreakEdge : u8 {
  kWeakest,   // the one of fewest routes
  kHeaviest,  // of most
  kFirst,     // the one that closed the cycle in the search
};
ParamSpec edge_param();
BreakEdge edge_of(const Params& params);

// Gives every route from a switch with terminals to a destination of a table of ports a layer (LayerBy::kSwitch), so
// that each layer's dependencies are acyclic. False: 255 layers are too few for it.
bool break_cycles(const ChannelGraph& g, BreakEdge rule, ForwardingTable& table);

}  // namespace flitgym::tables
