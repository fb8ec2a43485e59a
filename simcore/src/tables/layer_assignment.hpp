// Moves the routes of an existing table into virtual layers one by one, and reduces the number of layers. Also holds
// the parameters that engines with layers share.
#pragma once

#include "tables/engine.hpp"

namespace flitgym::tables {

// Order in which routes are placed. In kShortFirst and kLongFirst, routes of equal length are ordered by source.
enum class RouteOrder : u8 { kByDestination, kBySource, kShortFirst, kLongFirst };

// Places each route from a switch with terminals to a destination in the first layer that stays acyclic with it, as
// LASH does (LayerBy::kSwitch). The table must have ports, not source routes.
void first_fit(const ChannelGraph& g, RouteOrder order, ForwardingTable& table);

// Searches for fewer layers with the same routes. First fit is tried in several orders. Then the routes are placed
// again layer by layer, which never needs more layers. That is "iterated greedy" (Culberson), known from graph
// colouring, and minimizing layers is as hard as graph colouring. The effort is bounded by the number of routes. The
// layers stay as they are if none is saved. A table that needs layers needs at least two.
void save_layers(const ChannelGraph& g, ForwardingTable& table);

std::vector<ParamSpec> layer_params();  // layers, fewest, spread
// Applies these parameters. Throws ConfigError if more than `layers` layers are needed. A table with one layer stores
// no layers (LayerBy::kOne).
void finish_layers(const Params& params, const ChannelGraph& g, ForwardingTable& table);

}  // namespace flitgym::tables
