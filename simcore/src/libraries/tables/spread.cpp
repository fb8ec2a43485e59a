#include "simcore/tables/spread.hpp"

namespace flitgym::tables {

std::vector<u32> destination_switches(const ChannelGraph& g, Ties ties) {
  std::vector<u32> order;
  for (u32 s = 0; s < g.switches; s++)
    if (g.terminals_at(s)) order.push_back(s);
  if (ties == Ties::kGuid)
    std::sort(order.begin(), order.end(),
              [](u32 a, u32 b) { return __builtin_bswap32(0x10000 + a) < __builtin_bswap32(0x10000 + b); });
  std::stable_sort(order.begin(), order.end(), [&](u32 a, u32 b) { return g.terminals_at(a) > g.terminals_at(b); });
  return order;
}

void spread(const ChannelGraph& g, u32 to, const Candidates& candidates, std::vector<u32>& used,
            ForwardingTable& table) {
  for (u32 k = g.first_terminal[to]; k < g.first_terminal[to + 1]; k++) {
    const u32 t = g.terminal_of[k];
    worked(g.switches + candidates.channel.size());
    for (u32 s = 0; s < g.switches; s++) {
      u32 best = kNone;
      for (u32 at = candidates.first[s]; at < candidates.first[s + 1]; at++)
        if (const u32 c = candidates.channel[at]; best == kNone || used[c] < used[best]) best = c;
      if (best == kNone) continue;
      used[best]++;
      table.at(s, t) = g.port[best];
    }
  }
}

Candidates shortest_candidates(const ChannelGraph& g, u32 to) {
  const std::vector<u32> hops = hops_to(g, to);
  Candidates candidates;
  candidates.first.reserve(g.switches + 1);
  candidates.channel.reserve(g.channels);
  worked(g.channels);
  for (u32 s = 0; s < g.switches; s++) {
    if (s != to && hops[s] != kNone)
      for (u32 c = g.first[s]; c < g.first[s + 1]; c++)
        if (hops[g.to[c]] + 1 == hops[s]) candidates.channel.push_back(c);
    candidates.next_switch();
  }
  return candidates;
}

}  // namespace flitgym::tables
