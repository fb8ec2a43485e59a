// Layered shortest-path routing (Skeie, Lysne, Theiss, "Layered Shortest Path (LASH) Routing in Irregular System Area
// Networks", IPDPS 2002). Each pair of switches gets a shortest path, in the first virtual layer whose channel
// dependencies stay acyclic with it. The paper does not say which shortest path. paths=lowest takes the lowest ports,
// which is dimension order on a mesh or HyperX. It needs few layers but does not balance load. paths=balanced takes the
// paths of sssp. With fewest=false, pairs are placed only in the published order.
#include "tables/dependencies.hpp"
#include "tables/layer_assignment.hpp"
#include "tables/shortest.hpp"

namespace flitgym::tables::engines::lash {

void lowest_ports(const ChannelGraph& g, ForwardingTable& table) {
  ShortestWays ways;
  for (u32 to = 0; to < g.switches; to++) {
    if (g.terminals_at(to) == 0) continue;
    ways.towards(g, to);
    for (u32 k = 1; k < ways.order.size(); k++)
      for (u32 i = g.first_terminal[to]; i < g.first_terminal[to + 1]; i++)
        table.at(ways.order[k], g.terminal_of[i]) = g.port[ways.step[ways.first[k]].channel];
  }
}

ForwardingTable make(const Params& params, const ChannelGraph& g, const Demand& demand) {
  ForwardingTable table = empty_table(g, "lash");
  if (params.text("paths") == "balanced") balance_shortest(params, g, demand, table);
  else lowest_ports(g, table);
  if (!find_cycle(g, table).empty()) first_fit(g, RouteOrder::kByDestination, table);
  finish_layers(params, g, table);
  return table;
}

const Register<EngineSpec> entry({
    .name = "lash",
    .summary = "shortest paths, each placed in the first virtual layer that stays acyclic",
    .params = joined(
        joined(balance_params(),
               {choice("paths", "lowest", {"lowest", "balanced"},
                       "which shortest path: lowest = by the lowest ports, balanced = the least loaded, as sssp")}),
        layer_params()),
    .make = make,
    .balances = true,
});

}  // namespace flitgym::tables::engines::lash
