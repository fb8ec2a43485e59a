// Moves the routes of an existing table into virtual layers one by one, and reduces the number of layers. Also holds
// the parameters that engines with layers share.
#pragma once

#include "simcore/tables/engine.hpp"

namespace flitgym::tables {

// cycle_breaking.cpp: the offline algorithm of DFSSSP (Domke, Hoefler, Nagel, "Deadlock-Free Oblivious Routing for
// Arbitrary Topologies", IPDPS 2011).
// The dependency that breaks a cycle. Its routes move to the next layer.
enum class BreakEdge : u8 {
  kWeakest,   // the dependency with the fewest routes
  kHeaviest,  // the dependency with the most routes
  kFirst,     // the dependency that closed the cycle in the search
};

// Assigns a layer to every route from a switch with terminals to a destination (LayerBy::kSwitch). The table must have
// ports, not source routes. The dependencies within each layer are acyclic. Returns false if 255 layers are too few.
bool break_cycles(const ChannelGraph& g, BreakEdge rule, ForwardingTable& table);

// Order in which routes are placed. In kShortFirst and kLongFirst, routes of equal length are ordered by source.
enum class RouteOrder : u8 { kByDestination, kBySource, kShortFirst, kLongFirst };

// Puts every route into layer 0 (LayerBy::kSwitch). Claims the memory of the layers.
void give_layers(const ChannelGraph& g, ForwardingTable& table);

// Places each route from a switch with terminals to a destination in the first layer that stays acyclic with this
// route, as LASH does (LayerBy::kSwitch). The table must have ports, not source routes.
void first_fit(const ChannelGraph& g, RouteOrder order, ForwardingTable& table);

// Searches for fewer layers with the same routes. First fit is tried in several orders. Then the routes are placed
// again layer by layer, which never needs more layers. This is the method "iterated greedy" (Culberson) for graph
// colouring; minimizing layers is as hard as graph colouring. The effort is bounded in proportion to the number of
// routes. If no layer is saved, the layers stay as they are. A table with cyclic dependencies needs at least two
// layers.
void save_layers(const ChannelGraph& g, ForwardingTable& table);

std::vector<ParamSpec> layer_params();  // layers, fewest, spread
// Applies these parameters. Throws ConfigError if more than `layers` layers are needed. A table with one layer stores
// no layers (LayerBy::kOne).
void finish_layers(const Params& params, const ChannelGraph& g, ForwardingTable& table);

}  // namespace flitgym::tables
