// PARX: pattern-aware routing for a two-dimensional HyperX (Domke et al., "HyperX Topology: First At-Scale
// Implementation and Comparison to the Fat-Tree", SC 2019). Every terminal has four addresses (LMC 2). For each address
// the links inside one half of the network are left out: the left, right, top or bottom half. A pair of terminals in
// that half then takes a detour through the other half. With minimal routes only, such a pair would have few paths. The
// sender picks the address (routing.addresses): short messages take an address with a shortest route, long messages an
// address with a longest route. Routes of all addresses are balanced together as in SSSP, by the number of pairs or by
// the demand, scaled to 1 .. 255. They are distributed over virtual layers as in DFSSSP.
//
// The tables of the paper's machine are not published. If links have failed and a terminal cannot be reached without
// the links of a half, its routes at that address may use all links.
#include "simcore/topology/hyperx.hpp"
#include "tables/layer_assignment.hpp"
#include "tables/shortest.hpp"

namespace flitgym::tables::engines::parx {

constexpr u32 kLmc = 2, kAddresses = 1 << kLmc;

const HyperX& even_plane(const ChannelGraph& g) {
  const auto& box = dynamic_cast<const HyperX&>(*g.topology);
  std::string sizes;
  for (const u32 width : box.widths) sizes += (sizes.empty() ? "" : " x ") + std::to_string(width);
  if (box.dimensions != 2 || box.widths[0] % 2 || box.widths[1] % 2)
    throw ConfigError("routing.table.engine: parx needs a two-dimensional HyperX of even sizes, e.g. ", box.key,
                      "=[12,8]; the network is ", sizes);
  return box;
}

// Switch s is in the half that address a leaves out. Left and right divide dimension 0, top and bottom dimension 1.
bool in_half(const HyperX& box, u32 s, u32 a) {
  return (box.coordinate(s, a / 2) >= box.widths[a / 2] / 2) == (a % 2 == 1);
}

struct Part {
  ChannelGraph graph;
  std::vector<u32> whole;  // [channels of the part] number in the whole network
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

// A pair weighs 1, or its demand scaled to 1 .. 255.
class Weights {
 public:
  Weights(const ChannelGraph& g, const Demand& demand) : g_(g), demand_(demand) {
    for (const double weight : demand.weight) most_ = std::max(most_, weight);
  }
  void towards(u32 t, std::vector<double>& by_switch) const {
    demand_towards(g_, {}, t, by_switch);
    each(t, [&](u32 s, double weight) { by_switch[g_.terminal_switch[s]] += weight - 1; });
  }
  // Terminals that receive most come first. Without a demand: one terminal of every switch, then the second of every
  // switch, and so on.
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

ForwardingTable make(const Params& params, const ChannelGraph& g, const Demand& demand) {
  const HyperX& box = even_plane(g);
  ForwardingTable table = empty_table(g, "parx", kLmc);
  std::vector<Part> parts;
  for (u32 a = 0; a < kAddresses; a++) parts.push_back(part_for(g, box, a));
  const Weights weights(g, demand);
  std::vector<double> weight, load(g.channels, 0);
  ShortestWays all, ways;
  LeastLoaded routes;
  for (const u32 t : weights.order()) {
    const u32 s = g.terminal_switch[t];
    all.towards(g, s);
    for (u32 a = 0; a < kAddresses; a++) {
      ways.towards(parts[a].graph, s);
      for (ShortestWays::Step& step : ways.step) step.channel = parts[a].whole[step.channel];
      const ShortestWays& taken = ways.order.size() < all.order.size() ? all : ways;
      weights.towards(t, weight);
      routes.choose(g, taken, load, table, t << kLmc | a);
      routes.send(taken, weight, load);
    }
  }
  if (!break_cycles(g, BreakEdge::kWeakest, table)) first_fit(g, RouteOrder::kShortFirst, table);
  finish_layers(params, g, table);
  return table;
}

const Register<EngineSpec> entry({
    .name = "parx",
    .summary =
        "2-D HyperX: four addresses per terminal, each with shortest routes or detours around one half of the links",
    .topologies = {"hyperx"},
    .params = layer_params(),
    .make = make,
    .balances = true,
});

}  // namespace flitgym::tables::engines::parx
