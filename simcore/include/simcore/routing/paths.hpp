// Shared by the routings that run on any graph: the minimal ports, the choice among them, and the VC class of a hop.
#pragma once

#include "simcore/graph.hpp"
#include "simcore/routing/choice.hpp"
#include "simcore/routing/congestion.hpp"
#include "simcore/routing/relation.hpp"
#include "simcore/topology/fat_tree.hpp"

namespace flitgym::routing::graph {

// How one of several minimal ports is picked.
enum class Pick : u8 {
  kPacket,  // the packets of a source take turns
  kFlow,    // one port for each pair of source and destination
  kQueue,   // the least congested port; equal ports in turns
};

inline ParamSpec pick_param(std::string fallback) {
  return choice("ports", std::move(fallback), {"packet", "flow", "queue"},
                "choice among several minimal ports: packet = in turns, packet by packet; flow = one port per source "
                "and destination; queue = the least congested port");
}
inline Pick pick_of(const Params& params) {
  const std::string& name = params.text("ports");
  return name == "packet" ? Pick::kPacket : name == "flow" ? Pick::kFlow : Pick::kQueue;
}

// The ports of all minimal paths to another router `to`. Returns their number.
inline u32 minimal_ports(const Network& net, const Graph& g, u32 router, u32 to, u16 (&ports)[kMaxRadix]) {
  u32 n = 0;
  each_minimal(net, g, router, to, [&](u32 k) { ports[n++] = static_cast<u16>(k); });
  return n;
}

// Picks one of n ports of a router.
inline u32 pick_port(Pick pick, const Congestion& congestion, const Packet& p, u32 router, const u16* ports, u32 n,
                     u32 vc_class) {
  if (n == 1) return ports[0];
  // The turn differs between routers. If all routers used the same turn for a packet, packets would use only few of the
  // minimal paths.
  const u64 name = pick == Pick::kFlow ? u64{p.source} << 32 | p.destination : u64{p.source} << 32 | p.sequence;
  const u32 turn = pick == Pick::kFlow ? below(mix64(mix64(name) + router), n) : (p.source + p.sequence + router) % n;
  if (pick != Pick::kQueue) return ports[turn];
  return congestion.least(router, ports, n, turn, vc_class);
}

// Router-local port of the next hop on a minimal path to another router `to`.
inline u32 pick_minimal(const Network& net, const Graph& g, Pick pick, const Congestion& congestion, const Packet& p,
                        u32 router, u32 to, u32 vc_class) {
  u16 ports[kMaxRadix];
  const u32 n = minimal_ports(net, g, router, to, ports);
  return pick_port(pick, congestion, p, router, ports, n, vc_class);
}

// Calls visit(port, nearer) for each port of a path with at most `deroutes` hops more than the minimal path from the
// packet's source. Ports that lead nearer come first. A packet returns to the previous router only if no other port
// leads nearer. It moves to a router that is not nearer only if it can continue from there without returning.
//
// The reason: a packet that moves back and forth ends where it began after two hops, but two VC classes higher. In that
// class fewer packets wait for the same link, so a single packet gains. If all packets do the same, the load of the
// link is as before.
//
// After a link failure a packet may need more hops than its budget. Then only the ports that lead nearer are visited.
template <class Visit>
inline void each_detour(const Network& net, const Graph& g, const Packet& p, u32 router, u32 to, u32 in_port,
                        u32 deroutes, Visit&& visit) {
  const u32 here = distance(net, g, router, to),
            budget = distance(net, g, net.terminal_router[p.source], to) + deroutes;
  const bool arrived = net.is_link(net.port(router, in_port));
  const u32 back = arrived ? net.router_of_port(net.channels[net.port(router, in_port)].peer) : kNone;
  const auto next_of = [&](u32 at, u32 k) { return net.next_router(net.port(at, k)); };
  bool any_nearer = false;
  each_minimal(net, g, router, to, [&](u32 k) {
    if (next_of(router, k) != back) visit(k, true), any_nearer = true;
  });
  if (!any_nearer) each_minimal(net, g, router, to, [&](u32 k) { visit(k, true); });
  if (p.hops + here > budget) return;
  const auto can_continue = [&](u32 next) {
    bool found = false;
    each_link(net, g, next, [&](u32 k) {
      const u32 after = next_of(next, k);
      found |= after != router && p.hops + 2u + distance(net, g, after, to) <= budget;
    });
    return found;
  };
  each_link(net, g, router, [&](u32 k) {
    const u32 next = next_of(router, k), left = distance(net, g, next, to);
    if (left >= here && p.hops + 1u + left <= budget && next != back && (left == here || can_continue(next)))
      visit(k, false);
  });
}

// VC class = hops done. If failures have lengthened the path of a packet, the packet stays in the last class.
inline u32 hop_class(const Network& net, const Packet& p) {
  return std::min<u32>(p.hops, net.routing_facts.classes - 1);
}

// Ejection keeps the VC class of the last hop.
inline u32 ejection_class(const Network& net, const Packet& p) {
  return std::min<u32>(p.hops > 0 ? p.hops - 1 : 0, net.routing_facts.classes - 1);
}

// Requirements of a routing that takes any minimal path. Minimal paths of an undamaged fat tree go up and then down, so
// they need one VC class (fat_tree/up_down.cpp). Elsewhere the VC class is the number of hops done.
inline RoutingFacts facts_of_minimal_paths(Network& net) {
  need_distances(net);
  const u32 hops = hops_in_all(net, 0);
  const bool tree = dynamic_cast<const FatTree*>(net.topology.get()) && !net.damaged;
  RoutingFacts facts{tree ? 1 : hops, hops};
  facts.minimal = true;
  return facts;
}

// Lists the ports of all minimal paths.
inline void list_minimal_ports(const Network& net, State& s, Batch& b) {
  const Graph& graph = graph_now(net, s);
  list_candidates(net, b, [&](u32 i, auto&& offer) {
    const Packet& p = s.packets[b.packet[i]];
    const u32 router = b.router[i], to = net.terminal_router[p.destination];
    if (router == to) offer(net.terminal_port[p.destination], kAnyClass);
    else each_minimal(net, graph, router, to, [&](u32 k) { offer(k, hop_class(net, p)); });
  });
}

// Routes every request of the batch: to the terminal at the packet's last router, and elsewhere by the port that
// pick(request, ports, count) returns.
template <class PickPort>
inline void route_minimally(const Network& net, const State& s, Batch& b, PickPort&& pick) {
  const Graph& graph = graph_now(net, s);
  u16 ports[kMaxRadix];
  for (u32 i = 0; i < b.count; i++) {
    const Packet& p = s.packets[b.packet[i]];
    const u32 router = b.router[i], to = net.terminal_router[p.destination];
    if (router == to) {
      choose(b, i, ejection(net, p));
      continue;
    }
    const u32 n = minimal_ports(net, graph, router, to, ports);
    choose(b, i, {n == 1 ? ports[0] : pick(i, ports, n), hop_class(net, p)});
  }
}

}  // namespace flitgym::routing::graph
