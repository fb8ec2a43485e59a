// Shared by the three Angara engines: the shortest routes from one node in the routing graph, and the chosen routes.
#pragma once

#include "simcore/tables/engine.hpp"
#include "tables/angara_graph.hpp"

namespace flitgym::tables {

// All shortest routes from one node. A vertex is a pair of a node and a state of the automaton. Its level is the number
// of steps from the source, and an arc leads from one level to the next. Every shortest route is exactly one path of
// arcs. Arcs that are not on a shortest route are removed; vertices stay.
class AngaraPaths {
 public:
  struct Arc {
    u32 from, to, channel;  // from and to are vertices
  };
  AngaraPaths(const ChannelGraph& g, const AngaraGraph& rules);
  void from(u32 source);
  void only(const std::vector<u32>& targets);  // keeps only the arcs of routes to these nodes

  std::vector<u32> hops;       // [nodes] length of the shortest routes; kNone: there is none
  std::vector<Arc> arcs;       // ordered by level
  std::vector<u32> node;       // [vertices] node of each vertex; the source is vertex 0
  std::vector<u32> ends;       // vertices at which a shortest route to their node ends, grouped by node
  std::vector<u32> first_end;  // [nodes + 1]

  std::vector<double> counts() const;  // [nodes] number of shortest routes
  std::vector<u32> turns() const;      // [nodes] fewest changes of direction among the shortest routes; kNone: no route

 private:
  bool search(u32 source, const std::vector<u32>* bound);
  void trim(std::vector<u8>& useful);
  u32 vertex(u32 at_node, u32 state);

  const ChannelGraph& g_;
  const AngaraGraph& rules_;
  std::vector<u32> state_, level_;  // [vertices]
  std::vector<u32> number_;         // [nodes, states] vertex; kNone: not found
};

// One route for each pair of nodes with terminals. All routes are shortest ones, so their lengths are known in advance.
class AngaraRoutes {
 public:
  // Throws ConfigError, which names a pair, if the routing graph has no route for that pair.
  AngaraRoutes(const std::string& engine, const ChannelGraph& g, const AngaraGraph& rules, const Demand& demand);

  u32 length(u32 from, u32 to) const { return static_cast<u32>(first_[pair(from, to) + 1] - first_[pair(from, to)]); }
  u16* ports(u32 from, u32 to) { return &port_[first_[pair(from, to)]]; }
  // Traffic of a pair, relative to the mean of all pairs.
  double weight(u32 from, u32 to) const { return weight_.empty() ? 1.0 : double{weight_[pair(from, to)]}; }
  // Stores the route of `paths` that ends at vertex `end`, following arcs backwards. visit(channel) is called from the
  // last channel of the route to the first.
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
  ForwardingTable table(const ChannelGraph& g) &&;  // moves the routes into the table

 private:
  std::size_t pair(u32 from, u32 to) const { return std::size_t{from} * nodes_ + to; }
  void weigh(const ChannelGraph& g, const Demand& demand);
  const std::string engine_;
  const u32 nodes_;
  std::vector<u64> first_;  // [pairs + 1]
  std::vector<u16> port_;
  std::vector<float> weight_;  // [pairs]; empty: uniform demand
};

}  // namespace flitgym::tables
