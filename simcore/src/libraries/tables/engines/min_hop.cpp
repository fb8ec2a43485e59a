// Min-hop (OpenSM, doc/current-routing.txt): among the ports on a shortest path, the port with the fewest destinations
// so far. Each switch counts separately, and all switches take the destinations in the same order. In trees of more
// than two levels the switches make the same choices, which leaves channels unused. Free of deadlock only if shortest
// paths on the network are.
#include "simcore/tables/engine.hpp"
#include "simcore/tables/spread.hpp"

namespace flitgym::tables::engines::min_hop {

ForwardingTable make(const Params&, const ChannelGraph& g, const Demand&) {
  ForwardingTable table = empty_table(g, "min_hop");
  std::vector<u32> used(g.channels, 0);
  for (const u32 to : destination_switches(g)) spread(g, to, shortest_candidates(g, to), used, table);
  return table;
}

const Register<EngineSpec> entry({
    .name = "min_hop",
    .summary = "shortest paths; each switch spreads destinations over its ports",
    .make = make,
});

}  // namespace flitgym::tables::engines::min_hop
