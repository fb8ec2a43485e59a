// MIN on any graph: at every router a port of a shortest path. If there are several such ports, the choice is in turns,
// by flow or by the shortest queue. The VC class is the number of hops done, which only grows. Without failures, the
// number of classes is the diameter.
#include "simcore/routing/paths.hpp"

namespace flitgym::routing::graph::minimal {

struct Minimal : MinimalPorts, PickedPorts {};

static RoutingFacts setup(const Params& params, Network& net, Minimal::Rule& rule) {
  Minimal::read(params, net, rule);
  return class_per_hop(net);
}

const Register<RoutingSpec> entry(declared<Minimal>({
    .name = "minimal",
    .summary = "a shortest path; several are used in turns, by flow or by queue",
    .params = {pick_param("packet"), congestion_param("both"), congestion_scope_param("port"), allocation_param()},
    .setup = with_rule<setup>,
    .graph = true,
}));

}  // namespace flitgym::routing::graph::minimal
