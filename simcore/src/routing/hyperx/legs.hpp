// Paths of one or two legs on a HyperX, each in dimension order: class 0 towards the intermediate router, class 1 from
// there on and on minimal paths. Within a class the channels are used in the order of their dimensions, and class 1
// never leads back to class 0.
#pragma once

#include "simcore/routing/choice.hpp"
#include "simcore/routing/relation.hpp"
#include "simcore/topology/hyperx.hpp"

namespace flitgym::routing::hyperx {

inline Hop follow_hyperx_legs(const Network& net, const HyperX& hx, Packet& p, u32 intermediate, u32 router) {
  if (p.phase == kToIntermediate) {
    if (router != intermediate) return {hx.dor_port(router, intermediate, p), 0};
    p.phase = kFromIntermediate;
  }
  const u32 to = net.terminal_router[p.destination];
  return router == to ? ejection(net, p) : Hop{hx.dor_port(router, to, p), 1};
}

// Hops of the path through router `middle`.
inline u32 detour_hops(const HyperX& hx, u32 from, u32 middle, u32 to) {
  return hx.distance(hx.difference(from, middle)) + hx.distance(hx.difference(middle, to));
}

// ---- The relation of VAL and UGAL: dimension order, or the path through one of the routers that the packet draws ----

template <bool kAlways>
void hyperx_leg_candidates(const Network& net, const State& s, Batch& b, const Kept<u32>& kept, u32 draws) {
  const HyperX& hx = as_hyperx(net);
  const u32* const intermediates = kept.of(s);
  list_candidates(net, b, [&](u32 i, auto&& offer) {
    Packet p = s.packets[b.packet[i]];
    const u32 router = b.router[i], to = net.terminal_router[p.destination];
    const bool undecided = p.phase == kUndecided && router != to;
    if (!undecided || !kAlways) {
      const Hop hop = follow_hyperx_legs(net, hx, p, intermediates[b.packet[i]], router);
      offer(hop.port, hop.vc_class);
    }
    for (u32 k = 0; undecided && k < draws; k++) {
      Packet detoured = p;
      const u32 middle = below(route_draw(net, p, k), net.routers);
      if (!kAlways && (middle == router || middle == to)) continue;
      detoured.phase = kToIntermediate;
      const Hop hop = follow_hyperx_legs(net, hx, detoured, middle, router);
      offer(hop.port, hop.vc_class);
    }
  });
}

inline void hyperx_leg_chosen(const Network& net, State& s, Batch& b, u32 i, const Kept<u32>& kept, u32 draws) {
  const HyperX& hx = as_hyperx(net);
  Packet& p = s.packets[b.packet[i]];
  u32& intermediate = kept.of(s)[b.packet[i]];
  const u32 router = b.router[i], to = net.terminal_router[p.destination];
  if (p.phase == kUndecided && router != to) {
    p.phase = kMinimal;
    for (u32 k = 0; k < draws; k++) {
      const u32 middle = below(route_draw(net, p, k), net.routers);
      if (b.out_class[i] != 0 || middle == router || hx.dor_port(router, middle, p) != b.out_port[i]) continue;
      intermediate = middle;
      p.phase = kToIntermediate;
      return;
    }
  }
  follow_hyperx_legs(net, hx, p, intermediate, router);  // starts the second leg at the intermediate router
}

}  // namespace flitgym::routing::hyperx
