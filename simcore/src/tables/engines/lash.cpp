// Layered shortest-path routing (Skeie, Lysne, Theiss, "Layered Shortest Path (LASH) Routing in Irregular System Area
// Networks", IPDPS 2002): a shortest path for each pair of switches, each in the first virtual layer whose channel
// dependencies stay acyclic with it. The paper leaves open which path: paths=lowest takes the lowest ports, which is
// dimension order on a mesh or HyperX and needs few layers, but spreads over nothing; paths=balanced takes those of
// sssp. fewest=false is the published order of pairs alone.
#include "tables/dependencies.hpp"
#include "tables/layer_assignment.hpp"
#include "tables/shortest.hpp"

namespace flitgym::tables::engines::lash {

namespace {

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

const Register<EngineSpec> entry([] {
  EngineSpec spec{
      .name = "lash",
      .summary = "shortest paths, each in the first virtual layer that stays acyclic with it",
      .params = balance_params(),
      .make = make,
      .balances = true,
  };
  spec.params.push_back(choice("paths", "lowest", {"lowest", "balanced"},
                               "of the shortest paths that by the lowest ports, or the least loaded, as sssp"));
  for (ParamSpec& p : layer_params()) spec.params.push_back(std::move(p));
  return spec;
}());

}  // namespace

}  // namespace flitgym::tables::engines::lash
