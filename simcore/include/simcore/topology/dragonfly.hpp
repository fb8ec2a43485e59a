// The Dragonfly: numbering, ports and minimal paths.
#pragma once

#include "simcore/topology/mark.hpp"

namespace flitgym {

// Kim, Dally, Scott, Abts, ISCA 2008. p terminals per router, a routers per group, h global ports per router, g groups.
// Router-local ports: 0..p-1 terminals, p..p+a-2 local (to the group's other routers in order), p+a-1.. global.
struct Dragonfly final : Topology {
  u32 p = 0, a = 0, h = 0, g = 0;
  std::vector<u16> group_of, place_of;  // [routers] group, and number within it
  u32 links = 1;                        // parallel links per pair of groups
  bool by_destination = false;          // of parallel links, only those with the fewest hops are on minimal paths
  // [routers, g, links] router-local ports of the first hops towards that group: the router's own links to it, or else
  // the local ports to the routers with the links, a port once for each link. Own group: 0, unused.
  Array<u8> exit_port;
  Array<u16> exits;  // [routers, g] the number of these ports; empty if links is 1

  // Selects among the ports of the minimal paths of a packet.
  u32 turn(const Network& net, u32 router, const Packet& packet) const {
    return links == 1 ? 0 : parallel_turn(net, router, packet);
  }
  const u8* exits_to(u32 router, u32 group) const { return &exit_port[(std::size_t{router} * g + group) * links]; }
  u32 exit_count(u32 router, u32 group) const { return links == 1 ? 1 : exits[std::size_t{router} * g + group]; }
  u32 exit(u32 router, u32 group, u32 turn) const {
    return exits_to(router, group)[links == 1 ? 0 : turn % exit_count(router, group)];
  }
  bool has_link(u32 router, u32 group) const { return is_global(exits_to(router, group)[0]); }
  bool is_global(u32 port) const { return port >= p + a - 1; }
  // Router-local port of the link from router to its neighbour `to` in the same group.
  u32 local_port(u32 router, u32 to) const { return p + place_of[to] - (to > router); }
  u32 group(u32 router) const { return group_of[router]; }

  // First hop towards router `to` if group_to is its group, or else towards the group. Which of the cases applies
  // cannot be predicted, so all are computed, and one is selected.
  u32 hop(const Network& net, u32 router, u32 to, u32 group_to, u32 turn) const {
    if (links > 1) [[unlikely]]
      return parallel_hop(net, router, to, group_to, turn);
    return select(group(router) == group_to, local_port(router, to), u32{*exits_to(router, group_to)});
  }
  // First hop of a minimal path to another router.
  u32 towards(const Network& net, u32 router, u32 to, u32 turn) const { return hop(net, router, to, group(to), turn); }
  // First hop of a packet's minimal path (at the last router, the terminal's port).
  u32 own_minimal_port(const Network& net, u32 router, const Packet& packet) const {
    const u32 to = net.terminal_router[packet.destination];
    return select(to == router, net.terminal_port[packet.destination],
                  towards(net, router, to, turn(net, router, packet)));
  }
  u32 minimal_port(const Network& net, const Graph& graph, u32 router, const Packet& packet) const override {
    return net.damaged ? Topology::minimal_port(net, graph, router, packet) : own_minimal_port(net, router, packet);
  }
  // A port is minimal if it leads nearer. Otherwise it is minimal if packets take it to the link of their turn.
  bool is_minimal(const Network& net, const Graph& graph, u32 router, u32 port, u32 to) const override {
    for (u32 k = 0; !net.damaged && !by_destination && k < exit_count(router, group(to)); k++)
      if (towards(net, router, to, k) == port) [[likely]]
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
  // Router-to-router hops of a minimal path. turn_at(router) selects among the ports of a router.
  template <class Turn>
  u32 minimal_hops(const Network& net, u32 router, u32 to, Turn&& turn_at) const {
    u32 hops = 0;
    for (; router != to; hops++) router = net.next_router(net.port(router, towards(net, router, to, turn_at(router))));
    return hops;
  }
  u32 hops_between(const Network& net, u32 router, u32 to) const override {
    return minimal_hops(net, router, to, [](u32) { return 0u; });
  }

  // The same with parallel links. They are not inlined, because that would slow down networks without parallel links.
  u32 parallel_turn(const Network& net, u32 router, const Packet& packet) const;
  u32 parallel_hop(const Network& net, u32 router, u32 to, u32 group_to, u32 turn) const;
};

inline const Dragonfly& as_dragonfly(const Network& net) { return static_cast<const Dragonfly&>(*net.topology); }

}  // namespace flitgym
