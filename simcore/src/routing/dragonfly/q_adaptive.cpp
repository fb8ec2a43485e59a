// Q-adaptive (Kang, Wang, Lan, HPDC 2021): a two-level Q-table per router, at most five router-to-router hops.
// Semantics from the authors' code (SPEAR-IIT/sst-elements, merlin/topology/dragonfly.cc 1256-1511, 1880-2295).
//
// Table of a router:
//   row     d * p + slot; d is the number of the destination group, with the router's own group left out of the count;
//           slot is the index of the sender on its source router
//   column  non-terminal port
//   value   estimated time in ns from this input buffer to arrival in the destination group
// VC class = router-to-router hops done.
#include <algorithm>

#include "routing/q_table.hpp"
#include "topology/dragonfly.hpp"

namespace flitgym::routing::dragonfly::q_adaptive {

namespace {

u32 row_of(const Network& net, const Dragonfly& df, const Packet& p, u32 own_group, u32 destination_group) {
  const u32 d = destination_group < own_group ? destination_group : destination_group - 1;
  return d * df.p + net.terminal_port[p.source];
}

// Decision at the source router: the best port if it beats the minimal port by at least q_thld1 (relative).
u32 from_source(const Network& net, State& s, const Dragonfly& df, const QRule& rule, const Packet& p, u32 router,
                const float* row, float least, u32 k_min) {
  const float q_min_port = row[k_min - df.p];
  u32 port = k_min;
  if (q_min_port > least && !((q_min_port - least) / q_min_port < rule.q_thld1))
    port = df.p + q_argmin(row, rule.table.stride, least);
  if (rule.epsilon > 0 && !s.part.totals.frozen && unit(route_draw(net, p, 0)) < rule.epsilon)
    port = random_port(net, rule, router, route_draw(net, p, 1));
  return port;
}

// Decision at the first router of an intermediate group: a random local port if it beats the minimal port by at least
// q_thld2 (relative).
u32 from_intermediate(const Network& net, State& s, const Dragonfly& df, const QRule& rule, const Packet& p, u32 router,
                      const float* row, u32 k_min) {
  if (df.is_global(k_min) || df.a < 2) return k_min;
  const u32 k_random = df.p + below(route_draw(net, p, 2), df.a - 1);
  const float q_min_port = row[k_min - df.p], q_random = row[k_random - df.p];
  u32 port = (q_min_port - q_random) / q_min_port < rule.q_thld2 ? k_min : k_random;
  if (rule.epsilon > 0 && !s.part.totals.frozen && unit(route_draw(net, p, 0)) < rule.epsilon)
    port = random_port(net, rule, router, route_draw(net, p, 1));
  return port;
}

// The destination of a request, and its row of the table (null in the destination group).
struct Lookup {
  u32 to, group, destination_group;
  const float* row;
};
constexpr u32 kBlock = 16;  // requests

// The table exceeds the inner caches. So the rows of a block of requests are prefetched before the first row is read.
u32 look_up(const Network& net, State& s, const Dragonfly& df, const QRule& rule, const Batch& b, u32 first,
            Lookup* lookup) {
  const u32 count = std::min(kBlock, b.count - first);
  const u32 *const ids = b.packet.data() + first, *const routers = b.router.data() + first;
  const float* const table = rule.table.row(s, 0, 0);
  const Packet* const packets = s.packets.data();
  for (u32 i = 0; i < count; i++) {
    const Packet& p = packets[ids[i]];
    const u32 to = net.terminal_router[p.destination], group = df.group(routers[i]), destination_group = df.group(to);
    const float* row = nullptr;
    if (group != destination_group) {
      row = table + (std::size_t{routers[i]} * rule.table.rows + row_of(net, df, p, group, destination_group)) *
                        rule.table.stride;
      __builtin_prefetch(row, 1);
    }
    lookup[i] = {to, group, destination_group, row};
  }
  return count;
}

void decide(const Network& net, State& s, const Dragonfly& df, const QRule& rule, Batch& b, u32 i,
            const Lookup& lookup) {
  const u32 router = b.router[i];
  Packet& p = s.packets[b.packet[i]];
  PacketDetail& detail = s.details[b.packet[i]];
  const Channel& back = net.channels[net.port_of_vc(b.input_vc[i])];
  const PortKind in_kind = back.kind;
  float value = -1.0f;  // no feedback
  u32 port;
  if (!lookup.row) {
    // In the destination group the estimate is 0. A packet that arrived over a local link was already in this group at
    // the previous router. The table of that router has no row for it, so no feedback is sent.
    if (in_kind == PortKind::kGlobal) value = 0.0f;
    port = router == lookup.to ? net.terminal_port[p.destination] : df.local_port(router, lookup.to);
  } else {
    const float* const row = lookup.row;
    const float least = q_min(row, rule.table.stride);
    const u32 k_min = port = df.exit(router, lookup.destination_group, df.link_of(p));
    if (in_kind == PortKind::kTerminal) {
      port = from_source(net, s, df, rule, p, router, row, least, k_min);
    } else {
      value = least;  // off-policy: the least value, whichever port is taken
      if (in_kind == PortKind::kGlobal && p.hops == 1)
        port = from_intermediate(net, s, df, rule, p, router, row, k_min);
    }
    if (port != k_min) [[unlikely]]
      df.mark_detour(net, p, router, port);
  }
  detail.value = value;
  if (value >= 0) detail.row = row_of(net, df, p, df.group(net.router_of_port(back.peer)), lookup.destination_group);
  b.out_port[i] = static_cast<u16>(port);
  // Ejection keeps the VC of the last hop.
  b.out_class[i] = router == lookup.to ? static_cast<u16>(p.hops > 0 ? p.hops - 1 : 0) : p.hops;
}

void route(const Network& net, State& s, Batch& b) {
  const Dragonfly& df = as_dragonfly(net);
  const auto& rule = static_cast<const QRule&>(*net.routing);
  Lookup lookup[kBlock];
  for (u32 first = 0; first < b.count; first += kBlock) {
    const u32 count = look_up(net, s, df, rule, b, first, lookup);
    for (u32 k = 0; k < count; k++) decide(net, s, df, rule, b, first + k, lookup[k]);
  }
}

void initialise(const Network& net, State& s) {
  const Dragonfly& df = as_dragonfly(net);
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
  rule->q_thld2 = params.real("q_thld2");
  shape_table(net, *rule, (as_dragonfly(net).g - 1) * as_dragonfly(net).p,
              "q_adaptive: (destination group without own, source slot) x non-terminal port", initialise);
  data = rule;
  RoutingFacts facts{5, 5};
  facts.marks = true;
  return facts;
}

std::vector<ParamSpec> params() {
  auto specs = q_adaptive_params();
  specs.push_back(real("q_thld2", 0.35, -1e9, 1e9, "",
                       "relative gain of a random local port below which the first router of an intermediate group "
                       "keeps the minimal port; large = always"));
  return specs;
}

const Register<RoutingSpec> entry({
    .name = "q_adaptive",
    .summary = "two-level Q-table per router, at most five hops (Kang et al., HPDC 2021)",
    .topologies = {"dragonfly"},
    .params = params(),
    .setup = setup,
    .route = route,
    .learn = q_learn,
    .operations = row_operations,
});

}  // namespace

}  // namespace flitgym::routing::dragonfly::q_adaptive
