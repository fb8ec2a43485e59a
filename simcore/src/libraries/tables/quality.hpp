// Quality of a table without simulation: the load of each channel under uniform traffic or a demand, the lengths of
// routes, and the effective bisection bandwidth.
#pragma once

#include "simcore/tables/engine.hpp"
#include "tables/dependencies.hpp"

namespace flitgym::tables {

// Load of a channel: the number of routes on it, over all ordered pairs of different terminals. Under a demand, the sum
// of the weights of these routes. If a terminal has several addresses, each address carries an equal part.
struct Loads {
  std::vector<double> channel;                     // [channels]
  std::vector<double> from_terminal, to_terminal;  // [terminals] of the links between terminals and switches
};

struct Quality {
  Loads loads;
  double routes = 0;                 // ordered pairs of different terminals; under a demand, its sum
  double edge_forwarding_index = 0;  // load of the fullest channel (Heydemann, Meyer, Sotteau, Discr. Appl. Math. 1989)
  double terminal_forwarding_index = 0;  // load of the fullest link of a terminal
  double load_mean = 0, load_least = 0;  // over all channels
  double load_deviation = 0;             // sqrt(mean over channels of (load - mean)^2)
  double load_mean_minimal = 0;          // mean if all routes were shortest; lower bound of the edge forwarding index
  u32 channels_unused = 0;
  double hops_mean = 0;  // channels per route
  u32 hops_max = 0;
  bool minimal = true;             // every route is a shortest path
  u32 layers = 1;                  // VC classes the table needs
  std::vector<LaneChannel> cycle;  // one cycle of its channel dependencies; empty: there is none
};

double greatest(const std::vector<double>& loads);  // 0: there are none
// The highest load, then the sum of squares.
std::pair<double, double> unevenness(const std::vector<double>& loads);

// Both require a checked table. An empty demand is uniform.
Loads loads(const ChannelGraph& g, const ForwardingTable& table, const Demand& demand);
Quality quality(const ChannelGraph& g, const ForwardingTable& table, const Demand& demand);

struct Flow {
  u32 source, destination;
  double weight;
};

// Loads of flows that are active at the same time.
struct FlowLoads {
  std::vector<double> flow;      // [flows] load of the fullest channel of its route, at least its own weight
  std::vector<double> endpoint;  // [flows] greater of the weights that its source sends and its destination receives
  std::vector<double> channel;   // [channels] weight of the flows on the channel
};
FlowLoads flow_loads(const ChannelGraph& g, const ForwardingTable& table, const std::vector<Flow>& flows);

// Effective bisection bandwidth as in ORCS (Schneider, Hoefler, Lumsdaine, "ORCS: An Oblivious Routing Congestion
// Simulator", 2009). In each order of the terminals, entry k of the first half sends to entry k of the second half.
// With `both_ways` the second half also sends to the first. If the number of terminals is odd, one terminal is idle.
// The bandwidth of a pair is 1 / c, where c is the number of pairs on the fullest channel of its route. If the route
// has no channel, it is 1. If a destination has 2^k addresses, each address carries an equal part, and c is taken on
// the fullest channel of all routes. Returns the mean over the pairs for each order. `orders`: [patterns, terminals].
std::vector<double> bisection_bandwidth(const ChannelGraph& g, const ForwardingTable& table,
                                        const std::vector<u32>& orders, bool both_ways);

}  // namespace flitgym::tables
