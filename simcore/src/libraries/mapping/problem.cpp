#include "simcore/mapping/problem.hpp"

#include "simcore/graph.hpp"
#include "simcore/grouped.hpp"
#include "simcore/kind.hpp"

namespace flitgym {

FLITGYM_KIND(mapping::MapperSpec, "mapper", s.map)

}  // namespace flitgym

namespace flitgym::mapping {

// The graph of routers, weighted by the number of cables. Every cable is visited from both ends and added once.
static WeightedGraph fabric_of(const Network& net) {
  std::vector<WeightedEdge> edges;
  for (u32 r = 0; r < net.routers; r++)
    each_link(net, *net.graphs[0], r, [&](u32 k) {
      worked(4);
      if (const u32 next = net.next_router(net.port(r, k)); r < next) edges.push_back({r, next, 1.0});
    });
  return undirected(net.routers, std::move(edges));
}

bool knows_hops(const Network& net) { return !net.graphs[0]->hops.empty() || (net.topology->closed && !net.damaged); }

std::vector<u32> hops_towards(const Network& net, u32 to) {
  const Graph& g = *net.graphs[0];
  worked(8 * net.routers);
  if (!knows_hops(net)) return hops_from(net, g, to);
  std::vector<u32> hops(net.routers);
  for (u32 r = 0; r < net.routers; r++) hops[r] = distance(net, g, r, to);
  return hops;
}

MappingLibrary& mapping_library() {
  static MappingLibrary library;
  return library;
}

Sites sites_of(const Network& net, const std::vector<u32>& terminals) {
  Sites sites;
  std::vector<u32>& site = sites.site_at;
  site.assign(net.routers, kNone);
  for (const u32 t : terminals)
    if (u32& s = site[net.terminal_router[t]]; s == kNone) {
      s = sites.count++;
      sites.router.push_back(net.terminal_router[t]);
    }
  sites.in_order.resize(terminals.size());
  for (const u32 k : grouped(sites.count, terminals.size(), sites.first_slot,
                             [&](std::size_t k) { return site[net.terminal_router[terminals[k]]]; })) {
    sites.in_order[k] = static_cast<u32>(sites.terminal.size());
    sites.terminal.push_back(terminals[k]);
    sites.site_of.push_back(site[net.terminal_router[terminals[k]]]);
  }

  sites.fabric = fabric_of(net);
  claim_memory(u64{sites.count} * sites.count * sizeof(u16), "workload.mapping", "the hops between any two of ",
               sites.count, " routers with terminals");
  sites.hops.resize(std::size_t{sites.count} * sites.count);
  for (u32 a = 0; a < sites.count; a++) {
    const std::vector<u32> towards = hops_towards(net, sites.router[a]);
    for (u32 b = 0; b < sites.count; b++) {
      const u32 hops = towards[sites.router[b]];
      if (hops > std::numeric_limits<u16>::max())
        throw ConfigError(
            "workload.placement: mapped needs a path between any two terminals; there is none from router ",
            net.router_name(sites.router[a]), " to router ", net.router_name(sites.router[b]));
      sites.hops[std::size_t{a} * sites.count + b] = static_cast<u16>(hops);
    }
    worked(8 * sites.count);
  }
  return sites;
}

double hop_bytes(const MappingProblem& problem, const Mapping& mapping) {
  const WeightedGraph& g = problem.application;
  double sum = 0;
  for (u32 r = 0; r < g.vertices(); r++) {
    const u16* const hops = problem.sites.hops_from(problem.sites.site_of[mapping[r]]);
    for (u64 e = g.begin(r); e < g.end(r); e++) sum += g.weight[e] * hops[problem.sites.site_of[mapping[g.peer[e]]]];
    worked(2 + g.end(r) - g.begin(r));
  }
  return sum / 2;
}

}  // namespace flitgym::mapping
