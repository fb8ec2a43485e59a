// Q-routing (Boyan & Littman, NIPS 1993) with a bound on hops ("maxQ"). Every router keeps an estimated time to each
// destination router by each port. It forwards to the port of the least estimate and learns from its neighbour's
// estimate. The table is consulted for the first max_hops hops, then the path is minimal. So a path has at most
// max_hops hops plus the diameter. The VC class is the number of hops done, so there are as many classes. Q-routing
// runs on any topology. Semantics of the Q-adaptive authors' comparison (dragonfly.cc 204-215, 1371-1401, 1851-1878).
#include "simcore/routing/paths.hpp"
#include "simcore/routing/q_table.hpp"

namespace flitgym::routing::graph::q_routing {

namespace {

// The least value of a row, over the columns of links that are up.
float least_usable(const Network& net, const Graph& g, u32 router, const float* row) {
  float least = kUnreachable;
  each_link(net, g, router, [&](u32 k) { least = std::min(least, row[k - net.first_link[router]]); });
  return least;
}
u32 argmin_usable(const Network& net, const Graph& g, const QRule& rule, u32 router, const float* row, float least) {
  if (g.down.empty()) return net.first_link[router] + q_argmin(row, rule.table.stride, least);
  u32 best = kNone;
  each_link(net, g, router, [&](u32 k) {
    if (best == kNone && row[k - net.first_link[router]] == least) best = k;
  });
  return best;
}

u32 random_usable(const Network& net, const Graph& g, const QRule& rule, u32 router, u64 bits) {
  if (g.down.empty()) return random_port(net, rule, router, bits);
  u16 ports[kMaxRadix];
  u32 n = 0;
  each_link(net, g, router, [&](u32 k) { ports[n++] = static_cast<u16>(k); });
  return ports[below(bits, n)];
}

void route(const Network& net, State& s, Batch& b) {
  const Topology& topology = *net.topology;
  const Graph& graph = graph_now(net, s);
  const auto& rule = static_cast<const QRule&>(*net.routing);
  for (u32 i = 0; i < b.count; i++) {
    Packet& p = s.packets[b.packet[i]];
    PacketDetail& detail = s.details[b.packet[i]];
    const u32 router = b.router[i], to = net.terminal_router[p.destination];
    const bool from_terminal = net.channels[net.port(router, b.in_port[i])].kind == PortKind::kTerminal;
    u32 port = topology.minimal_port(net, graph, router, p);
    detail.row = to;

    if (router == to) {
      detail.value = from_terminal ? -1.0f : 0.0f;
    } else {
      const float* row = rule.table.row(s, router, to);
      const float least = graph.down.empty() ? q_min(row, rule.table.stride) : least_usable(net, graph, router, row);
      detail.value = from_terminal ? -1.0f : least;
      if (p.hops < rule.max_hops) {
        const u32 k_min = port;
        const float q_min_port = row[k_min - net.first_link[router]];
        if (q_min_port > least && !((q_min_port - least) / q_min_port < rule.q_thld1))
          port = argmin_usable(net, graph, rule, router, row, least);
        if (rule.epsilon > 0 && !s.part.totals.frozen && unit(route_draw(net, p, 0)) < rule.epsilon)
          port = random_usable(net, graph, rule, router, route_draw(net, p, 1));
      }
    }
    b.out_port[i] = static_cast<u16>(port);
    b.out_class[i] = static_cast<u16>(router == to ? ejection_class(net, p) : hop_class(net, p));
  }
}

void initialise(const Network& net, State& s) {
  fill_table(net, s, [&](u32 router, u32 row, u32 port) { return first_estimate_ns(net, router, port, row); });
}

RoutingFacts setup(const Params& params, Network& net, std::shared_ptr<const ComponentData>& data) {
  auto rule = std::make_shared<QRule>();
  read_rates(params, *rule);
  rule->max_hops = params.count("max_hops");
  shape_table(net, *rule, net.routers, "q_routing: destination router x non-terminal port", initialise);
  data = rule;
  need_estimates(net);
  const u32 most = hops_in_all(net, rule->max_hops);
  return {most, most};
}

const Register<RoutingSpec> entry([] {
  RoutingSpec spec{
      .name = "q_routing",
      .summary =
          "Q-table per destination router for the first hops, then minimal (Boyan & Littman 1993, with a hop bound)",
      .params =
          {
              real("alpha", 0.5, 0, 1, "", "learning rate if the path was faster than estimated"),
              real("beta", 0.5, 0, 1, "",
                   "learning rate if the path was slower than estimated; plain Q-routing has beta = alpha"),
              real("epsilon", 0, 0, 1, "", "probability of a random port at a router that consults the table"),
              real("q_thld1", 0, 0, 1e9, "",
                   "relative gain below which the minimal port is kept; 0 = always the port of the least estimate"),
              integer("max_hops", 2, 1, 16, "hops", "the table is consulted at routers reached in fewer hops"),
              flag("integer_ns", true, "truncate estimates to whole ns, as the authors' code does"),
          },
      .setup = setup,
      .route = route,
      .learn = q_learn,
  };
  spec.graph = true;
  return spec;
}());

}  // namespace

}  // namespace flitgym::routing::graph::q_routing
