// Relations of the Dragonfly that are independent of a routing: the five-hop relations, the relation of Q-adaptive, and
// minimal paths with a VC class per hop.
#include "simcore/routing/relation.hpp"
#include "simcore/topology/dragonfly.hpp"

namespace flitgym::routing::dragonfly::relations {

struct Relation : ComponentData {
  bool five_hop = true, progressive = true, exploring = false;
};

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
static void candidates(const Network& net, State& s, Batch& b) {
  const Dragonfly& df = as_dragonfly(net);
  const auto& relation = static_cast<const Relation&>(*net.relation);
  b.offsets.resize(b.count + 1);
  const std::size_t most = std::size_t{b.count} * net.radix;
  if (b.candidate_port.size() < most) b.candidate_port.resize(most), b.candidate_class.resize(most);
  u16 *const ports = b.candidate_port.data(), *const classes = b.candidate_class.data();
  u32* const offsets = b.offsets.data();
  const Channel* const channels = net.channels.data();
  u32 n = 0;
  offsets[0] = 0;
  for (u32 i = 0; i < b.count; i++) {
    const Packet& p = s.packets[b.packet[i]];
    const u32 router = b.router[i], to = net.terminal_router[p.destination];
    const u32 k_min = df.own_minimal_port(net, router, p);
    const bool there = df.group(router) == df.group(to);
    const auto vc_class = static_cast<u16>(router == to ? (p.hops > 0 ? p.hops - 1 : 0) : p.hops);
    const auto offer = [&](u32 port) {
      ports[n] = static_cast<u16>(port);
      classes[n++] = vc_class;
    };
    offer(k_min);
    if (relation.five_hop && !there) {
      const PortKind in_kind = net.channels[net.port(router, b.in_port[i])].kind;
      const bool at_source = in_kind == PortKind::kTerminal,
                 second = relation.progressive && in_kind == PortKind::kLocal && p.hops == 1;
      const u32 globals = df.p + df.a - 1, begin = second ? globals : df.p;
      const bool entered = in_kind == PortKind::kGlobal && p.hops == 1;
      const u32 end = at_source || second || (entered && relation.exploring) ? net.radix : entered ? globals : 0;
      for (u32 k = begin; k < end; k++)
        if (k != k_min && channels[net.port(router, k)].kind != PortKind::kUnused) offer(k);
    }
    offsets[i + 1] = n;
  }
}

template <bool kFiveHop, bool kProgressive, bool kExploring>
static RoutingFacts setup(const Params&, Network&, std::shared_ptr<const ComponentData>& data) {
  auto relation = std::make_shared<Relation>();
  relation->five_hop = kFiveHop;
  relation->progressive = kProgressive;
  relation->exploring = kExploring;
  data = relation;
  RoutingFacts facts{kFiveHop ? 5u : 3u, kFiveHop ? 5u : 3u};
  facts.minimal = !kFiveHop;
  return facts;
}

const Register<RelationSpec> minimal({
    .name = "minimal",
    .summary = "the minimal port alone, a VC class per hop",
    .topologies = {"dragonfly"},
    .setup = setup<false, false, false>,
    .candidates = candidates,
});
const Register<RelationSpec> five_hop({
    .name = "five_hop",
    .summary = "any port at the source router, and any local port where the packet enters another group",
    .topologies = {"dragonfly"},
    .setup = setup<true, false, false>,
    .candidates = candidates,
});
const Register<RelationSpec> progressive({
    .name = "progressive",
    .summary = "five_hop, and any global port at the second router of the source group",
    .topologies = {"dragonfly"},
    .setup = setup<true, true, false>,
    .candidates = candidates,
    .widest = true,
});
const Register<RelationSpec> q_adaptive({
    .name = "q_adaptive",
    .summary = "five_hop, and any port where the packet enters another group: the paths that Q-adaptive explores",
    .topologies = {"dragonfly"},
    .setup = setup<true, false, true>,
    .candidates = candidates,
});

}  // namespace flitgym::routing::dragonfly::relations
