// The generation clock of a source gives the times at which packets are generated. It depends only on the network and
// the state of the clock.
#pragma once

#include "simcore/rng.hpp"
#include "stage/stage.hpp"

namespace flitgym {

inline constexpr u64 kNever = ~u64{0};
inline Cycle cycle_of(u64 fixed) { return static_cast<Cycle>(fixed >> 32); }

// Time between two generations at load number `step`, in cycles in 32.32 fixed point; kNever at load 0.
inline u64 gap(const Network& net, u32 terminal, u32 round, u32 step) {
  const u64 fixed = net.gap_fixed[step];
  if (net.fixed_interval || fixed == kNever) return fixed;
  // One Bernoulli trial per cycle, so the number of trials until the next success has a geometric distribution.
  const double scale = net.gap_scale[step];
  if (scale == 0) return u64{1} << 32;
  const double failures = log_unit(unit(draw(net.seed, u64{terminal} << 32 | round, kDrawGap + step))) * scale;
  return failures < 0x1.0p31 ? (static_cast<u64>(failures) + 1) << 32 : kNever;
}
// The next tick after `from` if the load may change before it (injection.cpp).
u64 tick_across_changes(const Network& net, Terminal& x, u32 terminal, u64 from);

// The next tick after `from`.
inline u64 next_tick(const Network& net, Terminal& x, u32 terminal, u64 from) {
  if (x.step + 1 < net.load_from.size()) return tick_across_changes(net, x, terminal, from);
  const u64 span = gap(net, terminal, x.round, x.step);
  return span < kNever - from ? from + span : kNever;
}

// Fixed intervals of all sources begin at cycle 0, as in the generators of the papers' code.
inline u64 first_tick(const Network& net, Terminal& x, u32 terminal) {
  return net.fixed_interval && net.load_values[0] > 0 ? 0 : next_tick(net, x, terminal, 0);
}

}  // namespace flitgym
