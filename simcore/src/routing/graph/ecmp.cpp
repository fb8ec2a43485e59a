// Equal-cost multi-path by flow. Each router hashes the flow of a packet and selects one of its minimal ports. A flow
// has one path, so its packets stay in order. Unequal loads of the paths are not balanced.
//
// Sources: Hopps, RFC 2992, 2000; Thaler and Hopps, RFC 2991, 2000.
//
// Difference from switches: they hash addresses and port numbers of the transport, which a packet here does not have.
// The flow is the pair of terminals or the message, and the hash is the project's mixer with the seed of the run.
#include "routing/graph/flows.hpp"

namespace flitgym::routing::graph::ecmp {

struct Ecmp : MinimalPorts {
  struct Rule : ComponentData {
    Flows flows;
  };
  static u32 select(const Head& at, const Rule& rule, const Congestion&, const Offered<>& offered) {
    return rule.flows.index(at.net, rule.flows.name(at.net, at.s, at.id), at.router, offered.count);
  }
};

static RoutingFacts setup(const Params& params, Network& net, Ecmp::Rule& rule) {
  rule.flows = flows_of(params);
  return facts_of_minimal_paths(net);
}

const Register<RoutingSpec> entry(minimal_paths<Ecmp>({
    .name = "ecmp",
    .summary = "one shortest path per flow, selected by a hash at every router (ECMP)",
    .params = {flow_param(), hash_param()},
    .setup = with_rule<setup>,
}));

}  // namespace flitgym::routing::graph::ecmp
