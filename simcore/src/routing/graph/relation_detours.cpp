// The widest relation on any graph. A packet may take `deroutes` hops more than the minimal path from its source has,
// at any router, but not back and forth (each_detour). The VC class is the number of hops done, which only grows, so
// there is no dependency cycle.
#include "simcore/routing/paths.hpp"

namespace flitgym::routing::graph::relation_detours {

struct Detours : ComponentData {
  u32 deroutes = 0;
};

static void candidates(const Network& net, State& s, Batch& b) {
  const u32 deroutes = static_cast<const Detours&>(*net.relation).deroutes;
  list_requests(net, s, b, [&](const Head& at, auto&& offer) {
    const Packet& p = at.packet;
    if (at.arrived()) return offer(net.terminal_port[p.destination], ejection_class(net, p));
    Offered<> all;
    each_detour(at, deroutes, [&](u32 k, bool) { all(k, hop_class(net, p)); });
    // If the minimal port leads straight back, another port that leads nearer comes first.
    const u32 minimal = all.find(net.topology->minimal_port(net, graph_now(net, s), at.router, p));
    if (minimal < all.count) std::rotate(all.hop, all.hop + minimal, all.hop + minimal + 1);
    for (u32 k = 0; k < all.count; k++) offer(all[k], all.hop[k].vc_class);
  });
}

static RoutingFacts setup(const Params& params, Network& net, Detours& relation) {
  relation.deroutes = params.integer("deroutes") < 0 ? 2 : params.count("deroutes");
  return class_per_hop(net, relation.deroutes);
}

const Register<RelationSpec> entry({
    .name = "detours",
    .summary = "any port of a path with at most `deroutes` hops more than a minimal one; a VC class per hop",
    .params = {integer("deroutes", -1, -1, kMaxVcs, "hops", "hops allowed beyond those of the minimal path; -1 = 2")},
    .setup = with_rule<setup>,
    .candidates = candidates,
    .widest = true,
    .graph = true,
});

}  // namespace flitgym::routing::graph::relation_detours
