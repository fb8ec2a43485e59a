// Q-adaptive on any graph. It keeps the principles of the Dragonfly version (Kang, Wang, Lan, HPDC 2021). Hops are
// bounded, off-policy estimates travel back over each link, and learning is hysteretic. The minimal port is kept unless
// another port is better by a threshold. A general graph has no groups that a table could exploit. So a row of a
// router's table is a destination router, and a column is a port. A value is the estimated time in ns from the decision
// here to arrival there.
//
// A packet's path may have up to `deroutes` hops more than the minimal path, and one more between neighbours. It may
// spend them at any router. VC class = hops done. As on a HyperX (routing/hyperx/q_adaptive.cpp), the clock starts with
// the decision, and the queue of a port is added to the table's value. The router sees this queue itself, while
// feedback takes a round trip. Without the queue all packets would rush to the port that was best a round trip ago.
#include "simcore/routing/paths.hpp"
#include "simcore/routing/q_table.hpp"

namespace flitgym::routing::graph::q_adaptive {

struct QAdaptive {
  using Fact = bool;  // leads nearer
  struct Rule : QueuedRule {
    u32 deroutes = 2;
  };
  static void begin(const Head& at, const Rule&) {
    PacketDetail& detail = at.s.details[at.id];
    detail.value = at.from_link() ? 0.0f : -1.0f;
    detail.arrived = at.now;
    detail.row = at.to;
  }
  template <class Out>
  static void offer(const Head& at, const Rule& rule, Out&& out) {
    const u32 vc_class = hop_class(at.net, at.packet);
    each_detour(at, rule.deroutes, [&](u32 k, bool nearer) { out(k, vc_class, nearer); });
  }
  static u32 select(const Head& at, const Rule& rule, const Congestion&, const Offered<bool>& offered) {
    const Learned best = prefer(at, rule, rule.table.row(at.s, at.router, at.to), offered);
    if (at.from_link()) at.s.details[at.id].value = best.estimate;
    return explores(at.net, at.s, rule, at.packet) ? below(route_draw(at.net, at.packet, 1), offered.count)
                                                   : best.index;
  }
};

static RoutingFacts setup_paths(const Params& params, Network& net, QAdaptive::Rule& rule) {
  rule.deroutes = params.integer("deroutes") < 0 ? 2 : params.count("deroutes");
  return class_per_hop(net, rule.deroutes);
}
static RoutingFacts setup(const Params& params, Network& net, QAdaptive::Rule& rule) {
  read_queued(params, net, rule);
  rule.row = row_of_router;
  need_estimates(net);
  shape_table(net, rule, net.routers, "q_adaptive: destination router x non-terminal port", estimate_by_router);
  return setup_paths(params, net, rule);
}
static ParamSpec deroutes_param() {
  return integer("deroutes", -1, -1, kMaxVcs, "hops",
                 "hops allowed beyond those of the minimal path, and one more between neighbours; -1 = 2");
}

const Register<RoutingSpec> entry(declared<QAdaptive>({
    .name = "q_adaptive",
    .summary = "Q-table per destination router, with a bounded number of extra hops (flitgym's own, after Kang et al.)",
    .params = joined(q_adaptive_params_with_queues(), {deroutes_param()}),
    .setup = with_rule<setup>,
    .learn = q_learn,
    .agent_can_choose = false,  // the relation `detours` offers the same candidates
    .graph = true,
    .operations = row_and_queue_operations,
}));

// The widest relation on any graph: the same candidates, the minimal port first. A packet moves back only if no other
// port leads nearer (each_detour). If the minimal port leads straight back, another port that leads nearer comes first.
static void candidates(const Network& net, State& s, Batch& b) {
  list_requests(net, s, b, [&](const Head& at, auto&& offer) {
    if (at.arrived()) return offer(net.terminal_port[at.packet.destination], ejection_class(net, at.packet));
    OfferedBy<QAdaptive> all;
    QAdaptive::offer(at, rule_of<QAdaptive>(net), all);
    const u32 minimal = all.find(net.topology->minimal_port(net, graph_now(net, s), at.router, at.packet));
    if (minimal < all.count) std::rotate(all.hop, all.hop + minimal, all.hop + minimal + 1);
    for (u32 k = 0; k < all.count; k++) offer(all[k], all.hop[k].vc_class);
  });
}

const Register<RelationSpec> detours({
    .name = "detours",
    .summary =
        "any port of a path with at most `deroutes` hops more than a minimal one, and one more between neighbours",
    .params = {deroutes_param()},
    .setup = with_rule<setup_paths>,
    .candidates = candidates,
    .widest = true,
    .graph = true,
});

}  // namespace flitgym::routing::graph::q_adaptive
