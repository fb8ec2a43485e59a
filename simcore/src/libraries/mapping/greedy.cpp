// Greedy mapping (Hoefler & Snir, ICS 2011). The first rank goes anywhere. Then the rank with the heaviest connection
// to the placed ranks is placed near them, and so on. The paper takes the free place nearest to the last place taken.
// Deviation: this version takes the place that adds the fewest bytes x hops to all placed partners. A tie goes to the
// place with the fewest free neighbours, so that no isolated free places remain.
#include "mapping/greedy.hpp"

#include <queue>

#include "simcore/registry.hpp"

namespace flitgym::mapping {

std::vector<u32> place_greedily(const WeightedGraph& graph, const Sites& sites, std::vector<u32> room,
                                const std::vector<u32>& vertex_kind, const std::vector<u32>& site_kind) {
  const u32 n = graph.vertices();
  std::vector<u32> at(n, kNone);
  std::vector<double> pull(n, 0.0);  // weight of the edges to placed vertices
  std::vector<double> cost(sites.count);
  std::vector<u32> free_neighbors(sites.fabric.vertices(), 0);  // [routers] free slots at neighbouring routers
  const auto neighbors = [&](u32 s, auto&& visit) {
    for (u64 e = sites.fabric.begin(sites.router[s]); e < sites.fabric.end(sites.router[s]); e++)
      visit(sites.fabric.peer[e]);
  };
  for (u32 s = 0; s < sites.count; s++) neighbors(s, [&](u32 router) { free_neighbors[router] += room[s]; });

  struct Waiting {
    double pull;
    u32 vertex;
    bool operator<(const Waiting& other) const {
      return pull != other.pull ? pull < other.pull : vertex > other.vertex;
    }
  };
  std::priority_queue<Waiting> queue;  // may hold outdated entries
  std::vector<u32> starts(n);          // vertices by weight; the next one starts a part without placed partners
  std::vector<double> heavy(n);
  for (u32 v = 0; v < n; v++) starts[v] = v, heavy[v] = graph.weight_of(v);
  std::stable_sort(starts.begin(), starts.end(), [&](u32 a, u32 b) { return heavy[a] > heavy[b]; });
  std::size_t next_start = 0;

  for (u32 placed = 0; placed < n; placed++) {
    while (!queue.empty() && (at[queue.top().vertex] != kNone || queue.top().pull != pull[queue.top().vertex]))
      queue.pop();
    u32 v;
    if (queue.empty()) {
      while (at[starts[next_start]] != kNone) next_start++;
      v = starts[next_start];
    } else {
      v = queue.top().vertex;
      queue.pop();
    }
    std::fill(cost.begin(), cost.end(), 0.0);
    for (u64 e = graph.begin(v); e < graph.end(v); e++)
      if (const u32 partner = at[graph.peer[e]]; partner != kNone) {
        const u16* const hops = sites.hops_from(partner);
        const double weight = graph.weight[e];
        for (u32 s = 0; s < sites.count; s++) cost[s] += weight * hops[s];
        worked(sites.count / 4);
      }
    u32 best = kNone;
    for (u32 s = 0; s < sites.count; s++) {
      if (room[s] == 0 || (!vertex_kind.empty() && vertex_kind[v] != site_kind[s])) continue;
      if (best == kNone || cost[s] < cost[best] ||
          (cost[s] == cost[best] && free_neighbors[sites.router[s]] < free_neighbors[sites.router[best]]))
        best = s;
    }
    worked(sites.count);
    at[v] = best;
    room[best]--;
    neighbors(best, [&](u32 router) { free_neighbors[router]--; });
    for (u64 e = graph.begin(v); e < graph.end(v); e++)
      if (const u32 u = graph.peer[e]; at[u] == kNone) {
        pull[u] += graph.weight[e];
        queue.push({pull[u], u});
      }
  }
  return at;
}

Mapping slots_at(const Sites& sites, const std::vector<u32>& site_of_vertex) {
  std::vector<u32> next(sites.first_slot.begin(), sites.first_slot.end() - 1);
  Mapping mapping;
  for (const u32 s : site_of_vertex) mapping.push_back(next[s]++);
  return mapping;
}

static Mapping greedy(const MappingProblem& p) {
  std::vector<u32> room;
  for (u32 s = 0; s < p.sites.count; s++) room.push_back(p.sites.room(s));
  return slots_at(p.sites, place_greedily(p.application, p.sites, std::move(room)));
}

const Register<MapperSpec> registration{
    {"greedy", "the rank with the heaviest connection to the placed ranks goes where it adds the fewest bytes x hops",
     greedy}};

}  // namespace flitgym::mapping
