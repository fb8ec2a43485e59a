// Random packet spraying (Dixit et al., INFOCOM 2013): every packet takes a random minimal port.
#include "simcore/routing/paths.hpp"

namespace flitgym::routing::graph::spray {

namespace {

void candidates(const Network& net, State& s, Batch& b) {
  const Graph& graph = graph_now(net, s);
  list_candidates(net, b, [&](u32 i, auto&& offer) {
    const Packet& p = s.packets[b.packet[i]];
    const u32 router = b.router[i], to = net.terminal_router[p.destination];
    if (router == to) offer(net.terminal_port[p.destination], kAnyClass);
    else each_minimal(net, graph, router, to, [&](u32 port) { offer(port, hop_class(net, p)); });
  });
}

void route(const Network& net, State& s, Batch& b) {
  candidates(net, s, b);
  for (u32 i = 0; i < b.count; i++) {
    const u32 first = b.offsets[i], n = b.offsets[i + 1] - first;
    const u32 k = first + below(route_draw(net, s.packets[b.packet[i]], 0), n);
    choose(b, i, {b.candidate_port[k], b.candidate_class[k]});
  }
}

RoutingFacts setup(const Params&, Network& net, std::shared_ptr<const ComponentData>&) {
  need_distances(net);
  RoutingFacts facts{hops_in_all(net, 0), hops_in_all(net, 0)};  // VC classes, hops of the longest path
  facts.minimal = true;
  return facts;
}

const Register<RoutingSpec> entry([] {
  RoutingSpec spec{"spray", "a random minimal port for each packet", {}, {}, setup, route};
  spec.candidates = candidates;
  spec.graph = true;  // uses the present links, so it runs with failed links
  return spec;
}());

}  // namespace

}  // namespace flitgym::routing::graph::spray
