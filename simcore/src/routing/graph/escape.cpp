#include "simcore/routing/escape.hpp"

namespace flitgym::routing::graph {

std::vector<u32> places(const std::vector<u32>& rank) {
  std::vector<u32> order(rank.size()), place(rank.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](u32 a, u32 b) { return rank[a] < rank[b]; });
  for (u32 k = 0; k < order.size(); k++) place[order[k]] = k;
  return place;
}

UpDownHops up_down_hops(const Network& net, const Graph& g, const std::vector<u32>& place, const std::string& where) {
  const std::size_t n = net.routers;
  claim_memory(4 * n * n, where, "the paths between ", n, " routers");
  UpDownHops hops{std::vector<u16>(n * n, kNoHops), std::vector<u16>(n * n, kNoHops)};
  std::vector<u32> order(n), queue;
  for (u32 r = 0; r < n; r++) order[place[r]] = r;
  const auto each_upward = [&](u32 router, auto&& visit) {
    each_link(net, g, router, [&](u32 k) {
      if (const u32 next = net.next_router(net.port(router, k)); leads_up(place, router, next)) visit(next);
    });
  };
  for (u32 to = 0; to < n; to++) {
    worked(2 * net.router_ports);
    u16 *const down = &hops.down[to * n], *const any = &hops.any[to * n];
    queue.assign(1, to);
    down[to] = 0;
    for (std::size_t head = 0; head < queue.size(); head++)
      each_upward(queue[head], [&](u32 above) {
        if (down[above] != kNoHops) return;
        down[above] = static_cast<u16>(down[queue[head]] + 1);
        queue.push_back(above);
      });
    for (const u32 router : order) {
      any[router] = down[router];
      each_upward(router, [&](u32 above) {
        if (any[above] != kNoHops) any[router] = std::min<u16>(any[router], static_cast<u16>(any[above] + 1));
      });
    }
  }
  return hops;
}

u32 Escape::ports(const Network& net, u32 router, u32 input, u32 to, u16 (&found)[kMaxRadix]) const {
  const bool came_down = input != kNone && !leads_up(place, net.router_of_port(net.channels[input].peer), router);
  u32 n = 0;
  each_port(net, links, place, hops, router, to, came_down, [&](u32 k) { found[n++] = static_cast<u16>(k); });
  if (n == 0)  // only a restored snapshot can hold such a packet
    throw CoreError("routing.", net.routing_name, ": a packet at router ", net.router_name(router), " has no path");
  return n;
}

Escape make_escape(const Network& net, const std::string& where) {
  Escape escape;
  Graph& links = escape.links;
  for (const auto& g : net.graphs)
    for (u32 p = 0; p < g->down.size(); p++)
      if (g->down[p]) {
        if (links.down.empty()) links.down.assign(net.router_ports, 0);
        links.down[p] = 1;
      }
  // The root is the router with the most links, so that paths are short and some of its links are seldom full.
  u32 root = 0, most = 0;
  for (u32 r = 0; r < net.routers; r++) {
    u32 count = 0;
    each_link(net, links, r, [&](u32) { count++; });
    if (count > most) root = r, most = count;
  }
  const std::vector<u32> rank = hops_from(net, links, root);
  const Graph whole;
  for (u32 r = 0; r < net.routers; r++)
    each_link(net, whole, r, [&](u32) {
      if (rank[r] == kNone)
        throw ConfigError(where,
                          ": links that never fail must connect all routers, for packets that lose their path, but "
                          "they do not connect router ",
                          net.router_name(r), " to router ", net.router_name(root));
    });
  escape.place = places(rank);
  escape.hops = up_down_hops(net, links, escape.place, where);
  for (const u16 hops : escape.hops.any)
    if (hops != kNoHops) escape.longest = std::max<u32>(escape.longest, hops);
  return escape;
}

}  // namespace flitgym::routing::graph
