// What may be chosen on any graph: a packet may go `deroutes` hops more than the minimal path from its source has, when and where it
// likes, but not straight back. The VC class is the hops done, which only grow, so nothing waits in a circle.
#include "routing/relation.hpp"
#include "topology/graph.hpp"

namespace flitgym {

namespace {

struct Detours : ComponentData {
  u32 deroutes = 0;
};

// A link that fails on the way may leave a packet with more hops to go than it had: then the minimal ports are all it has.
void candidates(const Network& net, State& s, Batch& b) {
  const u32 deroutes = static_cast<const Detours&>(*net.relation).deroutes;
  const Graph& graph = graph_now(net, s);
  list_candidates(net, b, [&](u32 i, auto&& offer) {
    const Packet& p = s.packets[b.packet[i]];
    const u32 router = b.router[i], to = net.terminal_router[p.destination];
    if (router == to) {
      offer(net.terminal_port[p.destination], p.hops > 0 ? p.hops - 1u : 0u);
      return;
    }
    const u32 first = net.topology->minimal_port(net, graph, router, p), here = distance(net, graph, router, to);
    const u32 budget = distance(net, graph, net.terminal_router[p.source], to) + deroutes;
    const u32 back = net.channels[net.port(router, b.in_port[i])].peer;
    offer(first, p.hops);
    for (const bool nearer : {true, false})
      each_link(net, graph, router, [&](u32 k) {
        const u32 port = net.port(router, k), left = distance(net, graph, net.next_router(port), to);
        if (k == first || nearer != (left < here)) return;
        if (nearer || (p.hops + 1u + left <= budget && net.channels[port].peer != back && port != back)) offer(k, p.hops);
      });
  });
}

RoutingFacts setup(const Params& params, Network& net, std::shared_ptr<const ComponentData>& data) {
  auto relation = std::make_shared<Detours>();
  const i64 deroutes = params.integer("deroutes");
  relation->deroutes = deroutes < 0 ? 2 : static_cast<u32>(deroutes);
  data = relation;
  need_distances(net);
  const u32 most = hops_in_all(net, relation->deroutes);
  return {most, most};
}

const Register<RelationSpec> entry([] {
  RelationSpec spec{"detours", "any port of a path that has so many hops more than a minimal one, a VC class per hop", {},
                    {integer("deroutes", -1, -1, kMaxVcs, "hops", "more than the minimal path's; -1 = 2")}, setup, candidates};
  spec.widest = spec.graph = true;
  return spec;
}());

}  // namespace

}  // namespace flitgym
