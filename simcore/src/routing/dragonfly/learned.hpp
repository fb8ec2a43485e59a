// Shared by the routings that learn on a Dragonfly, and by the relations of their paths.
#pragma once

#include "simcore/routing/q_table.hpp"
#include "simcore/topology/dragonfly.hpp"

namespace flitgym::routing::dragonfly {

// The number of a group among the groups other than `own`.
inline u32 number_among_others(u32 own, u32 group) { return group < own ? group : group - 1; }

// VC class = router-to-router hops done. Ejection keeps the VC of the last hop.
inline u32 class_of(const Packet& p, bool arrived) { return arrived && p.hops > 0 ? p.hops - 1u : p.hops; }

// Link latencies alone, for rows that end with (destination group without own, source slot).
inline void estimate_by_links(const Network& net, State& s) {
  const Dragonfly& df = as_dragonfly(net);
  const auto global = static_cast<float>(net.link_latency_ns[2]), local = static_cast<float>(net.link_latency_ns[1]);
  fill_table(net, s, [&](u32 router, u32 row, u32 port) {
    const u32 other = df.group(net.next_router(net.port(router, port)));
    const bool direct = df.is_global(port) && number_among_others(df.group(router), other) == row / df.p % (df.g - 1);
    return direct ? global : global + local;
  });
}

}  // namespace flitgym::routing::dragonfly
