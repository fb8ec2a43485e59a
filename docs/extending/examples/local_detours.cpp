// A relation for a Dragonfly: local misrouting (García et al., "On-the-fly adaptive routing in
// high-radix hierarchical networks", ICPP 2012). A packet enters a group, and its minimal path
// continues by a local link. It may then take any local link of the router, to avoid a full
// one.
#include "simcore/routing/relation.hpp"
#include "simcore/topology/dragonfly.hpp"

namespace flitgym::routing::dragonfly::local_detours {

namespace {

// The VC class is the number of hops done, which only grows, so packets cannot wait for each
// other in a cycle. The longest path is local, local, global, local, local.
void candidates(const Network& net, State& s, Batch& b) {
  const Dragonfly& df = as_dragonfly(net);
  list_candidates(net, s, b, [&](const Head& at, auto&& offer) {
    const u32 hops = at.packet.hops, minimal = df.own_minimal_port(net, at.router, at.packet);
    offer(minimal, hops);  // the minimal port comes first
    const PortKind came_by = net.channels[net.port(at.router, at.in_port)].kind;
    if (came_by == PortKind::kLocal || df.is_global(minimal)) return;
    for (u32 port = df.p; port < df.p + df.a - 1; port++)
      if (port != minimal) offer(port, hops);
  });
}

RoutingFacts setup(const Params&, Network&, std::shared_ptr<const ComponentData>&) {
  return {5, 5};  // VC classes, hops of the longest path
}

const Register<RelationSpec> entry({
    .name = "local_detours",
    .summary = "the minimal port; after entering a group, also any local port",
    .topologies = {"dragonfly"},
    .setup = setup,
    .candidates = candidates,
});

}  // namespace

}  // namespace flitgym::routing::dragonfly::local_detours
