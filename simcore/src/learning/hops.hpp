// Distances and flight times to the destination, which observations read for every slot.
#pragma once

#include "simcore/graph.hpp"
#include "simcore/learning.hpp"

namespace flitgym::learning {

// Distances and flight times to one router.
class Way {
 public:
  Way(const Network& net, const Graph& graph, const Asked& asked) : net_(net), graph_(graph), to_(asked.to) {
    const std::vector<u8>& hops = net.seam->hops_of(graph);
    const std::size_t column = std::size_t{asked.to} * net.routers;
    if (!hops.empty()) hops_ = &hops[column];
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
