// Paths of one or two legs on a HyperX, each in dimension order: class 0 towards the intermediate router, class 1 from there and
// on the minimal path. Within a class channels are used in the order of their dimensions, and class 1 never leads back.
#pragma once

#include "routing/choice.hpp"
#include "topology/hyperx.hpp"

namespace flitgym {

inline Hop follow_hyperx_legs(const Network& net, const HyperX& hx, Packet& p, u32 intermediate, u32 router) {
  if (p.phase == kToIntermediate) {
    if (router != intermediate) return {hx.dor_port(router, intermediate, p), 0};
    p.phase = kFromIntermediate;
  }
  const u32 to = net.terminal_router[p.destination];
  return router == to ? ejection(net, p) : Hop{hx.dor_port(router, to, p), 1};
}

// Hops of the way through `middle`.
inline u32 detour_hops(const HyperX& hx, u32 from, u32 middle, u32 to) { return hx.distance(hx.difference(from, middle)) + hx.distance(hx.difference(middle, to)); }

}  // namespace flitgym
