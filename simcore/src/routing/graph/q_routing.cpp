// Q-routing (Boyan & Littman, NIPS 1993) with a bound on hops ("maxQ"). Every router keeps an estimated time to each
// destination router by each port. It forwards to the port of the least estimate and learns from its neighbour's
// estimate. The table is consulted for the first max_hops hops, then the path is minimal. So a path has at most
// max_hops hops plus the diameter. The VC class is the number of hops done, so there are as many classes. Q-routing
// runs on any topology. The relation offers the same paths to agents. Semantics of the Q-adaptive authors' comparison
// (dragonfly.cc 204-215, 1371-1401, 1851-1878).
#include "simcore/routing/paths.hpp"
#include "simcore/routing/q_table.hpp"

namespace flitgym::routing::graph::q_routing {

// The least value of a row, over the columns of links that are up.
static float least_usable(const Network& net, const Graph& g, const QRule& rule, u32 router, const float* row) {
  if (g.down.empty()) return q_min(row, rule.table.stride);
  float least = kUnreachable;
  each_link(net, g, router, [&](u32 k) { least = std::min(least, row[k - net.first_link[router]]); });
  return least;
}
static u32 argmin_usable(const Network& net, const Graph& g, const QRule& rule, u32 router, const float* row,
                         float least) {
  if (g.down.empty()) return net.first_link[router] + q_argmin(row, rule.table.stride, least);
  u32 best = kNone;
  each_link(net, g, router, [&](u32 k) {
    if (best == kNone && row[k - net.first_link[router]] == least) best = k;
  });
  return best;
}

static u32 class_at(const Head& at) {
  return at.arrived() ? ejection_class(at.net, at.packet) : hop_class(at.net, at.packet);
}

static void route(const Network& net, State& s, Batch& b) {
  const Graph& graph = graph_now(net, s);
  const auto& rule = static_cast<const QRule&>(*net.routing);
  for (u32 i = 0; i < b.count; i++) {
    const Head at = head(net, s, b, i);
    PacketDetail& detail = s.details[at.id];
    const bool from_terminal = net.channels[net.port(at.router, at.in_port)].kind == PortKind::kTerminal;
    const u32 k_min = net.topology->minimal_port(net, graph, at.router, at.packet);
    u32 port = k_min;
    float least = 0;
    if (!at.arrived()) {
      const float* row = rule.table.row(s, at.router, at.to);
      least = least_usable(net, graph, rule, at.router, row);
      if (at.packet.hops < rule.max_hops) {
        const float q_min_port = row[k_min - net.first_link[at.router]];
        if (q_min_port > least && !((q_min_port - least) / q_min_port < rule.q_thld1))
          port = argmin_usable(net, graph, rule, at.router, row, least);
        if (explores(net, s, rule, at.packet))
          port = random_link(net, graph, at.router, [&](u32 n) { return below(route_draw(net, at.packet, 1), n); });
      }
    }
    detail.row = at.to;
    detail.value = from_terminal ? -1.0f : least;
    choose(b, i, {port, class_at(at)});
  }
}

static RoutingFacts setup(const Params& params, Network& net, QRule& rule) {
  read_rates(params, rule);
  rule.row = row_of_router;
  rule.max_hops = params.count("max_hops");
  shape_table(net, rule, net.routers, "q_routing: destination router x non-terminal port", estimate_by_router);
  need_estimates(net);
  return class_per_hop(net, rule.max_hops);
}

const Register<RoutingSpec> entry({
    .name = "q_routing",
    .summary =
        "Q-table per destination router for the first hops, then minimal (Boyan & Littman 1993, with a hop bound)",
    .params = {real("alpha", 0.5, 0, 1, "", "learning rate if the path was faster than estimated"),
               real("beta", 0.5, 0, 1, "",
                    "learning rate if the path was slower than estimated; plain Q-routing has beta = alpha"),
               real("epsilon", 0, 0, 1, "", "probability of a random port at a router that consults the table"),
               real("q_thld1", 0, 0, 1e9, "",
                    "relative gain below which the minimal port is kept; 0 = always the port of the least estimate"),
               integer("max_hops", 2, 1, 16, "hops", "the table is consulted at routers reached in fewer hops"),
               flag("integer_ns", true, "truncate estimates to whole ns, as the authors' code does")},
    .setup = with_rule<setup>,
    .route = route,
    .learn = q_learn,
    .graph = true,
});

// Any port for the first hops, then the minimal port.
static void candidates(const Network& net, State& s, Batch& b) {
  const u32 max_hops = static_cast<const QRule&>(*net.relation).max_hops;
  const Graph& graph = graph_now(net, s);
  list_requests(net, s, b, [&](const Head& at, auto&& offer) {
    const u32 k_min = net.topology->minimal_port(net, graph, at.router, at.packet), vc_class = class_at(at);
    offer(k_min, vc_class);
    if (!at.arrived() && at.packet.hops < max_hops)
      each_link(net, graph, at.router, [&](u32 k) {
        if (k != k_min) offer(k, vc_class);
      });
  });
}

static RoutingFacts setup_relation(const Params& params, Network& net, QRule& rule) {
  rule.max_hops = params.count("max_hops");
  return class_per_hop(net, rule.max_hops);
}

const Register<RelationSpec> relation({
    .name = "q_routing",
    .summary = "any port for the first hops, then the minimal port; a VC class per hop",
    .params = {integer("max_hops", 2, 1, 16, "hops", "any port at routers reached in fewer hops")},
    .setup = with_rule<setup_relation>,
    .candidates = candidates,
    .graph = true,
});

}  // namespace flitgym::routing::graph::q_routing
