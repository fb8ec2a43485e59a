// Estimated delay of each candidate with global knowledge: the time to the destination if every queue kept its present
// length. A router cannot know it, but a reward may use it, because only the trainer sees rewards. It is available at
// once, while the true delay is known only after thousands of other decisions.
#include <algorithm>
#include <limits>
#include <string>

#include "simcore/error.hpp"
#include "simcore/learning.hpp"
#include "simcore/registry.hpp"
#include "topology/graph.hpp"

namespace flitgym {

namespace {

// Queueing ahead of a packet that takes a channel: flits queued for the channel and flits in the buffers at its far
// end.
double queueing_ns(const Network& net, const State& s, u32 port) {
  const Channel& channel = net.channels[port];
  u32 flits = s.ports[port].queued;
  if (!net.is_nic(channel.peer))
    for (u32 vc = 0; vc < net.vcs; vc++) flits += s.input_vcs[net.vc_id(channel.peer, vc)].count;
  return flits * channel.flit_cycles * net.cycle_ns;
}

// Router-local port of the fastest minimal path to another router.
u32 towards(const Network& net, const Graph& graph, u32 router, u32 to) {
  u32 fastest = net.first_link[router];
  float least = std::numeric_limits<float>::max();
  each_minimal(net, graph, router, to, [&](u32 k) {
    const u32 port = net.port(router, k);
    const float ns = net.seam->hop_ns[port] + flight(net, graph, net.next_router(port), to);
    if (ns < least) least = ns, fastest = k;
  });
  return fastest;
}

// The least time that a packet loses on a minimal path from its next router, as learned there.
double learned_ns(const Network& net, const State& s, u32 block, const Packet& p, u32 router, u32 to) {
  const Graph& graph = graph_now(net, s);
  const ComponentData* const own = net.seam->block_data[block].get();
  float least = std::numeric_limits<float>::max();
  each_minimal(net, graph, router, to, [&](u32 k) {
    least = std::min(least, net.seam->blocks[block]->lost(net, s, own, p, p.hops + 1u, router, k));
  });
  return least;
}

// The time that the packet loses on the way if every queue keeps its present length.
double queued_ns(const Network& net, const State& s, const Packet& p, u32 router, u32 to) {
  const Graph& graph = graph_now(net, s);
  double lost = 0;
  while (router != to) {
    const u32 port = net.port(router, net.topology->minimal_port(net, graph, router, p));
    lost += queueing_ns(net, s, port);
    router = net.seam->next_router[port];
  }
  return lost;
}

}  // namespace

u32 tolled_block(const Network& net) {
  if (net.waypoint) throw ConfigError("decisions: the tolled delay needs decisions=router");
  const auto& blocks = net.seam->blocks;
  const auto found = std::find_if(blocks.begin(), blocks.end(), [](const auto* block) { return block->lost; });
  if (found != blocks.end()) return static_cast<u32>(found - blocks.begin());
  std::string names;
  for (const auto& [name, spec] : registry<ObservationSpec>())
    if (spec.lost) names += (names.empty() ? "" : ", ") + name;
  throw ConfigError("observation: the tolled delay needs a block that learns the time lost to queueing: " + names);
}

void tolled_delays(const Network& net, const State& s, const Batch& b, float* hops) {
  const Seam& seam = *net.seam;
  const Graph& graph = graph_now(net, s);
  const Decisions& d = b.decisions;
  const u32 block = tolled_block(net);
  for (u32 j = 0; j < d.count; j++) {
    const u32 i = d.request[j];
    const Packet& p = s.packets[b.packet[i]];
    const u32 to = net.terminal_router[p.destination];
    for (u32 k = 0; k < seam.slots; k++) {
      float& out = hops[std::size_t{j} * seam.slots + k];
      out = 0;
      if (k >= d.slot_count[j]) continue;
      const u32 port = net.port(b.router[i], d.ports[std::size_t{j} * seam.slots + k]), next = seam.next_router[port];
      double lost = queueing_ns(net, s, port), way = seam.hop_ns[port];
      if (next != kNone && next != to) {
        lost += (learned_ns(net, s, block, p, next, to) + queued_ns(net, s, p, next, to)) / 2;
        way += flight(net, graph, next, to);
      }
      out = static_cast<float>((way + (1 + seam.toll) * lost) / seam.hop_scale_ns);
    }
  }
}

void path_delays(const Network& net, const State& s, const Batch& b, float* us) {
  const Seam& seam = *net.seam;
  const Graph& graph = graph_now(net, s);
  const Decisions& d = b.decisions;
  for (u32 j = 0; j < d.count; j++) {
    const u32 i = d.request[j], to = net.terminal_router[s.packets[b.packet[i]].destination];
    const Packet& p = s.packets[b.packet[i]];
    for (u32 k = 0; k < seam.slots; k++) {
      float& out = us[std::size_t{j} * seam.slots + k];
      out = 0;
      if (k >= d.slot_count[j]) continue;
      double ns = 0;
      const u32 first = d.ports[std::size_t{j} * seam.slots + k];
      u32 port = net.port(b.router[i], first);
      u32 middle = net.waypoint ? net.waypoint(net, s, b.packet[i], b.router[i], first) : kNone;
      for (;;) {
        ns += seam.hop_ns[port] + queueing_ns(net, s, port);
        const u32 router = seam.next_router[port];
        if (router == middle) middle = kNone;
        if (router == kNone || (router == to && middle == kNone)) break;
        port = net.port(router, middle == kNone ? net.topology->minimal_port(net, graph, router, p)
                                                : towards(net, graph, router, middle));
      }
      out = static_cast<float>(ns * 1e-3);
    }
  }
}

}  // namespace flitgym
