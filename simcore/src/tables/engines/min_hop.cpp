// Min-hop (OpenSM, doc/current-routing.txt): of the ports on a shortest path the one by which the fewest destinations leave so far. Each
// switch counts for itself. Not free of deadlock unless the network is.
#include <algorithm>

#include "simcore/limits.hpp"
#include "tables/engine.hpp"

namespace flitgym {

namespace {

ForwardingTable make(const Params&, const ChannelGraph& g, const Demand&) {
  ForwardingTable table = empty_table(g, "min_hop");
  std::vector<u32> hops, used(g.channels, 0);
  for (u32 s = 0; s < g.switches; s++) {
    if (g.terminals_at(s) == 0) continue;
    hops_to(g, s, hops);
    for (u32 k = g.first_terminal[s]; k < g.first_terminal[s + 1]; k++) {
      const u32 t = g.terminal_of[k];
      worked(g.channels);
      for (u32 v = 0; v < g.switches; v++) {
        if (v == s || hops[v] == kNone) continue;
        u32 best = kNone;
        for (u32 c = g.first[v]; c < g.first[v + 1]; c++)
          if (hops[g.to[c]] + 1 == hops[v] && (best == kNone || used[c] < used[best])) best = c;
        used[best]++;
        table.at(v, t) = g.port[best];
      }
    }
  }
  return table;
}

const Register<EngineSpec> entry({"min_hop", "a shortest path; each switch spreads destinations over its ports", {}, {}, make});

}  // namespace

}  // namespace flitgym
