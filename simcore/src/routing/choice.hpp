// What routings share on the way to a decision: random draws, and the decision itself.
#pragma once

#include "simcore/rng.hpp"
#include "simcore/state.hpp"

namespace flitgym::routing {

// A stream per packet and hop.
inline u64 route_draw(const Network& net, const Packet& p, u32 k) {
  return draw(net.seed, u64{p.source} << 32 | p.sequence, kDrawRoute + 16u * p.hops + k);
}

struct Hop {
  u32 port;  // router-local
  u32 vc_class;
};

// The terminal takes whatever comes, so any VC may lead there.
inline Hop ejection(const Network& net, const Packet& p) { return {net.terminal_port[p.destination], kAnyClass}; }

inline void choose(Batch& b, u32 i, const Hop& hop) {
  b.out_port[i] = static_cast<u16>(hop.port);
  b.out_class[i] = static_cast<u16>(hop.vc_class);
}

// The router or group by way of which a packet of two legs goes, where its phase says so.
inline Kept<u32> declare_intermediate(Network& net, bool by_group = false) {
  MemoryShape shape;
  shape.name = "intermediate";
  shape.meaning = by_group ? "group of a two-legged path" : "router of a two-legged path";
  shape.per = Per::kPacket;
  shape.highest = (by_group ? net.groups : net.routers) - 1;
  return declare<u32>(net, shape);
}

inline void take_detour(Packet& p) { p.phase = kToIntermediate; }

}  // namespace flitgym::routing
