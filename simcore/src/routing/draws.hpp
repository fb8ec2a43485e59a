// Random choices of a routing: a stream per packet and hop.
#pragma once

#include "simcore/rng.hpp"
#include "simcore/state.hpp"

namespace flitgym {

inline u64 route_draw(const Network& net, const Packet& p, u32 k) {
  return draw(net.seed, u64{p.source} << 32 | p.sequence, kDrawRoute + 16u * p.hops + k);
}

}  // namespace flitgym
