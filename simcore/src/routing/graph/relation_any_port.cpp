// The relation of Q-routing: any port for the first hops, then the minimal port. The VC class is the number of hops
// done, which only grows, so there is no dependency cycle on any topology.
#include "simcore/routing/paths.hpp"

namespace flitgym::routing::graph::relation_any_port {

struct AnyPort : ComponentData {
  u32 max_hops = 0;  // any port at routers reached in fewer hops
};

static void candidates(const Network& net, State& s, Batch& b) {
  const u32 max_hops = static_cast<const AnyPort&>(*net.relation).max_hops;
  const Graph& graph = graph_now(net, s);
  list_requests(net, s, b, [&](const Head& at, auto&& offer) {
    const Packet& p = at.packet;
    const u32 k_min = net.topology->minimal_port(net, graph, at.router, p);
    const u32 vc_class = at.arrived() ? ejection_class(net, p) : hop_class(net, p);
    offer(k_min, vc_class);
    if (!at.arrived() && p.hops < max_hops)
      each_link(net, graph, at.router, [&](u32 k) {
        if (k != k_min) offer(k, vc_class);
      });
  });
}

static RoutingFacts setup(const Params& params, Network& net, AnyPort& relation) {
  relation.max_hops = params.count("max_hops");
  return class_per_hop(net, relation.max_hops);
}

const Register<RelationSpec> entry({
    .name = "q_routing",
    .summary = "any port for the first hops, then the minimal port; a VC class per hop",
    .params = {integer("max_hops", 2, 1, 16, "hops", "any port at routers reached in fewer hops")},
    .setup = with_rule<setup>,
    .candidates = candidates,
    .graph = true,
});

}  // namespace flitgym::routing::graph::relation_any_port
