// Following a table. Towards one destination the routes are a tree: what passes a channel is a sum over a subtree, so
// sums over all routes cost (switches x destinations), not x hops.
#pragma once

#include <vector>

#include "tables/table.hpp"

namespace flitgym::tables {

// The routes of a table (not of source routes) towards one destination after the other.
class Tree {
 public:
  explicit Tree(const ChannelGraph& g) : g_(g), next(g.switches), depth(g.switches) { order.reserve(g.switches); }
  // Throws ConfigError where a switch with terminals, or one that is passed on the way, has a hole, a port that leads
  // nowhere or to another terminal, or a loop. Switches without terminals that nobody passes stay out.
  void follow(const ForwardingTable& table, u32 destination);

 private:
  const ChannelGraph& g_;

 public:
  std::vector<u32> next;   // [switches] channel by which it goes on, kNone at the last switch and where nobody goes
  std::vector<u32> depth;  // [switches] channels to the last switch, kNone where nobody goes
  // switches that are on a route, the farthest from the destination first; the last one is its own
  std::vector<u32> order;
};

// visit(channel) for each channel of the route from a switch to a destination. The table was checked.
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

// The lane on channel `out` of a packet of a layer that came in by channel `in` (kNone: from the terminal `source`).
inline u32 lane_of(const ChannelGraph& g, const ForwardingTable& table, u32 layer, u32 in, u32 source, u32 out) {
  if (!table.lanes) return layer;
  const u32 s = g.from[out], in_port = in == kNone ? g.terminal_port[source] : g.port[g.reverse[in]];
  return table
      .lane[((std::size_t{s} * table.lane_ports + in_port) * table.lane_ports + g.port[out]) * table.layers + layer];
}

}  // namespace flitgym::tables
