// Deadlock-free SSSP routing (Domke, Hoefler, Nagel, "Deadlock-Free Oblivious Routing for Arbitrary Topologies", IPDPS
// 2011). Distributes the routes of sssp over virtual layers, so that the channel dependencies of each layer are
// acyclic. With fewest=false, the algorithm is exactly the published one.
#include "tables/cycle_breaking.hpp"
#include "tables/layer_assignment.hpp"
#include "tables/shortest.hpp"

namespace flitgym::tables::engines::dfsssp {

namespace {

ForwardingTable make(const Params& params, const ChannelGraph& g, const Demand& demand) {
  ForwardingTable table = empty_table(g, "dfsssp");
  balance_shortest(params, g, demand, table);
  if (!break_cycles(g, edge_of(params), table)) first_fit(g, RouteOrder::kShortFirst, table);
  finish_layers(params, g, table);
  return table;
}

const Register<EngineSpec> entry([] {
  EngineSpec spec{
      .name = "dfsssp",
      .summary = "sssp, with virtual layers that make it free of deadlock",
      .params = balance_params(),
      .make = make,
      .balances = true,
  };
  spec.params.push_back(edge_param());
  for (ParamSpec& p : layer_params()) spec.params.push_back(std::move(p));
  return spec;
}());

}  // namespace

}  // namespace flitgym::tables::engines::dfsssp
