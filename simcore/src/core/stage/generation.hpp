// The generation clock of a source gives the times at which packets are generated. It depends only on the network and
// the state of the clock.
#pragma once

#include "core/stage/stage.hpp"

namespace flitgym {

inline constexpr u64 kNever = ~u64{0};
inline Cycle cycle_of(u64 fixed) { return static_cast<Cycle>(fixed >> 32); }

// Time between two generations at load number `step`, in cycles in 32.32 fixed point; kNever at load 0.
inline u64 gap(const Network& net, u32 terminal, u32 round, u32 step) {
  const u32 entry = net.load_entry(step);
  const u64 fixed = net.gap_fixed[entry];
  if (net.fixed_interval || fixed == kNever) return fixed;
  // The number of Bernoulli trials until the next success has a geometric distribution.
  const double scale = net.gap_scale[entry];
  if (scale == 0) return u64{net.trial_cycles} << 32;
  const double failures = log_unit(unit(draw(net.seed, u64{terminal} << 32 | round, kDrawGap + step))) * scale;
  return failures < 0x1.0p31 / net.trial_cycles ? (static_cast<u64>(failures) + 1) * net.trial_cycles << 32 : kNever;
}

// Trials take place at multiples of trial_cycles, so the gap after time `from` begins at the last of them.
inline u64 gap_begin(const Network& net, u64 from) {
  return net.trial_cycles == 1 ? from : from - from % (u64{net.trial_cycles} << 32);
}

// First time after the present step of a source, cycles in 32.32 fixed point; kNever: no step follows.
inline u64 step_end(const Network& net, const Terminal& x) {
  if (x.step + 1 >= net.load_steps) return kNever;
  const u64 end = net.on_off ? x.tick : net.load_start(x.step + 1);
  return end < kEndOfTime ? end << 32 : kNever;
}

// Length of burst or pause number `step` of an on_off source, in cycles. Random rounding keeps the mean.
inline Cycle period_length(const Network& net, u32 terminal, u32 step) {
  const OnOff::Period& p = step % 2 == 0 ? net.on_off->on : net.on_off->off;
  const u64 stream = u64{terminal} << 32 | step;
  const double length = p.least() * exp_up(-log_unit(unit(draw(net.seed, stream, kDrawPeriod))) / p.shape),
               rounded = length + unit(draw(net.seed, stream, kDrawPeriod + 1));
  return rounded < kEndOfTime ? static_cast<Cycle>(rounded) : kEndOfTime;
}

inline void next_step(const Network& net, Terminal& x, u32 terminal) {
  x.step++;
  if (net.on_off)
    x.tick = static_cast<Cycle>(std::min<u64>(kEndOfTime, u64{x.tick} + period_length(net, terminal, x.step)));
}

// Puts an on_off source into the stationary state of its renewal process, so that the mean load is right from cycle 0
// on. The rest of a burst has the density (1 - F(x)) / mean. If a length is randomly rounded, the rest is rounded up.
inline void begin_on_off(const Network& net, Terminal& x, u32 terminal) {
  const u64 stream = u64{terminal} << 32 | kNone;
  x.step = unit(draw(net.seed, stream, kDrawPeriod)) < net.on_off->share_on() ? 0 : 1;
  const OnOff::Period& p = x.step == 0 ? net.on_off->on : net.on_off->off;
  const double u = unit(draw(net.seed, stream, kDrawPeriod + 1)),
               rest = u * p.shape >= 1 ? (1 - u) * p.mean : p.least() * exp_up(-log_unit(u * p.shape) / (p.shape - 1));
  x.tick = rest < kEndOfTime ? static_cast<Cycle>(std::ceil(rest)) : kEndOfTime;
}

// The next tick after `from` if the load may change before it (injection.cpp).
u64 tick_across_changes(const Network& net, Terminal& x, u32 terminal, u64 from);

// The tick that follows a tick at time `from` after this gap.
inline u64 after(const Network& net, u64 from, u64 gap) {
  const u64 begin = gap_begin(net, from);
  return gap < kNever - begin ? begin + gap : kNever;
}

inline u64 next_tick(const Network& net, Terminal& x, u32 terminal, u64 from) {
  if (x.step + 1 < net.load_steps) return tick_across_changes(net, x, terminal, from);
  return after(net, from, gap(net, terminal, x.round, x.step));
}

// Fixed intervals of all sources begin at cycle 0, as in the generators of the papers' code.
inline u64 first_tick(const Network& net, Terminal& x, u32 terminal) {
  if (net.on_off) begin_on_off(net, x, terminal);
  return net.fixed_interval && !net.on_off && net.load_values[0] > 0 ? 0 : next_tick(net, x, terminal, 0);
}

}  // namespace flitgym
