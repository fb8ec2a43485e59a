// Q-adaptive (Kang, Wang, Lan, HPDC 2021): a two-level Q-table per router, at most five router-to-router hops.
// Semantics from the authors' code (SPEAR-IIT/sst-elements, merlin/topology/dragonfly.cc 1256-1511, 1880-2295).
//
// Table: row d * p + slot, where d is the destination group with the own group left out and slot the sender's place on
// its own source router; a column per non-terminal port; a value is the estimated time in ns from this input buffer to
// arrival in the destination group. VC class = router hops already done.
#include "routing/q_table.hpp"
#include "topology/dragonfly.hpp"

namespace flitgym {

namespace {

u32 row_of(const Network& net, const Dragonfly& df, const Packet& p, u32 own_group, u32 destination_group) {
  const u32 d = destination_group < own_group ? destination_group : destination_group - 1;
  return d * df.p + net.terminal_port[p.source];
}

// The source router consults its row: the best port if it beats the minimal one by at least the threshold.
u32 from_source(const Network& net, State& s, const Dragonfly& df, const QRule& rule, const Packet& p, u32 router, const float* row, float least, u32 k_min) {
  const float q_min_port = row[k_min - df.p];
  u32 port = k_min;
  if (q_min_port > least && !((q_min_port - least) / q_min_port < rule.threshold1)) port = df.p + q_argmin(row, rule.table.stride, least);
  if (rule.epsilon > 0 && !s.part.totals.frozen && unit(route_draw(net, p, 0)) < rule.epsilon) port = random_port(net, rule, router, route_draw(net, p, 1));
  return port;
}

// The first router of an intermediate group: a random local port if it beats the minimal one by the threshold.
u32 from_intermediate(const Network& net, State& s, const Dragonfly& df, const QRule& rule, const Packet& p, u32 router, const float* row, u32 k_min) {
  if (df.is_global(k_min) || df.a < 2) return k_min;
  const u32 k_random = df.p + below(route_draw(net, p, 2), df.a - 1);
  const float q_min_port = row[k_min - df.p], q_random = row[k_random - df.p];
  u32 port = (q_min_port - q_random) / q_min_port < rule.threshold2 ? k_min : k_random;
  if (rule.epsilon > 0 && !s.part.totals.frozen && unit(route_draw(net, p, 0)) < rule.epsilon) port = random_port(net, rule, router, route_draw(net, p, 1));
  return port;
}

void route(const Network& net, State& s, Batch& b) {
  const Dragonfly& df = dragonfly(net);
  const auto& rule = static_cast<const QRule&>(*net.routing);
  for (u32 i = 0; i < b.count; i++) {
    if (i + 4 < b.count) {  // the table does not fit the inner caches: ask for a row some requests early
      const Packet& ahead = s.packets[b.packet[i + 4]];
      const u32 at = b.router[i + 4], group = df.group(at), to = df.group(net.terminal_router[ahead.destination]);
      if (group != to) __builtin_prefetch(rule.table.row(s, at, row_of(net, df, ahead, group, to)), 1);
    }
    Packet& p = s.packets[b.packet[i]];
    PacketDetail& detail = s.details[b.packet[i]];
    const u32 router = b.router[i], group = df.group(router), to = net.terminal_router[p.destination], destination_group = df.group(to);
    const PortKind came_by = net.channels[net.port(router, b.in_port[i])].kind;
    u32 port = df.own_minimal_port(net, router, p);

    if (group == destination_group) {
      // There: the estimate is 0. What came over a local link belongs to no row any more and is not answered.
      detail.value = came_by == PortKind::kGlobal ? 0.0f : -1.0f;
    } else {
      const float* row = rule.table.row(s, router, row_of(net, df, p, group, destination_group));
      const float least = q_min(row, rule.table.stride);
      detail.value = came_by == PortKind::kTerminal ? -1.0f : least;  // off-policy: the least, whatever port is taken
      const u32 k_min = port;
      if (came_by == PortKind::kTerminal) port = from_source(net, s, df, rule, p, router, row, least, k_min);
      else if (came_by == PortKind::kGlobal && p.hops == 1) port = from_intermediate(net, s, df, rule, p, router, row, k_min);
    }
    if (detail.value >= 0) {
      const u32 upstream_group = df.group(net.router_of_port(net.channels[net.port(router, b.in_port[i])].peer));
      detail.row = row_of(net, df, p, upstream_group, destination_group);
    }
    b.out_port[i] = static_cast<u16>(port);
    // Ejection keeps the VC of the last hop.
    b.out_class[i] = router == to ? static_cast<u16>(p.hops > 0 ? p.hops - 1 : 0) : p.hops;
  }
}

void initialise(const Network& net, State& s) {
  const Dragonfly& df = dragonfly(net);
  const auto global = static_cast<float>(net.link_latency_ns[2]), local = static_cast<float>(net.link_latency_ns[1]);
  fill_table(net, s, [&](u32 router, u32 row, u32 port) {
    const u32 d = row / df.p, group = d < df.group(router) ? d : d + 1;
    const u32 peer = net.channels[net.port(router, port)].peer;
    const bool direct = df.is_global(port) && df.group(net.router_of_port(peer)) == group;
    return direct ? global : global + local;
  });
}

RoutingFacts setup(const Params& params, Network& net, std::shared_ptr<const ComponentData>& data) {
  auto rule = std::make_shared<QRule>();
  read_rates(params, *rule);
  rule->threshold2 = params.real("q_thld2");
  shape_table(net, *rule, (dragonfly(net).g - 1) * dragonfly(net).p, "q_adaptive: (destination group without own, source slot) x non-terminal port", initialise);
  data = rule;
  return {5, 5};
}

std::vector<ParamSpec> params() {
  auto specs = q_adaptive_params();
  specs.push_back(real("q_thld2", 0.35, -1e9, 1e9, "", "at the intermediate group's first router: likewise, against a random local port; large = never"));
  return specs;
}

const Register<RoutingSpec> entry({
    "q_adaptive",
    "two-level Q-table per router, at most five hops (Kang et al., HPDC 2021)",
    {"dragonfly"},
    params(),
    setup,
    route,
    q_learn,
});

}  // namespace

}  // namespace flitgym
