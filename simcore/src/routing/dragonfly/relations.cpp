// Relations of the Dragonfly that are independent of a routing: the five-hop relations, the relation of Q-adaptive, and
// minimal paths with a VC class per hop.
#include "routing/dragonfly/learned.hpp"

namespace flitgym::routing::dragonfly::relations {

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
static ColumnRange allowed(const Network& net, const Dragonfly& df, const Packet& p, u32 router, PortKind in_kind,
                           u32) {
  const u32 locals = df.a - 1, columns = net.radix - df.p;
  if (!kFiveHop || df.group(router) == df.group(net.terminal_router[p.destination])) return {};
  if (in_kind == PortKind::kTerminal) return {0, columns};
  if (in_kind == PortKind::kGlobal) return {0, p.hops != 1 ? 0 : kExploring ? columns : locals};
  return kProgressive && p.hops == 1 ? ColumnRange{locals, columns} : ColumnRange{};
}

template <bool kFiveHop, bool kProgressive = false, bool kExploring = false>
static RelationSpec relation(const std::string& name, const std::string& summary) {
  constexpr u32 kHops = kFiveHop ? 5 : 3;
  return {.name = name,
          .summary = summary,
          .topologies = {"dragonfly"},
          .setup = [](const Params&, Network&, std::shared_ptr<const ComponentData>&) -> RoutingFacts {
            return {.classes = kHops, .max_hops = kHops, .minimal = !kFiveHop};
          },
          .candidates = list_columns<allowed<kFiveHop, kProgressive, kExploring>>,
          .widest = kProgressive};
}

const Register<RelationSpec> minimal(relation<false>("minimal", "the minimal port alone, a VC class per hop"));
const Register<RelationSpec> five_hop(relation<true>(
    "five_hop", "any port at the source router, and any local port where the packet enters another group"));
const Register<RelationSpec> progressive(
    relation<true, true>("progressive", "five_hop, and any global port at the second router of the source group"));
const Register<RelationSpec> q_adaptive(relation<true, false, true>(
    "q_adaptive", "five_hop, and any port where the packet enters another group: the paths that Q-adaptive explores"));

}  // namespace flitgym::routing::dragonfly::relations
