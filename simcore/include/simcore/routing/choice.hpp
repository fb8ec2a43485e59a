// Random draws and the decision itself, shared by all routings.
#pragma once

#include "simcore/rng.hpp"
#include "simcore/state.hpp"

namespace flitgym::routing {

// Draw k of the random stream of this packet at this hop.
inline u64 route_draw(const Network& net, const Packet& p, u32 k) {
  return draw(net.seed, u64{p.source} << 32 | p.sequence, kDrawRoute + 16u * p.hops + k);
}

// The same for the choice among candidates. Relations draw the candidates from the stream above, and the choice must
// not depend on the numbers that made them.
inline u64 select_draw(const Network& net, const Packet& p, u32 k) {
  return mix64(route_draw(net, p, k) ^ 0x9e3779b97f4a7c15ull);
}

struct Hop {
  u32 port;  // router-local
  u32 vc_class;
};

// A packet that asks for an output at a router.
struct Head {
  const Network& net;
  State& s;
  Packet& packet;
  u32 id, router, to;  // number of the packet; this router, and the router of the destination
  u32 in_port, in_vc;  // router-local
  Cycle now;
  bool arrived() const { return router == to; }
  bool from_link() const { return net.is_link(net.port(router, in_port)); }
};
inline __attribute__((always_inline)) Head head(const Network& net, State& s, const Batch& b, u32 i) {
  Packet& p = s.packets[b.packet[i]];
  return {net, s, p, b.packet[i], b.router[i], net.terminal_router[p.destination], b.in_port[i], b.in_vc[i], b.now};
}
// The same outside a batch, without its input.
inline Head head_of(const Network& net, State& s, u32 packet, u32 router) {
  Packet& p = s.packets[packet];
  return {net, s, p, packet, router, net.terminal_router[p.destination], 0, 0, 0};
}

// A terminal accepts flits on every VC.
inline Hop ejection(const Network& net, const Packet& p) { return {net.terminal_port[p.destination], kAnyClass}; }

inline void choose(Batch& b, u32 i, const Hop& hop) {
  b.out_port[i] = static_cast<u16>(hop.port);
  b.out_class[i] = static_cast<u16>(hop.vc_class);
}

// Routes every request of the batch: to the terminal at the packet's last router, and elsewhere by hop_of(head).
template <class HopOf>
inline void route_heads(const Network& net, State& s, Batch& b, HopOf&& hop_of) {
  for (u32 i = 0; i < b.count; i++) {
    const Head at = head(net, s, b, i);
    choose(b, i, at.arrived() ? ejection(net, at.packet) : hop_of(at));
  }
}

// Declares the intermediate router (or group) of each packet. The value is valid while the packet's phase is that of a
// two-legged path.
inline Kept<u32> declare_intermediate(Network& net, bool by_group = false) {
  return declare<u32>(net, {.name = "intermediate",
                            .meaning = by_group ? "group of a two-legged path" : "router of a two-legged path",
                            .per = Per::kPacket,
                            .highest = (by_group ? net.groups : net.routers) - 1.0});
}

}  // namespace flitgym::routing
