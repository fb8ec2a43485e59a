// Marks the packets that leave the minimal paths, with the same meaning for every routing.
#pragma once

#include "simcore/graph.hpp"

namespace flitgym {

// A packet is non-minimal if it leaves by a port that leads no nearer to its destination. With `reroutes` a head may
// choose again, so its last hop is checked instead of its choice. With the concrete type T, is_minimal() is not a
// virtual call.
template <class T>
inline void mark_batch(const T& topology, const Network& net, State& s, const Batch& b) {
  const Graph& graph = graph_now(net, s);
  const u32 count = b.count;
  if (net.routing_facts.reroutes) {
    for (u32 i = 0; i < count; i++) {
      Packet& p = s.packets[b.packet[i]];
      const u32 port = net.channels[net.port(b.router[i], b.in_port[i])].peer;
      if (!p.nonminimal && !net.is_nic(port))
        p.nonminimal = !topology.is_minimal(net, graph, net.router_of_port(port), net.local_port(port),
                                            net.terminal_router[p.destination]);
    }
    return;
  }
  const u32 *const ids = b.packet.data(), *const routers = b.router.data();
  const u16* const ports = b.out_port.data();
  Packet* const packets = s.packets.data();
  for (u32 i = 0; i < count; i++) {
    Packet& p = packets[ids[i]];
    if (p.nonminimal) continue;
    const u32 router = routers[i], port = ports[i], to = net.terminal_router[p.destination];
    const bool leaves =
        router == to ? port != net.terminal_port[p.destination] : !topology.is_minimal(net, graph, router, port, to);
    if (leaves) [[unlikely]]
      p.nonminimal = 1;  // an 8-bit store may alias anything, so it is made only where needed
  }
}

}  // namespace flitgym
