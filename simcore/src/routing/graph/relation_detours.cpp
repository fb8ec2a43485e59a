// The widest relation on any graph. A packet may take `deroutes` hops more than the minimal path from its source has,
// at any router, but not back and forth (each_detour). The VC class is the number of hops done, which only grows, so
// there is no dependency cycle.
#include "simcore/routing/paths.hpp"

namespace flitgym::routing::graph::relation_detours {

namespace {

struct Detours : ComponentData {
  u32 deroutes = 0;
};

void candidates(const Network& net, State& s, Batch& b) {
  const u32 deroutes = static_cast<const Detours&>(*net.relation).deroutes;
  const Graph& graph = graph_now(net, s);
  list_candidates(net, b, [&](u32 i, auto&& offer) {
    const Packet& p = s.packets[b.packet[i]];
    const u32 router = b.router[i], to = net.terminal_router[p.destination];
    if (router == to) return offer(net.terminal_port[p.destination], ejection_class(net, p));
    u16 ports[kMaxRadix];
    // `first`: index of the minimal port. If that port leads straight back, index of another port that leads nearer.
    u32 n = 0, first = 0;
    const u32 minimal = net.topology->minimal_port(net, graph, router, p);
    each_detour(net, graph, p, router, to, b.in_port[i], deroutes, [&](u32 k, bool) {
      if (k == minimal) first = n;
      ports[n++] = static_cast<u16>(k);
    });
    offer(ports[first], hop_class(net, p));
    for (u32 k = 0; k < n; k++)
      if (k != first) offer(ports[k], hop_class(net, p));
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
  RelationSpec spec{
      .name = "detours",
      .summary = "any port of a path with at most `deroutes` hops more than a minimal one; a VC class per hop",
      .params = {integer("deroutes", -1, -1, kMaxVcs, "hops", "hops allowed beyond those of the minimal path; -1 = 2")},
      .setup = setup,
      .candidates = candidates,
  };
  spec.widest = spec.graph = true;
  return spec;
}());

}  // namespace

}  // namespace flitgym::routing::graph::relation_detours
