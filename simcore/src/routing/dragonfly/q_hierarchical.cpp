// Hierarchical Q-learning, after the description of Q-hierarchical (IEEE ICC 2023, doi 10.1109/ICC45041.2023.10278794):
// routing between groups and routing within a group are learned apart. Only the abstract was available. The tables, the
// paths and the learning rule here are flitgym's own.
//
// Table of a router:
//   rows 0 .. g-2   between groups: one per destination group, without the own group. Value: time in ns from this input
//                   buffer to arrival in the destination group
//   rows g-1 ..     within the group: one per router of the own group. Value: time in ns to arrival at that router
//   columns         non-terminal ports
// All packets to a group share a row, so a row learns from more packets than a row of Q-adaptive.
//
// Between groups, the source router chooses any port, and the second router of the source group chooses its minimal
// port or one of its global ports. In an intermediate group, the goal is the router with the link to the destination
// group. Within a group, the first router that the packet reaches chooses the direct port to the goal, or a detour over
// one other router. The goal in the destination group is the last router. VC class = router-to-router hops done. The
// longest path is local, global, 2 local, global, 2 local.
//
// Every hop between routers trains one row. A hop of a detour and a hop in the destination group train the row within
// the group, and all others train the row between groups. A report holds the value of the port that the packet takes.
#include "routing/dragonfly/learned.hpp"

namespace flitgym::routing::dragonfly::q_hierarchical {

static u32 row_within(const Dragonfly& df, u32 to) { return df.g - 1 + df.place_of[to]; }

// Columns of the ports that a packet may take besides its minimal port.
static ColumnRange allowed(const Network& net, const Dragonfly& df, const Packet& p, u32 router, PortKind in_kind,
                           u32 k_min) {
  const u32 locals = df.a - 1, group = df.group(router);
  const bool there = group == df.group(net.terminal_router[p.destination]);
  if (!there && group == df.group(net.terminal_router[p.source]))
    return p.hops > 1 ? ColumnRange{} : ColumnRange{in_kind == PortKind::kTerminal ? 0 : locals, net.link_span};
  const bool inner = net.channels[net.port(router, k_min)].kind == PortKind::kLocal;
  return in_kind != PortKind::kLocal && inner ? ColumnRange{0, locals} : ColumnRange{};
}

struct Step {
  u32 port;
  float value;  // for the router that the packet came from; negative: no report
  u32 row;      // of that router's table
};

// Towards router `goal` of the same group. The phase kToIntermediate marks the first hop of a detour.
static Pick within(const Head& at, const Dragonfly& df, const QRule& rule, u32 goal, bool decides) {
  const Network& net = at.net;
  Packet& p = at.packet;
  const float* const row = rule.table.row(at.s, at.router, row_within(df, goal));
  const u32 direct = df.local_port(at.router, goal) - df.p;
  const ColumnRange range = decides ? ColumnRange{0, df.a - 1} : ColumnRange{};
  Pick best = pick(net, p, row, direct, range, rule.q_thld2, rule.candidates);
  if (decides && explores(net, at.s, rule, p)) best.column = random_column(row, range, route_draw(net, p, 1), direct);
  p.phase = best.column != direct ? kToIntermediate : p.phase == kToIntermediate ? kFromIntermediate : kMinimal;
  return best;
}

// The packet is in its destination group, at another router than its last one or at this router.
static Step in_destination_group(const Head& at, const Dragonfly& df, const QRule& rule, PortKind in_kind) {
  Step step{at.net.terminal_port[at.packet.destination], 0.0f, row_within(df, at.to)};
  if (!at.arrived()) {
    const Pick best = within(at, df, rule, at.to, in_kind != PortKind::kLocal);
    step.port = df.p + best.column;
    step.value = best.value;
  }
  if (in_kind == PortKind::kGlobal) step.value = 0.0f;  // the row between groups ends here
  return step;
}

// The packet is in its source group or in an intermediate group.
static Step between_groups(const Head& at, const Dragonfly& df, const QRule& rule, PortKind in_kind) {
  const Network& net = at.net;
  Packet& p = at.packet;
  const u32 router = at.router, group = df.group(router), k_min = df.own_minimal_port(net, router, p);
  const float* const row = rule.table.row(at.s, router, number_among_others(group, df.group(at.to)));
  const u32 goal = df.is_global(k_min) ? router : net.router_of_port(net.channels[net.port(router, k_min)].peer);
  if (group == df.group(net.terminal_router[p.source])) {
    const ColumnRange range = allowed(net, df, p, router, in_kind, k_min);
    Pick best = pick(net, p, row, k_min - df.p, range, rule.q_thld1, rule.candidates);
    if (!range.empty() && explores(net, at.s, rule, p))
      best.column = random_column(row, range, route_draw(net, p, 1), best.column);
    return {df.p + best.column, best.value, kNone};
  }
  const Phase came = p.phase;
  if (goal == router) {
    p.phase = kMinimal;
    if (came == kFromIntermediate) return {k_min, 0.0f, row_within(df, router)};
    return {k_min, row[k_min - df.p], kNone};
  }
  const Pick best = within(at, df, rule, goal, in_kind == PortKind::kGlobal);
  if (came == kToIntermediate) return {df.p + best.column, best.value, row_within(df, goal)};
  // The row between groups counts the direct hop to the goal. A better way within the group saves this time.
  const float direct = rule.table.row(at.s, router, row_within(df, goal))[k_min - df.p];
  return {df.p + best.column, std::max(0.0f, row[k_min - df.p] - (direct - best.value)), kNone};
}

// The row that holds the candidates of a packet.
static u32 row_of(const Network& net, u32 router, const Packet& p) {
  const Dragonfly& df = as_dragonfly(net);
  const u32 to = net.terminal_router[p.destination], own = df.group(router), group = df.group(to);
  if (own == group) return router == to ? kNone : row_within(df, to);
  if (own == df.group(net.terminal_router[p.source])) return number_among_others(own, group);
  const u32 k_min = df.own_minimal_port(net, router, p);
  return df.is_global(k_min) ? kNone : row_within(df, net.next_router(net.port(router, k_min)));
}

static void route(const Network& net, State& s, Batch& b) {
  const Dragonfly& df = as_dragonfly(net);
  const auto& rule = static_cast<const QRule&>(*net.routing);
  for (u32 i = 0; i < b.count; i++) {
    const Head at = head(net, s, b, i);
    PacketDetail& detail = s.details[at.id];
    const u32 own = df.group(at.router), group = df.group(at.to);
    const Channel& back = net.channels[net.port(at.router, at.in_port)];
    const Step step =
        own == group ? in_destination_group(at, df, rule, back.kind) : between_groups(at, df, rule, back.kind);
    detail.value = back.kind == PortKind::kTerminal ? -1.0f : step.value;
    if (detail.value >= 0) {
      const u32 from = df.group(net.router_of_port(back.peer));
      detail.row = step.row == kNone || from != own ? number_among_others(from, group) : step.row;
    }
    choose(b, i, {step.port, class_of(at.packet, at.arrived())});
  }
}

// Times of the allowed paths without queues.
static void initialise(const Network& net, State& s) {
  const Dragonfly& df = as_dragonfly(net);
  const auto hop = [&](u32 router, u32 port) { return static_cast<float>(hop_ns(net, net.port(router, port))); };
  const auto peer = [&](u32 router, u32 port) { return net.router_of_port(net.channels[net.port(router, port)].peer); };
  // Along the minimal path to the group.
  const auto minimal = [&](u32 router, u32 group) {
    float ns = 0;
    while (df.group(router) != group) {
      const u32 port = df.exit(router, group, 0);
      ns += hop(router, port);
      router = peer(router, port);
    }
    return ns;
  };
  fill_table(net, s, [&](u32 router, u32 row, u32 port) {
    const u32 own = df.group(router), next = peer(router, port);
    if (row >= df.g - 1) {
      const u32 goal = own * df.a + row - (df.g - 1);
      if (df.is_global(port) || goal == router) return kUnreachable;
      return hop(router, port) + (next == goal ? 0.0f : hop(next, df.local_port(next, goal)));
    }
    const u32 group = row < own ? row : row + 1;
    float rest = minimal(next, group);
    if (!df.is_global(port))
      for (u32 k = df.p + df.a - 1; k < net.radix; k++)
        if (net.is_link(net.port(next, k))) rest = std::min(rest, hop(next, k) + minimal(peer(next, k), group));
    return hop(router, port) + rest;
  });
}

static RoutingFacts setup(const Params& params, Network& net, QRule& rule) {
  read_described(params, rule);
  rule.row = row_of;
  const Dragonfly& df = as_dragonfly(net);
  need_links_behind(net, "q_hierarchical", df.p);
  shape_table(net, rule, df.g - 1 + df.a,
              "q_hierarchical: (destination group without own; then router of the own group) x non-terminal port",
              initialise);
  return {7, 7};
}

const Register<RoutingSpec> entry({
    .name = "q_hierarchical",
    .summary =
        "Q-tables between groups and within a group, at most seven hops (after the description of Q-hierarchical, ICC "
        "2023)",
    .topologies = {"dragonfly"},
    .params = described_params("the same threshold within a group, for detours over another router of the group"),
    .setup = with_rule<setup>,
    .route = route,
    .learn = q_learn,
    .candidates = list_columns<allowed>,
    .agent_can_choose = false,  // the relation `progressive` offers such candidates
});

}  // namespace flitgym::routing::dragonfly::q_hierarchical
