// Deadlock-free SSSP routing (Domke, Hoefler, Nagel, "Deadlock-Free Oblivious Routing for Arbitrary Topologies", IPDPS
// 2011). Distributes the routes of sssp over virtual layers, so that the channel dependencies of each layer are
// acyclic. With fewest=false, the algorithm is exactly the published one.
#include "tables/layer_assignment.hpp"
#include "tables/shortest.hpp"

namespace flitgym::tables::engines::dfsssp {

BreakEdge edge_of(const Params& params) {
  const std::string& edge = params.text("edge");
  return edge == "weakest" ? BreakEdge::kWeakest : edge == "heaviest" ? BreakEdge::kHeaviest : BreakEdge::kFirst;
}

ForwardingTable make(const Params& params, const ChannelGraph& g, const Demand& demand) {
  ForwardingTable table = empty_table(g, "dfsssp");
  balance_shortest(params, g, demand, table);
  if (!break_cycles(g, edge_of(params), table)) first_fit(g, RouteOrder::kShortFirst, table);
  finish_layers(params, g, table);
  return table;
}

const Register<EngineSpec> entry({
    .name = "dfsssp",
    .summary = "sssp, with virtual layers that make it free of deadlock",
    .params = joined(
        joined(balance_params(),
               {choice("edge", "weakest", {"weakest", "heaviest", "first"},
                       "dependency that breaks a cycle and whose routes move to the next layer: the one with the "
                       "fewest routes, the one with the most, or the one that closed the cycle in the search")}),
        layer_params()),
    .make = make,
    .balances = true,
});

}  // namespace flitgym::tables::engines::dfsssp
