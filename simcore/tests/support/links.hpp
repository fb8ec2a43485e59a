// The links of a network as a graph, and breadth-first search over it, as oracles for topologies.
#pragma once

#include <set>

#include "simcore/graph.hpp"
#include "support/scenes.hpp"
#include "test.hpp"

namespace scenes {

// The network of a topology with a routing that needs no distances.
inline std::shared_ptr<const Network> network_of(const Section& topology, const std::string& routing = "minimal") {
  return build(config(topology, input_queued(), {routing, {}}, {"uniform", {}}));
}

// [routers] the neighbours of each router; parallel links are listed separately.
inline std::vector<std::multiset<u32>> neighbors_of(const Network& net) {
  std::vector<std::multiset<u32>> all(net.routers);
  for (u32 p = 0; p < net.router_ports; p++)
    if (net.is_link(p)) all[net.router_of_port(p)].insert(net.next_router(p));
  return all;
}

// [routers] hops from a router.
inline std::vector<u32> hops_from(const std::vector<std::multiset<u32>>& next, u32 from) {
  std::vector<u32> hops(next.size(), kNone), found = {from};
  hops[from] = 0;
  for (std::size_t k = 0; k < found.size(); k++)
    for (const u32 to : next[found[k]])
      if (hops[to] == kNone) hops[to] = hops[found[k]] + 1, found.push_back(to);
  return hops;
}

inline u32 count_links(const Network& net) {
  u32 ends = 0;
  for (u32 p = 0; p < net.router_ports; p++) ends += net.is_link(p);
  return ends / 2;
}

// The closed forms of distances, minimal ports and the diameter agree with breadth-first search.
inline void check_closed_forms(const Network& net) {
  const Graph& graph = *net.graphs[0];
  CHECK(net.topology->closed && graph.hops.empty());  // no table of quadratic size
  const auto next = neighbors_of(net);
  u32 longest = 0;
  for (u32 to = 0; to < net.routers; to++) {
    const auto hops = hops_from(next, to);
    longest = std::max(longest, *std::ranges::max_element(hops));
    for (u32 from = 0; from < net.routers; from++) {
      const std::string text = net.fingerprint + ": " + std::to_string(from) + " to " + std::to_string(to);
      CHECK_FOR(net.topology->hops_between(net, from, to) == hops[from], text);
      each_link(net, graph, from, [&](u32 k) {
        const bool closer = hops[net.next_router(net.port(from, k))] < hops[from];
        CHECK_FOR(net.topology->is_minimal(net, graph, from, k, to) == closer, text + " by port " + std::to_string(k));
      });
    }
  }
  CHECK_EQ(net.topology->diameter, longest);
}

// One packet on an idle network. By default its router is SC'19's.
struct Arrival {
  double ns, hops;
  bool nonminimal;
};
inline Arrival lone_packet(const Section& topology, const Section& routing, u32 source, u32 destination, i64 flits = 1,
                           const Values& router = merge(sc19(), {{"vcs", 0}})) {
  Simulation sim(config(topology, router, routing, planned({{source, destination}}, flits)));
  sim.begin_window();
  sim.run(1);
  CHECK(sim.drain(100000));
  const auto result = statistics(sim.network(), sim.state());
  CHECK_EQ(result.at("packets_delivered"), 1);
  return {result.at("network_latency_mean_ns"), result.at("hops_mean"), result.at("nonminimal_fraction") > 0};
}

// Flits that a terminal receives per flit time, after a warm-up.
inline double accepted(const Section& topology, const Section& routing, const Section& traffic, u32 cycles = 700) {
  Simulation sim(config(topology, input_queued(), routing, traffic));
  sim.run(cycles);
  sim.begin_window();
  sim.run(cycles);
  return statistics(sim.network(), sim.state()).at("accepted_load");
}

// Accepted load on output-queued routers, which have no head-of-line blocking. A flit takes 20 cycles on a link.
inline double accepted_output_queued(const Section& topology, const Section& routing, const Section& traffic) {
  constexpr u32 kFlitCycles = 20;
  Simulation sim(config(topology, hpdc21(), routing, traffic));
  sim.run(1000 * kFlitCycles);
  sim.begin_window();
  sim.run(2000 * kFlitCycles);
  return sim.state().part.window.flits / 2000.0 / sim.network().terminals;
}

}  // namespace scenes
