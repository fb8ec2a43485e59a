// Follows the routes of a table. The routes towards one destination form a tree, and the load of a channel is a sum
// over a subtree. Sums over all routes therefore take time proportional to switches x destinations, independent of
// hops.
#pragma once

#include "simcore/tables/table.hpp"

namespace flitgym::tables {

// Routes of a table towards one destination at a time. The table must not be source-routed.
class Tree {
 public:
  explicit Tree(const ChannelGraph& g) : next(g.switches), depth(g.switches), g_(g) { order.reserve(g.switches); }
  // Throws ConfigError if a route meets a hole, a port that leads to no switch, a wrong terminal, or a loop. Switches
  // without terminals are left out unless a route passes them.
  void follow(const ForwardingTable& table, u32 destination);

  std::vector<u32> next;   // [switches] channel of the next hop; kNone at the last switch and off all routes
  std::vector<u32> depth;  // [switches] channels to the last switch; kNone off all routes
  // Switches on a route, the farthest from the destination first. The last entry is the destination's switch.
  std::vector<u32> order;
  // visit(s, c) for each other switch s in this order, with its channel c.
  template <class Visit>
  void each(Visit&& visit) const {
    for (std::size_t k = 0; k + 1 < order.size(); k++) visit(order[k], next[order[k]]);
  }

 private:
  const ChannelGraph& g_;
};

// Calls visit(channel) for each channel of the route from a switch to a destination. Requires a checked table.
template <class Visit>
inline void each_channel(const ChannelGraph& g, const ForwardingTable& table, u32 s, u32 destination, Visit&& visit) {
  if (table.source_routed()) {
    const std::size_t at = std::size_t{s} * table.destinations() + destination;
    for (u64 k = table.route_first[at]; k < table.route_first[at + 1]; k++) {
      const u32 c = g.channel(s, table.route_port[k]);
      visit(c);
      s = g.to[c];
    }
    return;
  }
  const u32 last = g.terminal_switch[destination >> table.lmc];
  while (s != last) {
    const u32 c = g.channel(s, table.at(s, destination));
    visit(c);
    s = g.to[c];
  }
}

// Lane on channel `out` of a packet of this layer that arrived by channel `in`. kNone: it came from terminal `source`.
inline u32 lane_of(const ChannelGraph& g, const ForwardingTable& table, u32 layer, u32 in, u32 source, u32 out) {
  if (!table.lanes) return layer;
  const u32 s = g.from[out], in_port = in == kNone ? g.terminal_port[source] : g.port[g.reverse[in]];
  return table
      .lane[((std::size_t{s} * table.lane_ports + in_port) * table.lane_ports + g.port[out]) * table.layers + layer];
}

}  // namespace flitgym::tables
