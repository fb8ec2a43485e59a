// PARX: pattern-aware routing for a HyperX of two dimensions (Domke et al., "HyperX Topology: First At-Scale
// Implementation and Comparison to the Fat-Tree", SC 2019). Every terminal has four addresses (LMC 2). For each of them
// the links inside one half of the network are left out, the left, right, top or bottom one, so that a pair of
// terminals in it takes a detour through the other half: with minimal routes alone such a pair has few ways. Whoever
// sends picks the address: short messages one of a shortest route, long messages one of a longest (routing.addresses).
// All routes are balanced together as in SSSP, by the number of pairs or by what they send, scaled to 1 .. 255, and
// shared out to virtual layers as in DFSSSP.
//
// The tables of the paper's machine are not published. Where links have failed so that a half left out cuts a terminal
// off, its routes at that address are free to use all links.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "simcore/error.hpp"
#include "simcore/limits.hpp"
#include "tables/cycle_breaking.hpp"
#include "tables/layer_assignment.hpp"
#include "tables/shortest.hpp"
#include "topology/hyperx.hpp"

namespace flitgym::tables::engines::parx {

namespace {

constexpr u32 kLmc = 2, kAddresses = 1 << kLmc;

const HyperX& even_plane(const ChannelGraph& g) {
  const auto& box = dynamic_cast<const HyperX&>(*g.topology);
  std::string sizes;
  for (const u32 width : box.widths) sizes += (sizes.empty() ? "" : " x ") + std::to_string(width);
  if (box.dimensions != 2 || box.widths[0] % 2 || box.widths[1] % 2)
    throw ConfigError("routing.table.engine: parx needs a HyperX of two dimensions of even sizes, e.g. " + box.key +
                      "=[12,8]; here it is " + sizes);
  return box;
}

// In the half that address a leaves out: left and right by dimension 0, top and bottom by dimension 1.
bool in_half(const HyperX& box, u32 s, u32 a) {
  return (box.coordinate(s, a / 2) >= box.widths[a / 2] / 2) == (a % 2 == 1);
}

// The network with some channels only.
struct Part {
  ChannelGraph graph;
  std::vector<u32> whole;  // [channels of it] their number in the whole network
};

Part part_for(const ChannelGraph& g, const HyperX& box, u32 a) {
  Part part;
  ChannelGraph& left = part.graph;
  left.switches = g.switches;
  left.first.assign(1, 0);
  for (u32 s = 0; s < g.switches; s++) {
    for (u32 c = g.first[s]; c < g.first[s + 1]; c++) {
      if (in_half(box, s, a) && in_half(box, g.to[c], a)) continue;
      left.to.push_back(g.to[c]);
      part.whole.push_back(c);
    }
    left.first.push_back(static_cast<u32>(part.whole.size()));
  }
  left.channels = static_cast<u32>(part.whole.size());
  return part;
}

// Pairs count 1, those of the demand by it on a scale to 255.
class Weights {
 public:
  Weights(const ChannelGraph& g, const Demand& demand) : g_(g), demand_(demand) {
    for (const double weight : demand.weight) most_ = std::max(most_, weight);
  }
  void towards(u32 t, std::vector<double>& by_switch) const {
    demand_towards(g_, {}, t, by_switch);
    each(t, [&](u32 s, double weight) { by_switch[g_.terminal_switch[s]] += weight - 1; });
  }
  // The terminals that receive most first; where nothing is said, one of every switch, then the second, and so on.
  std::vector<u32> order() const {
    std::vector<double> received(g_.terminals, 0);
    std::vector<u32> turn(g_.terminals), all(g_.terminal_of);
    for (u32 t = 0; t < g_.terminals; t++) each(t, [&](u32, double weight) { received[t] += weight; });
    for (u32 k = 0; k < g_.terminals; k++) turn[all[k]] = k - g_.first_terminal[g_.terminal_switch[all[k]]];
    std::stable_sort(all.begin(), all.end(), [&](u32 a, u32 b) { return turn[a] < turn[b]; });
    std::stable_sort(all.begin(), all.end(), [&](u32 a, u32 b) { return received[a] > received[b]; });
    return all;
  }

 private:
  template <class Visit>
  void each(u32 t, Visit&& visit) const {
    if (demand_.empty()) return;
    for (u64 k = demand_.first[t]; k < demand_.first[t + 1]; k++)
      if (demand_.source[k] != t) visit(demand_.source[k], std::max(1.0, std::round(255 * demand_.weight[k] / most_)));
  }
  const ChannelGraph& g_;
  const Demand& demand_;
  double most_ = 0;
};

// The least loaded of the shortest ways, for all switches; then what passes is added to the loads.
void route(const ChannelGraph& g, const ShortestWays& ways, const std::vector<u32>& whole, std::vector<double>& weight,
           std::vector<double>& load, ForwardingTable& table, u32 d) {
  const std::size_t reached = ways.order.size();
  std::vector<double> cost(reached, 0);
  std::vector<ShortestWays::Step> taken(reached);
  worked(ways.step.size());
  for (std::size_t k = 1; k < reached; k++) {
    double least = 0;
    for (u32 i = ways.first[k]; i < ways.first[k + 1]; i++) {
      const ShortestWays::Step step{whole[ways.step[i].channel], ways.step[i].place};
      const double here = cost[step.place] + load[step.channel];
      if (i > ways.first[k] && here >= least) continue;
      least = here;
      taken[k] = step;
    }
    cost[k] = least;
    table.at(ways.order[k], d) = g.port[taken[k].channel];
  }
  for (std::size_t k = reached; k-- > 1;) {
    const double passing = weight[ways.order[k]];
    load[taken[k].channel] += passing;
    weight[ways.order[taken[k].place]] += passing;
  }
}

ForwardingTable make(const Params& params, const ChannelGraph& g, const Demand& demand) {
  const HyperX& box = even_plane(g);
  ForwardingTable table = empty_table(g, "parx", kLmc);
  std::vector<Part> parts;
  for (u32 a = 0; a < kAddresses; a++) parts.push_back(part_for(g, box, a));
  std::vector<u32> itself(g.channels);
  std::iota(itself.begin(), itself.end(), 0u);

  const Weights weights(g, demand);
  std::vector<double> weight, load(g.channels, 0);
  ShortestWays all, ways;
  for (const u32 t : weights.order()) {
    const u32 s = g.terminal_switch[t];
    all.towards(g, s);
    for (u32 a = 0; a < kAddresses; a++) {
      ways.towards(parts[a].graph, s);
      const bool cut = ways.order.size() < all.order.size();
      weights.towards(t, weight);
      route(g, cut ? all : ways, cut ? itself : parts[a].whole, weight, load, table, t << kLmc | a);
    }
  }
  if (!break_cycles(g, BreakEdge::kWeakest, table)) first_fit(g, RouteOrder::kShortFirst, table);
  finish_layers(params, g, table);
  return table;
}

const Register<EngineSpec> entry([] {
  EngineSpec spec{
      .name = "parx",
      .summary = "four addresses per terminal on a 2D HyperX: short routes, and detours around half of the links",
      .topologies = {"hyperx"},
      .params = layer_params(),
      .make = make,
  };
  spec.balances = true;
  return spec;
}());

}  // namespace

}  // namespace flitgym::tables::engines::parx
