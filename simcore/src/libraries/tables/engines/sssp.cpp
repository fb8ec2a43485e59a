// Single-source shortest-path routing (Hoefler, Schneider, Lumsdaine, "Optimized Routing for Large-Scale InfiniBand
// Networks", HOTI 2009). One destination after the other takes the least loaded shortest paths. In the paper, weights
// begin at the square of the number of terminals, so that fewer hops win. Here hops are compared first and the sum of
// loads second, which has the same effect for any number of hops. Free of deadlock only if shortest paths on the
// network are.
#include "tables/shortest.hpp"

namespace flitgym::tables::engines::sssp {

ForwardingTable make(const Params& params, const ChannelGraph& g, const Demand& demand) {
  ForwardingTable table = empty_table(g, "sssp");
  balance_shortest(params, g, demand, table);
  return table;
}

const Register<EngineSpec> entry({
    .name = "sssp",
    .summary = "the least loaded shortest paths, one destination after the other",
    .params = balance_params(),
    .make = make,
    .balances = true,
});

}  // namespace flitgym::tables::engines::sssp
