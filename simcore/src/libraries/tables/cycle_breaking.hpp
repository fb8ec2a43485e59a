// Assigns virtual layers to an existing table by the offline algorithm of DFSSSP (Domke, Hoefler, Nagel, "Deadlock-Free
// Oblivious Routing for Arbitrary Topologies", IPDPS 2011).
#pragma once

#include "simcore/tables/engine.hpp"

namespace flitgym::tables {

// The dependency that breaks a cycle. Its routes move to the next layer.
enum class BreakEdge : u8 {
  kWeakest,   // the dependency with the fewest routes
  kHeaviest,  // the dependency with the most routes
  kFirst,     // the dependency that closed the cycle in the search
};
ParamSpec edge_param();
BreakEdge edge_of(const Params& params);

// Assigns a layer to every route from a switch with terminals to a destination (LayerBy::kSwitch). The table must have
// ports, not source routes. The dependencies within each layer are acyclic. Returns false if 255 layers are too few.
bool break_cycles(const ChannelGraph& g, BreakEdge rule, ForwardingTable& table);

}  // namespace flitgym::tables
