// The relation of Q-routing: any port for the first hops, then the minimal port. The VC class is the number of hops
// done, which only grows, so there is no dependency cycle on any topology.
#include "simcore/routing/paths.hpp"

namespace flitgym::routing::graph::relation_any_port {

namespace {

struct AnyPort : ComponentData {
  u32 max_hops = 0;  // any port at routers reached in fewer hops
};

void candidates(const Network& net, State& s, Batch& b) {
  const u32 max_hops = static_cast<const AnyPort&>(*net.relation).max_hops;
  const Graph& graph = graph_now(net, s);
  list_candidates(net, b, [&](u32 i, auto&& offer) {
    const Packet& p = s.packets[b.packet[i]];
    const u32 router = b.router[i], k_min = net.topology->minimal_port(net, graph, router, p);
    const bool there = router == net.terminal_router[p.destination];
    const u32 vc_class = there ? ejection_class(net, p) : hop_class(net, p);
    offer(k_min, vc_class);
    if (!there && p.hops < max_hops)
      each_link(net, graph, router, [&](u32 k) {
        if (k != k_min) offer(k, vc_class);
      });
  });
}

RoutingFacts setup(const Params& params, Network& net, std::shared_ptr<const ComponentData>& data) {
  auto relation = std::make_shared<AnyPort>();
  relation->max_hops = params.count("max_hops");
  data = relation;
  need_distances(net);
  const u32 most = hops_in_all(net, relation->max_hops);
  return {most, most};
}

const Register<RelationSpec> entry([] {
  RelationSpec spec{
      .name = "q_routing",
      .summary = "any port for the first hops, then the minimal port; a VC class per hop",
      .params = {integer("max_hops", 2, 1, 16, "hops", "any port at routers reached in fewer hops")},
      .setup = setup,
      .candidates = candidates,
  };
  spec.graph = true;
  return spec;
}());

}  // namespace

}  // namespace flitgym::routing::graph::relation_any_port
