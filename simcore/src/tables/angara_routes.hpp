// What the three Angara engines share: the shortest routes from one node that the routing graph has, and the routes
// chosen so far.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "tables/angara_graph.hpp"
#include "tables/engine.hpp"

namespace flitgym::tables {

// All shortest routes from one node: a vertex is a node and a state of the automaton, an arc leads from one level
// (steps from the source) to the next. Every route is one path. Vertices from which no shortest route ends are left
// out.
class AngaraPaths {
 public:
  struct Arc {
    u32 from, to, channel;  // vertices
  };
  AngaraPaths(const ChannelGraph& g, const AngaraGraph& rules);
  void from(u32 source);
  void only(const std::vector<u32>& targets);  // leaves out what leads to none of these

  std::vector<u32> hops;       // [nodes] of the shortest routes, kNone: there is none
  std::vector<Arc> arcs;       // by level
  std::vector<u32> node;       // [vertices] the source is vertex 0
  std::vector<u32> ends;       // vertices at which a shortest route to their node ends, by node
  std::vector<u32> first_end;  // [nodes + 1]

  std::vector<double> counts() const;  // [nodes] shortest routes
  std::vector<u32> turns() const;      // [nodes] changes of direction, of the route with the fewest; kNone

 private:
  bool search(u32 source, const std::vector<u32>* bound);
  void trim(std::vector<u8>& useful);
  u32 vertex(u32 at_node, u32 state);

  const ChannelGraph& g_;
  const AngaraGraph& rules_;
  std::vector<u32> state_, level_;  // [vertices]
  std::vector<u32> number_;         // [nodes, states] vertex, kNone
};

// The cheapest of the shortest routes: relaxation, level by level.
class AngaraCheapest {
 public:
  // cost(channel) is what a step costs.
  template <class Cost>
  void run(const AngaraPaths& paths, Cost&& cost) {
    best.assign(paths.node.size(), std::numeric_limits<double>::infinity());
    arc.assign(paths.node.size(), kNone);
    best[0] = 0;
    for (u32 a = 0; a < paths.arcs.size(); a++) {
      const AngaraPaths::Arc& step = paths.arcs[a];
      const double all = best[step.from] + cost(step.channel);
      if (all < best[step.to]) {
        best[step.to] = all;
        arc[step.to] = a;
      }
    }
  }
  u32 end(const AngaraPaths& paths, u32 target) const {
    u32 at = paths.ends[paths.first_end[target]];
    for (u32 k = paths.first_end[target] + 1; k < paths.first_end[target + 1]; k++)
      if (best[paths.ends[k]] < best[at]) at = paths.ends[k];
    return at;
  }
  std::vector<double> best;  // [vertices]
  std::vector<u32> arc;      // [vertices] by which the cheapest route comes
};

// A route for every pair of nodes with terminals, all of the shortest: their lengths are known before the routes are.
class AngaraRoutes {
 public:
  // Throws ConfigError, with a pair, where the routing graph has no route.
  AngaraRoutes(const std::string& engine, const ChannelGraph& g, const AngaraGraph& rules, const Demand& demand);

  u32 length(u32 from, u32 to) const { return static_cast<u32>(first_[pair(from, to) + 1] - first_[pair(from, to)]); }
  u16* ports(u32 from, u32 to) { return &port_[first_[pair(from, to)]]; }
  // How much a pair sends, the mean of all pairs being 1.
  double weight(u32 from, u32 to) const { return weight_.empty() ? 1.0 : double{weight_[pair(from, to)]}; }
  // The route of `paths` that ends at a vertex, following arcs back; visit(channel) from its end to its beginning.
  template <class Visit>
  void set(const ChannelGraph& g, const AngaraPaths& paths, const std::vector<u32>& arc, u32 source, u32 end,
           Visit&& visit) {
    const u32 target = paths.node[end];
    u16* at = ports(source, target) + length(source, target);
    while (arc[end] != kNone) {
      const AngaraPaths::Arc& step = paths.arcs[arc[end]];
      *--at = g.port[step.channel];
      visit(step.channel);
      end = step.from;
    }
  }
  ForwardingTable table(const ChannelGraph& g) &&;  // takes the routes along

 private:
  std::size_t pair(u32 from, u32 to) const { return std::size_t{from} * nodes_ + to; }
  void weigh(const ChannelGraph& g, const Demand& demand);
  const std::string engine_;
  const u32 nodes_;
  std::vector<u64> first_;  // [pairs + 1]
  std::vector<u16> port_;
  std::vector<float> weight_;  // [pairs], empty: all alike
};

}  // namespace flitgym::tables
