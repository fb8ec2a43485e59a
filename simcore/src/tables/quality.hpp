// How good a table is, by itself: what passes each channel when everybody sends to everybody (or as a demand says), how
// long the routes are, and what random pairs of terminals leave each other of the bandwidth.
#pragma once

#include <vector>

#include "tables/dependencies.hpp"
#include "tables/engine.hpp"

namespace flitgym::tables {

// Routes per channel, over the ordered pairs of different terminals; under a demand, the sum of the weights of those
// that pass. Where a terminal has several addresses each takes an equal part.
struct Loads {
  std::vector<double> channel;                     // [channels]
  std::vector<double> from_terminal, to_terminal;  // [terminals] of the links that join terminals to their switches
};

struct Quality {
  Loads loads;
  double routes = 0;                     // ordered pairs of different terminals; under a demand its sum
  double edge_forwarding_index = 0;      // of the fullest channel (Heydemann, Meyer, Sotteau, Discr. Appl. Math. 1989)
  double terminal_forwarding_index = 0;  // of the fullest link of a terminal
  double load_mean = 0, load_least = 0;  // over all channels
  double load_deviation = 0;             // sqrt(mean over channels of (load - mean)^2)
  double load_mean_minimal = 0;          // mean were all routes shortest: no routing has a lower edge forwarding index
  u32 channels_unused = 0;
  double hops_mean = 0;  // channels per route
  u32 hops_max = 0;
  bool minimal = true;             // every route is as short as can be
  u32 layers = 1;                  // VC classes it needs
  std::vector<LaneChannel> cycle;  // of its dependencies; empty: it has none
};

// Of a table that was checked. A demand without entries: all alike.
Loads loads(const ChannelGraph& g, const ForwardingTable& table, const Demand& demand);
Quality quality(const ChannelGraph& g, const ForwardingTable& table, const Demand& demand);

struct Flow {
  u32 source, destination;
  double weight;
};

// What flows that run at the same time do to each other.
struct FlowLoads {
  std::vector<double> flow;      // [flows] load of the fullest channel of its route, and at least its own weight
  std::vector<double> endpoint;  // [flows] the greater of what its source sends and what its destination receives
  std::vector<double> channel;   // [channels] weight that passes
};
FlowLoads flow_loads(const ChannelGraph& g, const ForwardingTable& table, const std::vector<Flow>& flows);

// Effective bisection bandwidth as ORCS has it (Schneider, Hoefler, Lumsdaine, "ORCS: An Oblivious Routing Congestion
// Simulator", 2009): for each order of the terminals, place k of its first half sends to place k of its second half
// (with `both_ways` also back; one is idle where their number is odd). A pair gets 1 / c, c the number of pairs on the
// fullest channel of its route, and 1 where the route has no channel. Of a pair with 2^k addresses each takes an equal
// part, and the fullest channel of all its routes counts. Returns the mean over the pairs of each order.
// `orders`: [patterns, terminals].
std::vector<double> bisection_bandwidth(const ChannelGraph& g, const ForwardingTable& table,
                                        const std::vector<u32>& orders, bool both_ways);

// Random order number `pattern` of a seed.
void draw_order(u64 seed, u64 pattern, u32 terminals, u32* order);

}  // namespace flitgym::tables
