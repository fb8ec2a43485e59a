// Q-adaptive with two corrections, after the description of X. Yuan (talks on UGAL-Q, Florida State University, 2025
// and 2026). The talks name two defects of routings with Q-tables on a Dragonfly: too few paths, and values that ignore
// the constraints of the next router. UGAL-Q itself is not published, so the corrections here are flitgym's own:
//
//   paths   The second router of the source group decides again: its minimal port, or one of its global ports. In
//           Q-adaptive (q_adaptive.cpp) only the source router leaves the minimal path in this group.
//   values  A router reports the value of the port that the packet takes. Q-adaptive reports the least value of all
//           ports, also of ports that the packet may not take.
//   choice  As in UGAL, a random allowed port is compared with the minimal port, so that packets do not rush to the
//           port that was best a round trip ago.
//
// A router is constrained differently in a packet's source group and in its intermediate group, so the table has rows
// for both:
//   row     (stage * (g - 1) + d) * p + slot; stage is 0 in the source group and 1 in an intermediate group; d and slot
//           as in Q-adaptive
//   column  non-terminal port
//   value   estimated time in ns from this input buffer to arrival in the destination group
// VC class = router-to-router hops done. The longest path is local, global, local, local, global, local.
#include "routing/dragonfly/learned.hpp"

namespace flitgym::routing::dragonfly::q_adaptive_corrected {

static u32 row_of(const Network& net, const Dragonfly& df, const Packet& p, u32 own_group, u32 destination_group) {
  const u32 stage = own_group != df.group(net.terminal_router[p.source]);
  return (stage * (df.g - 1) + number_among_others(own_group, destination_group)) * df.p + net.terminal_port[p.source];
}

static ColumnRange allowed(const Network& net, const Dragonfly& df, const Packet& p, u32 router, PortKind in_kind,
                           u32 k_min) {
  const u32 locals = df.a - 1, columns = net.link_span, group = df.group(router);
  if (group == df.group(net.terminal_router[p.destination])) return {};
  if (in_kind == PortKind::kTerminal) return {0, columns};
  if (group == df.group(net.terminal_router[p.source]))
    return p.hops == 1 ? ColumnRange{locals, columns} : ColumnRange{};
  return in_kind == PortKind::kGlobal && !df.is_global(k_min) ? ColumnRange{0, locals} : ColumnRange{};
}

static void route(const Network& net, State& s, Batch& b) {
  const Dragonfly& df = as_dragonfly(net);
  const auto& rule = static_cast<const QRule&>(*net.routing);
  for (u32 i = 0; i < b.count; i++) {
    const Head at = head(net, s, b, i);
    const Packet& p = at.packet;
    PacketDetail& detail = s.details[at.id];
    const u32 group = df.group(at.router), destination_group = df.group(at.to);
    const Channel& back = net.channels[net.port(at.router, at.in_port)];
    detail.value = -1.0f;  // no feedback
    u32 port;
    if (group == destination_group) {
      if (back.kind == PortKind::kGlobal) detail.value = 0.0f;
      port = at.arrived() ? net.terminal_port[p.destination] : df.local_port(at.router, at.to);
    } else {
      const float* const row = rule.table.row(s, at.router, row_of(net, df, p, group, destination_group));
      const u32 k_min = df.own_minimal_port(net, at.router, p);
      const ColumnRange range = allowed(net, df, p, at.router, back.kind, k_min);
      const bool at_home = group == df.group(net.terminal_router[p.source]);
      const Pick best = pick(net, p, row, k_min - df.p, range, at_home ? rule.q_thld1 : rule.q_thld2, rule.candidates);
      if (back.kind != PortKind::kTerminal) detail.value = best.value;
      port = df.p + best.column;
      if (!range.empty() && explores(net, s, rule, p))
        port = df.p + random_column(row, range, route_draw(net, p, 1), best.column);
    }
    if (detail.value >= 0) detail.row = row_of(net, df, p, df.group(net.router_of_port(back.peer)), destination_group);
    choose(b, i, {port, class_of(p, at.arrived())});
  }
}

static RoutingFacts setup(const Params& params, Network& net, QRule& rule) {
  read_described(params, rule);
  rule.row = row_of_group<row_of>;
  need_links_behind(net, "q_adaptive_corrected", as_dragonfly(net).p);
  shape_table(net, rule, 2 * (as_dragonfly(net).g - 1) * as_dragonfly(net).p,
              "q_adaptive_corrected: (source or intermediate group, destination group without own, source slot) x "
              "non-terminal port",
              estimate_by_links);
  return {6, 6};
}

const Register<RoutingSpec> entry({
    .name = "q_adaptive_corrected",
    .summary =
        "Q-adaptive with more paths and with values of allowed ports only, at most six hops (after the description of "
        "UGAL-Q by Yuan, 2025)",
    .topologies = {"dragonfly"},
    .params = described_params("the same threshold at the first router of an intermediate group, for its local ports"),
    .setup = with_rule<setup>,
    .route = route,
    .learn = q_learn,
    .candidates = list_columns<allowed>,
    .agent_can_choose = false,  // the relation `progressive` offers such candidates
});

}  // namespace flitgym::routing::dragonfly::q_adaptive_corrected
