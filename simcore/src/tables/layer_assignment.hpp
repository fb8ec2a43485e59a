// Routes of a table that is there, put into virtual layers one by one; few layers; and what the engines with layers
// have in common.
#pragma once

#include "tables/engine.hpp"

namespace flitgym::tables {

// Which route is put first. Those of kShort and kLong of one length come by source.
enum class RouteOrder : u8 { kByDestination, kBySource, kShortFirst, kLongFirst };

// Each route from a switch with terminals to a destination of a table of ports goes into the first layer that stays
// acyclic with it, as LASH does: LayerBy::kSwitch.
void first_fit(const ChannelGraph& g, RouteOrder order, ForwardingTable& table);

// The same routes in fewer layers, where a search that is bounded by their number finds that: first fit in several
// orders, then again and again layer by layer, which never needs more ("iterated greedy", Culberson, for the colouring
// of graphs, to which the problem is equal in difficulty). Layers of before stay where none is saved. Two layers are
// the least of a table that needs any.
void save_layers(const ChannelGraph& g, ForwardingTable& table);

std::vector<ParamSpec> layer_params();  // layers, fewest, spread
// As these parameters say. Throws ConfigError: more layers are needed than `layers`. A table of one layer needs no
// layers (LayerBy::kOne).
void finish_layers(const Params& params, const ChannelGraph& g, ForwardingTable& table);

}  // namespace flitgym::tables
