// Arbitration among traffic classes. An output serves first the classes that have less than their share, then the
// others in the order of their priorities. A class at its limit waits. Among classes of one rank, an output arbitrates
// as without classes.
//
// The flits of a class use up its share: a flit of t cycles takes t / share cycles of it. The class has less than its
// share from the cycle on at which all this time has passed. The same holds for its limit (a token bucket). A class
// that used idle bandwidth owes at most the time of one packet.
#pragma once

#include "core/stage/frame.hpp"
#include "simcore/traffic_classes.hpp"

namespace flitgym::classes {

// Share and limit of every class at a channel, or at the crossbar output before an output queue.
inline double* used_at(const Frame& f, u32 port, bool crossbar) {
  const TrafficClasses& t = *f.net.classes;
  return t.used.of(f.s) + (std::size_t{port} * 2 + crossbar) * t.count() * 2;
}

// The lowest rank is served first. kNone: the class is at its limit.
inline u32 rank(const TrafficClasses& t, const double* used, u32 c, Cycle now) {
  const TrafficClass& own = t.all[c];
  if (used[2 * c + 1] > now) return kNone;
  return own.share > 0 && used[2 * c] <= now ? 0 : own.rank;
}

inline void charge(const TrafficClasses& t, double* used, u32 c, u32 cycles, Cycle now, bool crossbar) {
  const TrafficClass& own = t.all[c];
  const double from = now - t.slack;
  if (own.share > 0)
    used[2 * c] = std::min(std::max(used[2 * c], from) + cycles / own.share, now + t.packet / own.share);
  if (own.limit < 1 && !crossbar) used[2 * c + 1] = std::max(used[2 * c + 1], from) + cycles / own.limit;
}
inline void charge_channel(const Frame& f, u32 port, u32 vc, u32 flits) {
  charge(*f.net.classes, used_at(f, port, false), class_of_vc(f.net, vc), flits * f.net.channels[port].flit_cycles,
         f.now, false);
}

// The waiting VCs with credits whose classes the channel serves first. If all of them are at their limits, the port is
// tried again in the next cycle.
template <class Credits>
u32 served_first(Frame& f, Port& o, u32 port, Credits has_credits) {
  const double* const used = used_at(f, port, false);
  u32 best = kNone, vcs = 0;
  bool limited = false;
  for (u32 m = o.waiting_vcs; m; m &= m - 1) {
    const u32 vc = static_cast<u32>(__builtin_ctz(m));
    if (!has_credits(vc)) continue;
    const u32 own = rank(*f.net.classes, used, class_of_vc(f.net, vc), f.now);
    limited |= own == kNone;
    if (own > best || own == kNone) continue;
    if (own < best) vcs = 0;
    best = own;
    vcs |= 1u << vc;
  }
  if (!vcs && limited) o.awake = 1, f.part.ports_due.push(f.now + 1, port);
  return vcs;
}

}  // namespace flitgym::classes
