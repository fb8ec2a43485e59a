// Random destinations: a stream per packet.
#pragma once

#include "simcore/registry.hpp"
#include "simcore/rng.hpp"

namespace flitgym {

inline u64 traffic_draw(u64 seed, u32 terminal, u32 sequence, u32 k) { return draw(seed, u64{terminal} << 32 | sequence, kDrawDestination + k); }

}  // namespace flitgym
