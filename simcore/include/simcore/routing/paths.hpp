// Shared by the routings that run on any graph: the minimal ports, the choice among them, and the VC class of a hop.
#pragma once

#include "simcore/graph.hpp"
#include "simcore/routing/declared.hpp"
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
inline Pick pick_of(const Params& params, const std::string& key = "ports") {
  const std::string& name = params.text(key);
  return name == "packet" ? Pick::kPacket : name == "flow" ? Pick::kFlow : Pick::kQueue;
}

// The ports of all minimal paths to another router `to`. Returns their number.
inline u32 minimal_ports(const Network& net, const Graph& g, u32 router, u32 to, u16 (&ports)[kMaxRadix]) {
  u32 n = 0;
  each_minimal(net, g, router, to, [&](u32 k) { ports[n++] = static_cast<u16>(k); });
  return n;
}

// The index of one of several candidates of one VC class.
inline u32 pick_one(Pick pick, const Head& at, const Congestion& congestion, const Offered<>& offered) {
  const Packet& p = at.packet;
  const u32 n = offered.count;
  if (n == 1) return 0;
  if (pick == Pick::kFlow) return below(mix64(mix64(u64{p.source} << 32 | p.destination) + at.router), n);
  const u32 turn = turn_of(p, at.router, n);
  return pick == Pick::kPacket ? turn : congestion.least(at.router, offered, n, turn, offered.hop[0].vc_class);
}

// The selection of a routing with the parameters `ports` (or another key) and `allocation`.
struct PickedPorts {
  struct Rule : ComponentData {
    Pick pick = Pick::kPacket;
    CongestionMeasure measure;
  };
  static void read(const Params& params, const Network& net, Rule& rule, const std::string& key = "ports") {
    rule.pick = pick_of(params, key);
    rule.measure = measure_of(params, net);
    rule.measure.sequential &= rule.pick == Pick::kQueue;
  }
  static u32 select(const Head& at, const Rule& rule, const Congestion& congestion, const Offered<>& offered) {
    return pick_one(rule.pick, at, congestion, offered);
  }
};

// Calls visit(port, nearer) for each port of a path with at most `deroutes` hops more than the minimal path from the
// packet's source. Neighbours get a hop more: in a Slim Fly of q=5, they have no other path of three hops, so all their
// packets would share one link. Ports that lead nearer come first. A packet returns to the previous router only if it
// has no other port. It moves to a router that is not nearer only if it can continue from there without returning. A
// packet that moves back and forth would gain two VC classes, in which fewer packets wait. If all packets do the same,
// the load of the link is as before.
//
// After a link failure a packet may need more hops than its budget. Then only the ports that lead nearer are visited.
template <class Visit>
inline void each_detour(const Head& at, u32 deroutes, Visit&& visit) {
  const Network& net = at.net;
  const Packet& p = at.packet;
  const Graph& g = graph_now(net, at.s);
  const u32 router = at.router, to = at.to, here = distance(net, g, router, to),
            minimal = distance(net, g, net.terminal_router[p.source], to),
            more = deroutes + (deroutes > 0 && minimal == 1),
            budget = std::min(minimal + more, net.routing_facts.max_hops);
  const u32 back = at.from_link() ? net.router_of_port(net.channels[net.port(router, at.in_port)].peer) : kNone;
  const auto next_of = [&](u32 from, u32 k) { return net.next_router(net.port(from, k)); };
  bool any = false;
  each_minimal(net, g, router, to, [&](u32 k) {
    if (next_of(router, k) != back) visit(k, true), any = true;
  });
  if (any && p.hops + here >= budget) return;
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
      visit(k, false), any = true;
  });
  if (!any) each_minimal(net, g, router, to, [&](u32 k) { visit(k, true); });
}

// [terminals] index of each terminal among those of its router.
inline std::vector<u32> places_at_routers(const Network& net) {
  std::vector<u32> place, count(net.routers);
  for (const u32 router : net.terminal_router) place.push_back(count[router]++);
  return place;
}

// VC class = hops done. If failures have lengthened the path of a packet, the packet stays in the last class.
inline u32 hop_class(const Network& net, const Packet& p) {
  return std::min<u32>(p.hops, net.routing_facts.classes - 1);
}

// Ejection keeps the VC class of the last hop.
inline u32 ejection_class(const Network& net, const Packet& p) {
  return std::min<u32>(p.hops > 0 ? p.hops - 1 : 0, net.routing_facts.classes - 1);
}

// Requirements of paths with at most `more` hops beyond a minimal path, and a VC class per hop.
inline RoutingFacts class_per_hop(Network& net, u32 more = 0) {
  need_distances(net);
  const u32 hops = hops_in_all(net, more);
  return {.classes = hops, .max_hops = hops, .minimal = more == 0};
}

// Requirements of a routing that takes any minimal path. Minimal paths of an undamaged fat tree go up and then down, so
// they need one VC class (fat_tree/up_down.cpp). Elsewhere the VC class is the number of hops done.
inline RoutingFacts facts_of_minimal_paths(Network& net) {
  RoutingFacts facts = class_per_hop(net);
  if (dynamic_cast<const FatTree*>(net.topology.get()) && !net.damaged) facts.classes = 1;
  return facts;
}

// Offers the ports of all minimal paths to another router `to`.
template <class Out>
inline void offer_minimal(const Head& at, u32 to, Out&& out) {
  const u32 vc_class = hop_class(at.net, at.packet);
  each_minimal(at.net, graph_now(at.net, at.s), at.router, to, [&](u32 k) { out(k, vc_class); });
}
struct MinimalPorts {
  template <class Rule, class Out>
  static void offer(const Head& at, const Rule&, Out&& out) {
    offer_minimal(at, at.to, out);
  }
};
// A routing of minimal paths. The relation `minimal` offers the same candidates to agents.
template <class R>
RoutingSpec minimal_paths(RoutingSpec spec) {
  spec.agent_can_choose = false;
  spec.graph = true;
  return declared<R>(std::move(spec));
}

}  // namespace flitgym::routing::graph
