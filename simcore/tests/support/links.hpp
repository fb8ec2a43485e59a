// The links of a network as a graph, and breadth-first search over it, as oracles for topologies.
#pragma once

#include <set>
#include <vector>

#include "support/scenes.hpp"

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

// Latency and hops of one packet on an idle network with the SC'19 router. The host links take 5 ns each, a router 56
// ns, a link 50 ns, and each flit after the first 1 ns.
struct Arrival {
  double ns, hops;
};
inline double idle_ns(double hops, i64 flits = 1) { return 10 + 56 * (hops + 1) + 50 * hops + double(flits - 1); }
inline Arrival lone_packet(const Section& topology, const Section& routing, u32 source, u32 destination, i64 flits = 1,
                           u64 seed = 1) {
  Simulation sim(
      config(topology, merge(sc19(), {{"vcs", i64{0}}}), routing, planned({{source, destination}}, flits), seed));
  sim.begin_window();
  sim.run(1);
  if (!sim.drain(100000)) throw CoreError("the packet does not arrive");
  const auto result = statistics(sim.network(), sim.state());
  return {result.at("network_latency_mean_ns"), result.at("hops_mean")};
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
