// What the routings that run on any graph share: minimal ports and how one is picked of them, and the VC class of a
// hop.
#pragma once

#include "routing/choice.hpp"
#include "routing/congestion.hpp"
#include "routing/relation.hpp"
#include "topology/graph.hpp"

namespace flitgym::routing::graph {

// Of several minimal ports.
enum class Pick : u8 {
  kPacket,  // the packets of a source take turns
  kFlow,    // one for each pair of source and destination
  kQueue,   // the least congested; of equals in turns
};

inline ParamSpec pick_param(std::string fallback) {
  return choice("ports", std::move(fallback), {"packet", "flow", "queue"},
                "of several minimal ports: in turns by packet, one per source and destination, or the least congested");
}
inline Pick pick_of(const Params& params) {
  const std::string& name = params.text("ports");
  return name == "packet" ? Pick::kPacket : name == "flow" ? Pick::kFlow : Pick::kQueue;
}

// Router-local port of the next hop of a minimal path to router `to`, which is not this one.
inline u32 pick_minimal(const Network& net, const State& s, const Graph& g, Pick pick, const CongestionMeasure& measure,
                        const Packet& p, u32 router, u32 to, u32 vc_class) {
  u16 ports[kMaxRadix];
  u32 n = 0;
  each_minimal(net, g, router, to, [&](u32 k) { ports[n++] = static_cast<u16>(k); });
  if (n == 1) return ports[0];
  // Turns at each router anew: hops of a path that all went by the same number would use few of the paths.
  const u64 name = pick == Pick::kFlow ? u64{p.source} << 32 | p.destination : u64{p.source} << 32 | p.sequence;
  const u32 turn = pick == Pick::kFlow ? below(mix64(mix64(name) + router), n) : (p.source + p.sequence + router) % n;
  if (pick != Pick::kQueue) return ports[turn];
  u32 best = ports[turn], least = measure.of(net, s, net.port(router, best), vc_class);
  for (u32 k = 1; k < n && least > 0; k++) {
    const u32 port = ports[(turn + k) % n], flits = measure.of(net, s, net.port(router, port), vc_class);
    if (flits < least) least = flits, best = port;
  }
  return best;
}

// visit(port, nearer) for each port of a way that has at most `deroutes` hops more than the minimal one from the
// packet's source, ports that lead nearer first. A packet goes straight back only where nothing else leads nearer, and
// aside only to where it need not come straight back: to and fro would take two hops and end where it began, but two VC
// classes higher, among fewer packets than those that wait for the same link. Whoever decides for a packet alone finds
// that it pays; then all do, and the link is as full as before. A link that fails may leave a packet with more hops to
// go than it had: then those that lead nearer are all it has.
template <class Visit>
inline void each_detour(const Network& net, const Graph& g, const Packet& p, u32 router, u32 to, u32 in_port,
                        u32 deroutes, Visit&& visit) {
  const u32 here = distance(net, g, router, to),
            budget = distance(net, g, net.terminal_router[p.source], to) + deroutes;
  const bool arrived = net.is_link(net.port(router, in_port));
  const u32 back = arrived ? net.router_of_port(net.channels[net.port(router, in_port)].peer) : kNone;
  const auto next_of = [&](u32 at, u32 k) { return net.next_router(net.port(at, k)); };
  bool onward = false;
  each_minimal(net, g, router, to, [&](u32 k) {
    if (next_of(router, k) != back) visit(k, true), onward = true;
  });
  if (!onward) each_minimal(net, g, router, to, [&](u32 k) { visit(k, true); });
  if (p.hops + here > budget) return;
  const auto goes_on = [&](u32 next) {
    bool found = false;
    each_link(net, g, next, [&](u32 k) {
      const u32 after = next_of(next, k);
      found |= after != router && p.hops + 2u + distance(net, g, after, to) <= budget;
    });
    return found;
  };
  each_link(net, g, router, [&](u32 k) {
    const u32 next = next_of(router, k), left = distance(net, g, next, to);
    if (left >= here && p.hops + 1u + left <= budget && next != back && (left == here || goes_on(next)))
      visit(k, false);
  });
}

// The VC class of a hop that counts hops; a packet whose way was lengthened by many failures one after the other keeps
// the last.
inline u32 hop_class(const Network& net, const Packet& p) {
  return std::min<u32>(p.hops, net.routing_facts.classes - 1);
}

inline u32 ejection_class(const Network& net, const Packet& p) {
  return std::min<u32>(p.hops > 0 ? p.hops - 1 : 0, net.routing_facts.classes - 1);
}

}  // namespace flitgym::routing::graph
