// Multicore mapping (Hoefler & Snir, ICS 2011). METIS cuts the ranks into as many parts as there are routers with
// terminals to fill (in the paper, nodes with cores). Ranks beyond a router's terminals move to a part with room. The
// parts are then mapped greedily, as if they were ranks.
#include "mapping/greedy.hpp"
#include "simcore/registry.hpp"

namespace flitgym::mapping::multicore {

// Moves vertices out of parts that are too large. It moves the vertex whose move loses the least connection weight, to
// the part with room to which this vertex has the heaviest connection.
void rebalance(const WeightedGraph& g, const std::vector<u32>& sizes, std::vector<u32>& part) {
  std::vector<i64> room(sizes.begin(), sizes.end());
  for (const u32 k : part) room[k]--;
  std::vector<std::vector<u32>> members(sizes.size());
  for (u32 v = 0; v < part.size(); v++) members[part[v]].push_back(v);
  std::vector<double> towards(sizes.size(), 0.0);
  for (u32 full = 0; full < sizes.size(); full++)
    while (room[full] < 0) {
      u32 moved = kNone, to = kNone;
      double least = 0;
      u32 any = 0;
      while (room[any] <= 0) any++;
      for (const u32 v : members[full]) {
        for (u64 e = g.begin(v); e < g.end(v); e++) towards[part[g.peer[e]]] += g.weight[e];
        u32 best = any;
        for (u64 e = g.begin(v); e < g.end(v); e++)
          if (const u32 k = part[g.peer[e]]; room[k] > 0 && towards[k] > towards[best]) best = k;
        const double loss = towards[full] - towards[best];
        if (moved == kNone || loss < least) moved = v, to = best, least = loss;
        for (u64 e = g.begin(v); e < g.end(v); e++) towards[part[g.peer[e]]] = 0;
        worked(4 + 3 * (g.end(v) - g.begin(v)));
      }
      worked(sizes.size());
      std::erase(members[full], moved);
      members[to].push_back(moved);
      part[moved] = to;
      room[full]++;
      room[to]--;
    }
}

Mapping multicore(const MappingProblem& p) {
  if (!mapping_library().partition)
    throw ConfigError(
        "workload.mapping: multicore needs METIS, which the core alone does not have; use greedy or recursive");
  // Parts fill whole routers, the largest first; the last part may be smaller than its router.
  std::vector<u32> by_room(p.sites.count), sizes, kinds, room(p.sites.count), site_kind(p.sites.count);
  std::iota(by_room.begin(), by_room.end(), 0u);
  std::stable_sort(by_room.begin(), by_room.end(), [&](u32 a, u32 b) { return p.sites.room(a) > p.sites.room(b); });
  u32 left = p.application.vertices();
  for (const u32 s : by_room) {
    room[s] = 1;
    site_kind[s] = p.sites.room(s);
    if (left == 0) continue;
    kinds.push_back(p.sites.room(s));
    sizes.push_back(std::min(left, p.sites.room(s)));
    left -= sizes.back();
  }
  std::vector<u32> part;
  if (kinds.size() == p.application.vertices()) {  // one rank per part
    part.resize(kinds.size());
    std::iota(part.begin(), part.end(), 0u);
  } else {
    part = mapping_library().partition(p.application, sizes, p.seed);
    rebalance(p.application, sizes, part);
  }
  const auto site_of_part =
      place_greedily(quotient(p.application, part, static_cast<u32>(sizes.size())), p.sites, room, kinds, site_kind);
  std::vector<u32> site;
  for (const u32 k : part) site.push_back(site_of_part[k]);
  return slots_at(p.sites, site);
}

const Register<MapperSpec> registration{
    {"multicore", "ranks in parts as large as the routers (METIS); the parts are placed greedily", multicore}};

}  // namespace flitgym::mapping::multicore
