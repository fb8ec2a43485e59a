// Q-adaptive on a Dragonfly+. It keeps the principles of the Dragonfly version (Kang, Wang, Lan, HPDC 2021). Hops are
// bounded, off-policy estimates travel back over each link, and learning is hysteretic. The candidates are those of
// FPAR (fpar.cpp), so two VC classes are enough. A row of a router's table is a destination group, and a column is a
// port. A value is the estimated time in ns from the decision here to arrival in the destination's group, where the
// path down is given. The best onward port is kept unless another port is better by a threshold. As on other graphs
// (routing/graph/q_adaptive.cpp), the queue of a port is added to its value.
#include "routing/dragonfly_plus/paths.hpp"
#include "simcore/routing/q_table.hpp"

namespace flitgym::routing::dragonfly_plus::q_adaptive {

struct QAdaptive {
  using Fact = bool;  // onward
  using Rule = QueuedRule;
  // Feedback goes back over a global link. The routers of the destination's group have no row for it.
  static void begin(const Head& from, const Rule&) {
    const Position at(from);
    PacketDetail& detail = at.s.details[at.id];
    detail.arrived = at.now;
    detail.row = at.to_group;
    detail.value = at.there() && at.packet.hops > 1 && !at.leaf ? 0.0f : -1.0f;
  }
  template <class Out>
  static void offer(const Head& from, const Rule&, Out&& out) {
    const Position at(from);
    offer_onward(at, [&](u32 k, u32 vc_class) { out(k, vc_class, true); });
    offer_detours(at, [&](u32 k, u32 vc_class) { out(k, vc_class, false); });
  }
  static u32 select(const Head& at, const Rule& rule, const Congestion& congestion, const Offered<bool>& offered) {
    const DragonflyPlus& df = as_dragonfly_plus(at.net);
    const u32 group = df.group(at.to), n = offered.count;
    if (df.group(at.router) == group)
      return congestion.least(at.router, offered, n, turn_of(at.packet, at.router, n), offered.hop[0].vc_class);
    const Learned best = prefer(at, rule, rule.table.row(at.s, at.router, group), offered);
    if (at.packet.hops > 0) at.s.details[at.id].value = best.estimate;
    return explores(at.net, at.s, rule, at.packet) ? below(route_draw(at.net, at.packet, 1), n) : best.index;
  }
};

// Time without queueing, from `router` by `port` into the group.
static float first_estimate(const Network& net, u32 router, u32 group, u32 port) {
  const DragonflyPlus& df = as_dragonfly_plus(net);
  const auto global = static_cast<float>(net.link_latency_ns[2]), local = static_cast<float>(net.link_latency_ns[1]);
  if (df.group(router) == group) return local;
  const float detour = 2 * local + global;  // from a spine: down, up and across
  bool direct = false;
  if (!df.is_leaf(router)) {
    if (port < df.leaves) return detour;
    return global + (df.group_beyond(router, port) == group ? 0 : detour);
  }
  df.each_up(router, group, [&](u32 k) { direct |= k == port; });
  return local + global + (direct ? 0 : detour);
}

static void initialise(const Network& net, State& s) {
  fill_table(net, s, [&](u32 router, u32 row, u32 port) { return first_estimate(net, router, row, port); });
}

static RoutingFacts setup(const Params& params, Network& net, QueuedRule& rule) {
  read_queued(params, net, rule);
  rule.row = [](const Network& network, u32 router, const Packet& p) {
    const DragonflyPlus& df = as_dragonfly_plus(network);
    const u32 to = df.group(network.terminal_router[p.destination]);
    return df.group(router) == to ? kNone : to;
  };
  shape_table(net, rule, as_dragonfly_plus(net).g, "q_adaptive: destination group x non-terminal port", initialise);
  return {kClasses, kMostHops};
}

const Register<RoutingSpec> entry({
    .name = "q_adaptive",
    .summary = "Q-table per destination group over the candidates of FPAR (flitgym's own, after Kang et al.)",
    .topologies = {"dragonfly_plus"},
    .params = q_adaptive_params_with_queues(),
    .setup = with_rule<setup>,
    .route = route_declared<QAdaptive>,
    .learn = q_learn,
    .candidates = list_paths<true>,
    .agent_can_choose = false,  // the relation `fpar` offers the same candidates
    .operations = row_and_queue_operations,
});

}  // namespace flitgym::routing::dragonfly_plus::q_adaptive
