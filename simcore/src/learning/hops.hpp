// Distances, flight times and queues that observations read for every slot.
#pragma once

#include "simcore/graph.hpp"
#include "simcore/learning.hpp"

namespace flitgym::learning {

// Limit of a time relative to the mean hop of the network (Seam::hop_scale_ns). Higher values would add no information.
inline constexpr float kMostRelative = 64;
inline float bounded(float hops) { return std::min(hops, kMostRelative); }

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

// Flits ahead of a packet in the emptiest VC of its class at an output, queued or without returned credit. `vcs`: the
// output's first VC.
inline u32 ahead_in_class(const Network& net, const OutputVc* vcs, u16 vc_class) {
  const bool any = vc_class == kAnyClass;
  const u32 depth = net.router.input_depth, step = any ? 1 : net.routing_facts.classes;
  u32 least = depth + net.router.output_depth;
  for (u32 vc = any ? 0 : vc_class; vc < net.vcs; vc += step)
    least = std::min<u32>(least, vcs[vc].count + depth - vcs[vc].credits);
  return least;
}

}  // namespace flitgym::learning
