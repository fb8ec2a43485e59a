// Decisions from outside: collect() lists, per request, the candidates an agent may choose from; apply() takes its
// choices. The relation keeps every choice free of deadlock and livelock, so an agent cannot pick something unsafe.
#include "simcore/error.hpp"
#include "simcore/registry.hpp"
#include "routing/any_port.hpp"
#include "routing/heard.hpp"
#include "simcore/state.hpp"
#include "topology/dragonfly.hpp"

namespace flitgym {

namespace {

struct Relation : ComponentData {
  bool five_hop = true, progressive = true, exploring = false;
};

// Candidates of the five-hop relation, with the VC class equal to the hops done (so classes only grow):
//   at the source router      every non-terminal port; a local one leads to a minimal path from there
//   first router of another group, reached by one global hop   its local ports, and the minimal port
//   anywhere else             the minimal port
// The longest path is global, local, local, global, local. The progressive relation has more, in the same classes:
//   second router of the source group   its global ports, and the minimal port
// with local, global, local, global, local for its longest path. The relation of Q-adaptive is the five-hop one, and because that
// routing explores by any port, too:
//   first router of another group, reached by one global hop   every non-terminal port
// with global, global, local, global, local for its longest path. The minimal port is always the first candidate.
void candidates(const Network& net, State& s, Batch& b) {
  const Dragonfly& df = dragonfly(net);
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
    const u32 k_min = df.minimal_port(net, router, p);
    const bool there = df.group(router) == df.group(to);
    const auto vc_class = static_cast<u16>(router == to ? (p.hops > 0 ? p.hops - 1 : 0) : p.hops);
    const auto offer = [&](u32 port) {
      ports[n] = static_cast<u16>(port);
      classes[n++] = vc_class;
    };
    offer(k_min);
    if (relation.five_hop && !there) {
      const PortKind came_by = net.channels[net.port(router, b.in_port[i])].kind;
      const bool at_source = came_by == PortKind::kTerminal, second = relation.progressive && came_by == PortKind::kLocal && p.hops == 1;
      const u32 globals = df.p + df.a - 1, begin = second ? globals : df.p;
      const bool entered = came_by == PortKind::kGlobal && p.hops == 1;
      const u32 end = at_source || second || (entered && relation.exploring) ? net.radix : entered ? globals : 0;
      for (u32 k = begin; k < end; k++)
        if (k != k_min && channels[net.port(router, k)].kind != PortKind::kUnused) offer(k);
    }
    offsets[i + 1] = n;
  }
}

void route(const Network&, State&, Batch&) {
  throw CoreError("routing=external: decisions come from outside; call collect() and apply() instead of run()");
}

RoutingFacts setup(const Params& params, Network& net, std::shared_ptr<const ComponentData>& data) {
  net.learns = params.boolean("feedback");
  if (params.text("relation") == "q_routing") return any_port(params.count("max_hops"), net, data);
  auto relation = std::make_shared<Relation>();
  relation->five_hop = params.text("relation") != "minimal";
  relation->progressive = params.text("relation") == "progressive" || params.text("relation") == "widest";
  relation->exploring = params.text("relation") == "q_adaptive";
  data = relation;
  return relation->five_hop ? RoutingFacts{5, 5} : RoutingFacts{3, 3};
}

const Register<RoutingSpec> entry([] {
  RoutingSpec spec{"external", "an agent outside the core decides", {"dragonfly"},
                   {choice("relation", "widest", {"widest", "progressive", "five_hop", "minimal", "q_adaptive", "q_routing"}, "the candidates offered: the widest = progressive, five_hop, the minimal port alone, or all that the routing of that name may take"),
                    any_port_param()},
                   setup, route};
  spec.candidates = candidates;
  spec.external = true;
  spec.params.push_back(feedback_param());
  spec.learn = hear;
  return spec;
}());

}  // namespace

}  // namespace flitgym
