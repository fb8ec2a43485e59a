// The Dragonfly: numbering, ports and minimal paths.
#pragma once

#include <memory>
#include <vector>

#include "simcore/state.hpp"
#include "topology/mark.hpp"

namespace flitgym {

// Kim, Dally, Scott, Abts, ISCA 2008. p terminals per router, a routers per group, h global ports per router, g groups.
// Router-local ports: 0..p-1 terminals, p..p+a-2 local (to the group's other routers in order), p+a-1.. global.
struct Dragonfly final : Topology {
  u32 p = 0, a = 0, h = 0, g = 0;
  std::vector<u16> group_of, place_of;  // [routers] group, and number within it
  u32 links = 1;                        // parallel links per pair of groups
  // [routers, g, links] router-local port of the first hop towards that group; own group: 0, unused
  Array<u8> exit_port;

  // The parallel link that a packet takes. Packets use the links in turns, so all links carry the same share.
  u32 link_of(const Packet& packet) const { return links == 1 ? 0 : (packet.source + packet.sequence) % links; }
  u32 exit(u32 router, u32 group, u32 link) const {
    return exit_port[(std::size_t{router} * g + group) * links + link];
  }
  bool is_global(u32 port) const { return port >= p + a - 1; }
  // Router-local port of the link from router to its neighbour `to` in the same group.
  u32 local_port(u32 router, u32 to) const { return p + place_of[to] - (to > router); }
  u32 group(u32 router) const { return group_of[router]; }

  // First hop towards router `to` if group_to is its group, or else towards the group. Which of the cases applies
  // cannot be predicted, so all are computed, and one is selected.
  u32 hop(u32 router, u32 to, u32 group_to, u32 link) const {
    return select(group(router) == group_to, local_port(router, to), exit(router, group_to, link));
  }
  // First hop of the minimal path to another router.
  u32 towards(u32 router, u32 to, u32 link) const { return hop(router, to, group(to), link); }
  // First hop of a packet's minimal path (at the last router, the terminal's port).
  u32 own_minimal_port(const Network& net, u32 router, const Packet& packet) const {
    const u32 to = net.terminal_router[packet.destination];
    return select(to == router, net.terminal_port[packet.destination], towards(router, to, link_of(packet)));
  }
  u32 minimal_port(const Network& net, const Graph& graph, u32 router, const Packet& packet) const override {
    return net.damaged ? Topology::minimal_port(net, graph, router, packet) : own_minimal_port(net, router, packet);
  }
  // Every parallel link lies on a minimal path, whatever the number of hops on either side of it.
  bool is_minimal(const Network& net, const Graph& graph, u32 router, u32 port, u32 to) const override {
    if (!net.damaged)
      for (u32 link = 0; link < links; link++)
        if (towards(router, to, link) == port) [[likely]]
          return true;
    return Topology::is_minimal(net, graph, router, port, to);
  }
  // Nearly all packets take their own minimal port.
  void mark_nonminimal(const Network& net, State& s, const Batch& b) const override {
    if (net.damaged || net.routing_facts.reroutes) return mark_batch(*this, net, s, b);
    const u32 count = b.count;
    const u32 *const ids = b.packet.data(), *const routers = b.router.data();
    const u16* const ports = b.out_port.data();
    Packet* const packets = s.packets.data();
    for (u32 i = 0; i < count; i++) {
      Packet& packet = packets[ids[i]];
      if (!packet.nonminimal && ports[i] != own_minimal_port(net, routers[i], packet)) [[unlikely]]
        mark_detour(net, packet, routers[i], ports[i]);
    }
  }
  // Called for a packet that leaves by another port than its own minimal port, on a network without failures.
  void mark_detour(const Network& net, Packet& packet, u32 router, u32 port) const {
    if (packet.nonminimal || port >= net.radix || net.channels[net.port(router, port)].peer == kNone) return;
    const u32 to = net.terminal_router[packet.destination];
    // With one link between two groups, no other local hop leads nearer. In the destination's group no other hop at all
    // leads nearer.
    if (router == to || (links == 1 && (group(router) == group(to) || !is_global(port))) ||
        !is_minimal(net, *net.graphs[0], router, port, to))
      packet.nonminimal = 1;
  }
  u32 regions(const Network&) const override { return g; }
  u32 region(u32 router) const override { return group(router); }
  // Initial values as in the Q-adaptive authors' Q-routing (dragonfly.cc 1851-1878).
  float first_estimate_ns(const Network& net, u32 router, u32 port, u32 to) const override {
    const auto global = static_cast<float>(net.link_latency_ns[2]), local = static_cast<float>(net.link_latency_ns[1]);
    if (group(to) != group(router)) return global + 2 * local;
    return is_global(port) ? 2 * global : 2 * local;
  }
  // Router-to-router hops of the minimal path.
  u32 minimal_hops(const Network& net, u32 router, u32 to, u32 link) const {
    u32 hops = 0;
    for (; router != to; hops++)
      router = net.router_of_port(net.channels[net.port(router, towards(router, to, link))].peer);
    return hops;
  }
  u32 hops_between(const Network& net, u32 router, u32 to) const override { return minimal_hops(net, router, to, 0); }
};

inline const Dragonfly& as_dragonfly(const Network& net) { return static_cast<const Dragonfly&>(*net.topology); }

}  // namespace flitgym
