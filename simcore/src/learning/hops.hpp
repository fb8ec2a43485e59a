// A table of hop distances between routers, for topologies that otherwise compute distances in closed form.
// Observations read a distance for every slot.
#pragma once

#include "simcore/learning.hpp"
#include "simcore/limits.hpp"
#include "topology/graph.hpp"

namespace flitgym::learning {

struct Hops : ComponentData {
  std::vector<u8> table;  // [to, from]; empty: the graph has its own table, or the network is too large
};

inline void fill(const Network& net, Hops& hops) {
  constexpr u32 kMostRouters = 1024;  // a larger table does not fit into the cache
  const u32 routers = net.routers;
  if (routers > kMostRouters || !net.graphs[0]->hops.empty() || net.graphs[0]->diameter > 255) return;
  hops.table.resize(std::size_t{routers} * routers);
  for (u32 to = 0; to < routers; to++) {
    worked(routers);
    for (u32 from = 0; from < routers; from++)
      hops.table[std::size_t{to} * routers + from] = static_cast<u8>(net.topology->hops_between(net, from, to));
  }
}

// Setup function for blocks of the observation that need nothing else.
inline std::shared_ptr<const ComponentData> setup_hops(Network& net) {
  auto hops = std::make_shared<Hops>();
  fill(net, *hops);
  return hops;
}

// Distances and flight times to one router.
class Way {
 public:
  Way(const Network& net, const Graph& graph, const Asked& asked) : net_(net), graph_(graph), to_(asked.to) {
    const auto& own = static_cast<const Hops&>(*asked.own).table;
    const std::size_t column = std::size_t{asked.to} * net.routers;
    if (!graph.hops.empty()) hops_ = &graph.hops[column];
    else if (!own.empty()) hops_ = &own[column];
    if (!graph.flight_ns.empty()) flights_ = &graph.flight_ns[column];
  }
  u32 hops(u32 from) const { return hops_ ? hops_[from] : distance(net_, graph_, from, to_); }
  float flight_ns(u32 from) const { return flights_ ? flights_[from] : flight(net_, graph_, from, to_); }

 private:
  const Network& net_;
  const Graph& graph_;
  const u32 to_;
  const u8* hops_ = nullptr;
  const float* flights_ = nullptr;
};

}  // namespace flitgym::learning
