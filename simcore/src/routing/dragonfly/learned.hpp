// Shared by the routings that learn on a Dragonfly, and by the relations of their paths.
#pragma once

#include "simcore/routing/q_table.hpp"
#include "simcore/topology/dragonfly.hpp"

namespace flitgym::routing::dragonfly {

inline u32 number_among_others(u32 own, u32 group) { return group < own ? group : group - 1; }

// VC class = router-to-router hops done. Ejection keeps the VC of the last hop.
inline u32 class_of(const Packet& p, bool arrived) { return arrived && p.hops > 0 ? p.hops - 1u : p.hops; }

// QRule::row of a table with rows per destination group.
template <auto kRowOf>
inline u32 row_of_group(const Network& net, u32 router, const Packet& p) {
  const Dragonfly& df = as_dragonfly(net);
  const u32 own = df.group(router), to = df.group(net.terminal_router[p.destination]);
  return own == to ? kNone : kRowOf(net, df, p, own, to);
}

// Lists the minimal port, and the ports of the columns that kAllowed(net, df, p, router, kind of input, minimal port)
// returns.
template <auto kAllowed>
void list_columns(const Network& net, State& s, Batch& b) {
  const Dragonfly& df = as_dragonfly(net);
  list_requests(net, s, b, [&](const Head& at, auto&& offer) {
    const u32 vc_class = class_of(at.packet, at.arrived()), k_min = df.own_minimal_port(net, at.router, at.packet);
    offer(k_min, vc_class);
    const PortKind in_kind = net.channels[net.port(at.router, at.in_port)].kind;
    const ColumnRange range = kAllowed(net, df, at.packet, at.router, in_kind, k_min);
    for (u32 k = df.p + range.first; k < df.p + range.end; k++)
      if (k != k_min && net.is_link(net.port(at.router, k))) offer(k, vc_class);
  });
}

// Link latencies alone, for rows that end with (destination group without own, source slot).
inline void estimate_by_links(const Network& net, State& s) {
  const Dragonfly& df = as_dragonfly(net);
  const auto global = static_cast<float>(net.link_latency_ns[2]), local = static_cast<float>(net.link_latency_ns[1]);
  fill_table(
      net, s,
      [&](u32 router, u32 row, u32 port) {
        const u32 other = df.group(net.next_router(net.port(router, port)));
        const bool direct =
            df.is_global(port) && number_among_others(df.group(router), other) == row / df.p % (df.g - 1);
        return direct ? global : global + local;
      },
      df.p);
}

}  // namespace flitgym::routing::dragonfly
