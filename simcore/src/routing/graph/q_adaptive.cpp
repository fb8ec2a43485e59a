// Q-adaptive on any graph. It keeps the principles of the Dragonfly version (Kang, Wang, Lan, HPDC 2021). Hops are
// bounded, off-policy estimates travel back over each link, and learning is hysteretic. The minimal port is kept unless
// another port is better by a threshold. A general graph has no groups that a table could exploit. So a row of a
// router's table is a destination router, and a column is a port. A value is the estimated time in ns from the decision
// here to arrival there.
//
// A packet's path may have up to `deroutes` hops more than the minimal path. It may spend them at any router. VC class
// = hops done. As on a HyperX (routing/hyperx/q_adaptive.cpp), the clock starts with the decision, and the queue of a
// port is added to the table's value. The router sees this queue itself, while feedback takes a round trip. Without the
// queue all packets would rush to the port that was best a round trip ago.
#include "simcore/routing/paths.hpp"
#include "simcore/routing/q_table.hpp"

namespace flitgym::routing::graph::q_adaptive {

namespace {

struct Rule : QRule {
  CongestionMeasure measure;
  double queue_weight = 0;
  u32 deroutes = 2;
};

void route(const Network& net, State& s, Batch& b) {
  const auto& rule = static_cast<const Rule&>(*net.routing);
  const Graph& graph = graph_now(net, s);
  for (u32 i = 0; i < b.count; i++) {
    const Packet& p = s.packets[b.packet[i]];
    PacketDetail& detail = s.details[b.packet[i]];
    const u32 router = b.router[i], to = net.terminal_router[p.destination];
    const bool from_link = net.is_link(net.port(router, b.in_port[i]));
    detail.value = from_link ? 0.0f : -1.0f;
    detail.arrived = b.now;
    detail.row = to;
    if (router == to) {
      choose(b, i, ejection(net, p));
      continue;
    }
    const float* const row = rule.table.row(s, router, to);
    const u32 vc_class = hop_class(net, p), first = net.first_link[router];
    u16 ports[kMaxRadix];
    u32 n = 0, best = kNone, minimal = kNone;
    float least = 0, least_minimal = 0, estimate = kUnreachable;
    each_detour(net, graph, p, router, to, b.in_port[i], rule.deroutes, [&](u32 k, bool nearer) {
      const u32 port = net.port(router, k);
      const double queue = rule.queue_weight > 0 ? rule.queue_weight * rule.measure.of(net, s, port, vc_class) *
                                                       net.channels[port].flit_cycles * net.cycle_ns
                                                 : 0;
      const float value = row[k - first] + static_cast<float>(queue);
      ports[n++] = static_cast<u16>(k);
      estimate = std::min(estimate, row[k - first]);
      if (best == kNone || value < least) best = k, least = value;
      if (nearer && (minimal == kNone || value < least_minimal)) minimal = k, least_minimal = value;
    });
    if (from_link) detail.value = estimate;
    u32 port = minimal;
    if (best != minimal && (least_minimal - least) / least_minimal >= rule.q_thld1) port = best;
    if (rule.epsilon > 0 && !s.part.totals.frozen && unit(route_draw(net, p, 0)) < rule.epsilon)
      port = ports[below(route_draw(net, p, 1), n)];
    choose(b, i, {port, vc_class});
  }
}

void candidates(const Network& net, State& s, Batch& b) {
  const u32 deroutes = static_cast<const Rule&>(*net.relation).deroutes;
  const Graph& graph = graph_now(net, s);
  list_candidates(net, b, [&](u32 i, auto&& offer) {
    const Packet& p = s.packets[b.packet[i]];
    const u32 router = b.router[i], to = net.terminal_router[p.destination];
    if (router == to) return offer(net.terminal_port[p.destination], kAnyClass);
    each_detour(net, graph, p, router, to, b.in_port[i], deroutes, [&](u32 k, bool) { offer(k, hop_class(net, p)); });
  });
}

void initialise(const Network& net, State& s) {
  fill_table(net, s, [&](u32 router, u32 row, u32 port) { return first_estimate_ns(net, router, port, row); });
}

RoutingFacts setup(const Params& params, Network& net, std::shared_ptr<const ComponentData>& data) {
  auto rule = std::make_shared<Rule>();
  read_rates(params, *rule);
  rule->measure = measure_of(params, net);
  rule->queue_weight = params.real("queue_weight");
  rule->deroutes = params.integer("deroutes") < 0 ? 2 : params.count("deroutes");
  need_estimates(net);
  shape_table(net, *rule, net.routers, "q_adaptive: destination router x non-terminal port", initialise);
  data = rule;
  const u32 most = hops_in_all(net, rule->deroutes);
  return {most, most};
}

std::vector<ParamSpec> params() {
  auto specs = q_adaptive_params_with_queues();
  specs.push_back(
      integer("deroutes", -1, -1, kMaxVcs, "hops", "hops allowed beyond those of the minimal path; -1 = 2"));
  return specs;
}

const Register<RoutingSpec> entry([] {
  RoutingSpec spec{
      .name = "q_adaptive",
      .summary =
          "Q-table per destination router, with a bounded number of extra hops (flitgym's own, after Kang et al.)",
      .params = params(),
      .setup = setup,
      .route = route,
      .learn = q_learn,
  };
  spec.candidates = candidates;
  spec.operations = row_and_queue_operations;
  spec.agent_can_choose = false;  // the relation `detours` offers the same candidates
  spec.graph = true;
  return spec;
}());

}  // namespace

}  // namespace flitgym::routing::graph::q_adaptive
