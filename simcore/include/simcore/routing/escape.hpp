// Up*/down* paths (Schroeder et al., Autonet, IEEE JSAC 9(8), 1991), and an escape along links that never fail. A
// channel leads up if its end precedes its beginning in a fixed order of the routers. A path does not turn from down to
// up. So channels wait for each other in one order.
#pragma once

#include "simcore/graph.hpp"

namespace flitgym::routing::graph {

inline constexpr u16 kNoHops = 0xffff;

// Hops of the shortest up*/down* paths on one graph.
struct UpDownHops {
  std::vector<u16> down;  // [to, from] of a path that only leads down; kNoHops: there is none
  std::vector<u16> any;   // [to, from] of a path that leads up and then down
};

inline bool leads_up(const std::vector<u32>& place, u32 from, u32 to) { return place[to] < place[from]; }

// The position of each router in the order of the ranks; routers of one rank keep their order.
std::vector<u32> places(const std::vector<u32>& rank);

// `where` begins messages, e.g. "routing.up_down".
UpDownHops up_down_hops(const Network& net, const Graph& g, const std::vector<u32>& place, const std::string& where);

// visit(port) for each port of the shortest paths. Returns whether there is any.
template <class Visit>
bool each_port(const Network& net, const Graph& g, const std::vector<u32>& place, const UpDownHops& hops, u32 router,
               u32 to, bool came_down, Visit&& visit) {
  const std::size_t row = std::size_t{to} * net.routers;
  const u32 here = came_down ? hops.down[row + router] : hops.any[row + router];
  if (here == kNoHops) return false;
  each_link(net, g, router, [&](u32 k) {
    const u32 next = net.next_router(net.port(router, k));
    const bool up = leads_up(place, router, next);
    const u32 rest = up ? hops.any[row + next] : hops.down[row + next];
    if (!(up && came_down) && rest + 1 == here) visit(k);
  });
  return true;
}

// A VC class of its own for packets that lose their path to a failure. It uses only links that never fail, in the order
// of a tree of these links. Packets never leave the class.
struct Escape {
  std::vector<u32> place;
  Graph links;  // the links that never fail
  UpDownHops hops;
  u32 longest = 0;  // hops

  // Writes the router-local ports of the shortest paths and returns their number. `input` is the port by which a packet
  // of the class arrived; kNone: the packet enters the class here.
  u32 ports(const Network& net, u32 router, u32 input, u32 to, u16 (&found)[kMaxRadix]) const;
};

// Throws ConfigError if links that never fail do not connect all routers that have a link at any time.
Escape make_escape(const Network& net, const std::string& where);

}  // namespace flitgym::routing::graph
