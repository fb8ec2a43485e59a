// Estimated delay of each candidate with global knowledge: the time to the destination if every queue kept its present
// length. A router cannot know it, but a reward may use it, because only the trainer sees rewards. It is available at
// once, while the true delay is known only after thousands of other decisions.
#include "simcore/graph.hpp"
#include "simcore/learning.hpp"
#include "simcore/registry.hpp"

namespace flitgym {

// Queueing ahead of a packet that takes a channel: flits queued for the channel and flits in the buffers at its far
// end.
static double queueing_ns(const Network& net, const State& s, u32 port) {
  const Channel& channel = net.channels[port];
  u32 flits = s.ports[port].queued;
  if (!net.is_nic(channel.peer))
    for (u32 vc = 0; vc < net.vcs; vc++) flits += s.input_vcs[net.vc_id(channel.peer, vc)].count;
  return flits * channel.flit_cycles * net.cycle_ns;
}

// Router-local port of the fastest minimal path to another router.
static u32 towards(const Network& net, const Graph& graph, u32 router, u32 to) {
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
static double learned_ns(const Network& net, const State& s, u32 block, const Packet& p, u32 router, u32 to) {
  const Graph& graph = graph_now(net, s);
  const ComponentData* const own = net.seam->block_data[block].get();
  float least = std::numeric_limits<float>::max();
  each_minimal(net, graph, router, to, [&](u32 k) {
    least = std::min(least, net.seam->blocks[block]->lost(net, s, own, p, p.hops + 1u, router, k));
  });
  return least;
}

// The time that the packet loses on the way if every queue keeps its present length.
static double queued_ns(const Network& net, const State& s, const Packet& p, u32 router, u32 to) {
  const Graph& graph = graph_now(net, s);
  double lost = 0;
  while (router != to) {
    const u32 port = net.port(router, net.topology->minimal_port(net, graph, router, p));
    lost += queueing_ns(net, s, port);
    router = net.seam->next_router[port];
  }
  return lost;
}

u32 tolled_block(const Network& net) {
  if (net.waypoint) throw ConfigError("decisions: the tolled delay needs decisions=router");
  const auto& blocks = net.seam->blocks;
  const auto found = std::find_if(blocks.begin(), blocks.end(), [](const auto* block) { return block->lost; });
  if (found != blocks.end()) return static_cast<u32>(found - blocks.begin());
  std::string names;
  for (const auto& [name, spec] : registry<ObservationSpec>())
    if (spec.lost) names += (names.empty() ? "" : ", ") + name;
  throw ConfigError("observation: the tolled delay needs a block that learns the time lost to queueing: ", names);
}

float tolled_delay(const Network& net, const State& s, const Batch& b, u32 decision, u32 slot) {
  const Seam& seam = *net.seam;
  const u32 i = b.decisions.request[decision];
  const Packet& p = s.packets[b.packet[i]];
  const u32 to = net.terminal_router[p.destination];
  const u32 port = net.port(b.router[i], b.decisions.ports[std::size_t{decision} * seam.slots + slot]);
  const u32 next = seam.next_router[port];
  double lost = queueing_ns(net, s, port), way = seam.hop_ns[port];
  if (next != kNone && next != to) {
    lost += (learned_ns(net, s, tolled_block(net), p, next, to) + queued_ns(net, s, p, next, to)) / 2;
    way += flight(net, graph_now(net, s), next, to);
  }
  return static_cast<float>((way + (1 + seam.toll) * lost) / seam.hop_scale_ns);
}

float path_delay(const Network& net, const State& s, const Batch& b, u32 decision, u32 slot) {
  const Seam& seam = *net.seam;
  const Graph& graph = graph_now(net, s);
  const u32 i = b.decisions.request[decision];
  const Packet& p = s.packets[b.packet[i]];
  const u32 to = net.terminal_router[p.destination];
  const u32 first = b.decisions.ports[std::size_t{decision} * seam.slots + slot];
  u32 port = net.port(b.router[i], first);
  u32 middle = waypoint(net, s, b.packet[i], b.router[i], first);
  double ns = 0;
  for (;;) {
    ns += seam.hop_ns[port] + queueing_ns(net, s, port);
    const u32 router = seam.next_router[port];
    if (router == middle) middle = kNone;
    if (router == kNone || (router == to && middle == kNone)) break;
    port = net.port(router, middle == kNone ? net.topology->minimal_port(net, graph, router, p)
                                            : towards(net, graph, router, middle));
  }
  return static_cast<float>(ns * 1e-3);
}

}  // namespace flitgym
