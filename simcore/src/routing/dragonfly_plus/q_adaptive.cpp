// Q-adaptive on a Dragonfly+. It keeps the principles of the Dragonfly version (Kang, Wang, Lan, HPDC 2021). Hops are
// bounded, off-policy estimates travel back over each link, and learning is hysteretic. The candidates are those of
// FPAR (fpar.cpp), so two VC classes are enough. A row of a router's table is a destination group, and a column is a
// port. A value is the estimated time in ns from the decision here to arrival in the destination's group, where the
// path down is given. The best onward port is kept unless another port is better by a threshold. As on other graphs
// (routing/graph/q_adaptive.cpp), the queue of a port is added to its value.
#include "routing/dragonfly_plus/paths.hpp"
#include "simcore/routing/q_table.hpp"

namespace flitgym::routing::dragonfly_plus::q_adaptive {

namespace {

struct Rule : QRule {
  CongestionMeasure measure;
  double queue_weight = 0;
};

struct Choice {
  u32 port = kNone, vc_class = 0;
  float value = kUnreachable;
};

struct Lookup {
  const Network& net;
  const State& s;
  const Rule& rule;
  const Position& at;
  const float* row;
  float estimate = kUnreachable;  // the least value of the table, without queues

  void consider(const Ports& ports, u32 vc_class, Choice& best) {
    for (u32 n = 0; n < ports.count; n++) {
      const u32 k = ports.port[n], port = net.port(at.router, k);
      const double queue = rule.queue_weight > 0 ? rule.queue_weight * rule.measure.of(net, s, port, vc_class) *
                                                       net.channels[port].flit_cycles * net.cycle_ns
                                                 : 0;
      const float learned = row[k - net.first_link[at.router]], value = learned + static_cast<float>(queue);
      estimate = std::min(estimate, learned);
      if (best.port == kNone || value < best.value) best = {k, vc_class, value};
    }
  }
};

void decide(const Network& net, State& s, const DragonflyPlus& df, const Rule& rule, Batch& b, u32 i,
            const Position& at) {
  const Packet& p = s.packets[b.packet[i]];
  PacketDetail& detail = s.details[b.packet[i]];
  Ports onward, detours;
  list_onward(df, at, onward);
  list_detours(df, p, at, detours);
  Lookup look{net, s, rule, at, rule.table.row(s, at.router, at.to_group)};
  Choice best, other;
  look.consider(onward, onward_class(p, at), best);
  look.consider(detours, 0, other);
  if (p.hops > 0) detail.value = look.estimate;
  const bool leaves = best.port == kNone || (other.port != kNone && (best.value - other.value) / best.value >=
                                                                        static_cast<float>(rule.q_thld1));
  if (leaves) best = other;
  if (rule.epsilon > 0 && !s.part.totals.frozen && unit(route_draw(net, p, 0)) < rule.epsilon) {
    const u32 n = below(route_draw(net, p, 1), onward.count + detours.count);
    if (n < onward.count) best = {onward.port[n], onward_class(p, at)};
    else best = {detours.port[n - onward.count], 0};
  }
  choose(b, i, {best.port, best.vc_class});
}

void route(const Network& net, State& s, Batch& b) {
  const DragonflyPlus& df = as_dragonfly_plus(net);
  const auto& rule = static_cast<const Rule&>(*net.routing);
  const Congestion congestion(net, s, rule.measure);
  for (u32 i = 0; i < b.count; i++) {
    const Packet& p = s.packets[b.packet[i]];
    PacketDetail& detail = s.details[b.packet[i]];
    const Position at = position(net, df, p, b.router[i]);
    detail.arrived = b.now;
    detail.row = at.to_group;
    detail.value = -1.0f;  // no feedback
    if (!at.there()) {
      decide(net, s, df, rule, b, i, at);
      continue;
    }
    // Feedback goes back over a global link. The routers of the destination's group have no row for it.
    if (p.hops > 1 && !at.leaf) detail.value = 0.0f;
    if (at.router == at.to) {
      choose(b, i, ejection(net, p));
      continue;
    }
    Ports ports;
    list_onward(df, at, ports);
    const u32 vc_class = onward_class(p, at);
    choose(b, i, {least_congested(congestion, p, at.router, ports, vc_class).port, vc_class});
  }
}

// Time without queueing, from `router` by `port` into the group.
float first_estimate(const Network& net, u32 router, u32 group, u32 port) {
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

void initialise(const Network& net, State& s) {
  fill_table(net, s, [&](u32 router, u32 row, u32 port) { return first_estimate(net, router, row, port); });
}

RoutingFacts setup(const Params& params, Network& net, std::shared_ptr<const ComponentData>& data) {
  auto rule = std::make_shared<Rule>();
  read_rates(params, *rule);
  rule->measure = measure_of(params, net);
  rule->queue_weight = params.real("queue_weight");
  shape_table(net, *rule, as_dragonfly_plus(net).g, "q_adaptive: destination group x non-terminal port", initialise);
  data = rule;
  return {kClasses, kMostHops};
}

const Register<RoutingSpec> entry([] {
  RoutingSpec spec{
      .name = "q_adaptive",
      .summary = "Q-table per destination group over the candidates of FPAR (flitgym's own, after Kang et al.)",
      .topologies = {"dragonfly_plus"},
      .params = q_adaptive_params_with_queues(),
      .setup = setup,
      .route = route,
      .learn = q_learn,
  };
  spec.candidates = every_path;
  spec.operations = row_and_queue_operations;
  spec.agent_can_choose = false;  // the relation `fpar` offers the same candidates
  return spec;
}());

}  // namespace

}  // namespace flitgym::routing::dragonfly_plus::q_adaptive
