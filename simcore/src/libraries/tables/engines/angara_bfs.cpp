// Breadth-first tables of the Angara interconnect (angara_graph.hpp). A search through the routing graph starts at one
// node after the other. In every level it follows the cheapest channels first. The first path found to a node is its
// route. When a node is finished, every channel of its tree of routes costs one more. The search continues with the
// node farthest from it.
//
// The source allows two readings: the cost grows by one per channel of the tree, or by one per route on the channel.
// The engine uses the first reading. On the 49 two-dimensional tori of 2 to 8 nodes per dimension, its edge forwarding
// index differs from that of angara_sssp by 13 %, as in the source. The second reading gives 8 %.
#include "tables/angara_routes.hpp"

namespace flitgym::tables::engines::angara_bfs {

class Search {
 public:
  Search(const ChannelGraph& g, const AngaraGraph& rules) : paths(g, rules), cost_(g.channels, 0) {}
  void from(u32 source) {
    paths.from(source);
    sort_arcs();
    arc.assign(paths.node.size(), kNone);
    ends.assign(paths.hops.size(), kNone);
    level_.assign(1, 0);
    while (!level_.empty()) {
      candidates_.clear();
      for (const u32 v : level_)
        for (u32 a = first_[v]; a < first_[v + 1]; a++) candidates_.push_back(a);
      std::stable_sort(candidates_.begin(), candidates_.end(),
                       [&](u32 a, u32 b) { return cost_[paths.arcs[a].channel] < cost_[paths.arcs[b].channel]; });
      worked(candidates_.size() + 1);
      level_.clear();
      for (const u32 a : candidates_) find(a);
    }
  }
  void done(const std::vector<u32>& channels) {
    for (const u32 c : channels) cost_[c]++;
  }

  AngaraPaths paths;
  std::vector<u32> arc;   // [vertices] arc by which the search found the vertex
  std::vector<u32> ends;  // [nodes] vertex at which the search found the node

 private:
  // Sorts arcs by the vertices they leave, and marks the vertices at which a route may end.
  void sort_arcs() {
    first_.assign(paths.node.size() + 1, 0);
    for (const AngaraPaths::Arc& a : paths.arcs) first_[a.from + 1]++;
    for (std::size_t v = 0; v < paths.node.size(); v++) first_[v + 1] += first_[v];
    is_end_.assign(paths.node.size(), 0);
    for (const u32 v : paths.ends) is_end_[v] = 1;
  }
  void find(u32 a) {
    const u32 v = paths.arcs[a].to;
    if (arc[v] != kNone) return;
    arc[v] = a;
    level_.push_back(v);
    if (u32& end = ends[paths.node[v]]; is_end_[v] && end == kNone) end = v;
  }
  std::vector<u32> cost_;  // [channels] number of trees that contain the channel
  std::vector<u32> first_, level_, candidates_;
  std::vector<u8> is_end_;
};

ForwardingTable make(const Params&, const ChannelGraph& g, const Demand&) {
  const AngaraGraph rules = angara_graph("angara_bfs", g);
  AngaraRoutes routes("angara_bfs", g, rules, {});
  Search search(g, rules);
  std::vector<u8> done(g.switches, 0);
  std::vector<u32> passed(g.channels, kNone), tree;  // [channels] last source whose tree contains the channel
  for (u32 source = 0; source != kNone;) {
    done[source] = 1;
    search.from(source);
    tree.clear();
    for (u32 to = 0; g.terminals_at(source) && to < g.switches; to++) {
      if (to == source || g.terminals_at(to) == 0) continue;
      routes.set(g, search.paths, search.arc, source, search.ends[to], [&](u32 c) {
        if (passed[c] != source) tree.push_back(c);
        passed[c] = source;
      });
    }
    search.done(tree);
    u32 next = kNone;
    for (u32 s = 0; s < g.switches; s++)
      if (!done[s] && (next == kNone || search.paths.hops[s] > search.paths.hops[next])) next = s;
    worked(g.switches);
    source = next;
  }
  return std::move(routes).table(g);
}

const Register<EngineSpec> entry({
    .name = "angara_bfs",
    .summary = "Angara: source routes found breadth first, preferring channels that few trees use",
    .topologies = {"torus", "mesh"},
    .make = make,
});

}  // namespace flitgym::tables::engines::angara_bfs
