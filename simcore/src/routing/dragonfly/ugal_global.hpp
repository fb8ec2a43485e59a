// The queues that UGAL-G sees. The routing decides by them, and an observation shows them to an agent that imitates it.
#pragma once

#include "routing/dragonfly/two_legs.hpp"

namespace flitgym::routing::dragonfly {

struct OracleRule : UgalRule {
  bool whole_path = false;
  double weight(const Network&, State&, u32 packet, u32 router, u32 port, u32 vc_class) const override;
};

struct Seen {
  u32 congestion = 0, hops = 0;
};

// Walks from `router` to `group`, or to the router `to` if one is given. Sums the congestion that the oracle sees.
inline Seen walk(const Network& net, const State& s, const OracleRule& rule, const Packet& p, u32& router, u32 group,
                 u32 to) {
  const Dragonfly& df = as_dragonfly(net);
  const u32 home = df.group(router);
  Seen seen;
  while (df.group(router) != group || (to != kNone && router != to)) {
    const u32 turn = df.turn(net, router, p),
              k = to != kNone ? df.towards(net, router, to, turn) : df.exit(router, group, turn),
              port = net.port(router, k);
    if (rule.whole_path || (df.group(router) == home && df.is_global(k)))
      seen.congestion += port_congestion(s, rule.measure.parts, port);
    seen.hops++;
    router = net.router_of_port(net.channels[port].peer);
  }
  return seen;
}

// Congestion of the minimal path from `router`, times its hops if the rule says so.
inline double seen_on_minimal_path(const Network& net, const State& s, const OracleRule& rule, const Packet& p,
                                   u32 router) {
  const u32 to = net.terminal_router[p.destination];
  const Seen direct = walk(net, s, rule, p, router, as_dragonfly(net).group(to), to);
  return direct.congestion * (rule.hop_weighted ? direct.hops : 1.0);
}

// The same for the path through `group`.
inline double seen_through(const Network& net, const State& s, const OracleRule& rule, const Packet& p, u32 router,
                           u32 group) {
  const u32 to = net.terminal_router[p.destination];
  const Seen there = walk(net, s, rule, p, router, group, kNone);
  const Seen on = walk(net, s, rule, p, router, as_dragonfly(net).group(to), to);
  return (there.congestion + (rule.whole_path ? on.congestion : 0)) * (rule.hop_weighted ? there.hops + on.hops : 1.0);
}

}  // namespace flitgym::routing::dragonfly
