// Relations of the Dragonfly that are independent of a routing: the five-hop relations, the relation of Q-adaptive, and
// minimal paths with a VC class per hop.
#include "simcore/routing/relation.hpp"
#include "simcore/topology/dragonfly.hpp"

namespace flitgym::routing::dragonfly::relations {

namespace {

// Candidates of each relation. The VC class is the number of hops done, so classes only grow. The minimal port is
// always the first candidate.
//   five_hop     source router: every non-terminal port; a local port leads to a minimal path from there
//                first router of another group, reached by one global hop: its local ports and the minimal port
//                any other router: the minimal port
//                longest path: global, local, local, global, local
//   progressive  as five_hop, and
//                second router of the source group: its global ports and the minimal port
//                longest path: also local, global, local, global, local
//   q_adaptive   as five_hop, and, because that routing explores by any port,
//                first router of another group, reached by one global hop: every non-terminal port
//                longest path: also global, global, local, global, local
template <bool kFiveHop, bool kProgressive, bool kExploring>
void candidates(const Network& net, State& s, Batch& b) {
  const Dragonfly& df = as_dragonfly(net);
  list_requests(net, s, b, [&](const Head& at, auto&& offer) {
    const u32 hops = at.packet.hops, k_min = df.own_minimal_port(net, at.router, at.packet);
    const u32 vc_class = at.arrived() && hops > 0 ? hops - 1 : hops;  // ejection keeps the class of the last hop
    offer(k_min, vc_class);
    if (!kFiveHop || df.group(at.router) == df.group(at.to)) return;
    const PortKind in_kind = net.channels[net.port(at.router, at.in_port)].kind;
    const bool at_source = in_kind == PortKind::kTerminal, entered = in_kind == PortKind::kGlobal && hops == 1,
               second = kProgressive && in_kind == PortKind::kLocal && hops == 1;
    const u32 globals = df.p + df.a - 1;
    const u32 end = at_source || second || (entered && kExploring) ? net.radix : entered ? globals : 0;
    for (u32 k = second ? globals : df.p; k < end; k++)
      if (k != k_min && net.channels[net.port(at.router, k)].kind != PortKind::kUnused) offer(k, vc_class);
  });
}

// VC classes and hops of the longest path.
template <u32 kMost>
RoutingFacts setup(const Params&, Network&, std::shared_ptr<const ComponentData>&) {
  return {.classes = kMost, .max_hops = kMost, .minimal = kMost == 3};
}

const Register<RelationSpec> minimal({
    .name = "minimal",
    .summary = "the minimal port alone, a VC class per hop",
    .topologies = {"dragonfly"},
    .setup = setup<3>,
    .candidates = candidates<false, false, false>,
});
const Register<RelationSpec> five_hop({
    .name = "five_hop",
    .summary = "any port at the source router, and any local port where the packet enters another group",
    .topologies = {"dragonfly"},
    .setup = setup<5>,
    .candidates = candidates<true, false, false>,
});
const Register<RelationSpec> progressive({
    .name = "progressive",
    .summary = "five_hop, and any global port at the second router of the source group",
    .topologies = {"dragonfly"},
    .setup = setup<5>,
    .candidates = candidates<true, true, false>,
    .widest = true,
});
const Register<RelationSpec> q_adaptive({
    .name = "q_adaptive",
    .summary = "five_hop, and any port where the packet enters another group: the paths that Q-adaptive explores",
    .topologies = {"dragonfly"},
    .setup = setup<5>,
    .candidates = candidates<true, false, true>,
});

}  // namespace

}  // namespace flitgym::routing::dragonfly::relations
