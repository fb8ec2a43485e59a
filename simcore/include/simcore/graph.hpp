// Distances between routers. A topology may give them in closed form, which holds while no link is missing. Otherwise
// breadth-first search over the present links makes a table.
#pragma once

#include "simcore/state.hpp"

namespace flitgym {

// The graph of the present cycle.
inline const Graph& graph_now(const Network& net, const State& s) {
  return *net.graphs[net.graphs.size() == 1 ? 0 : s.part.totals.epoch];
}

// The first epoch with the same links as epoch e, as before a failure and after its repair.
inline u32 first_alike(const Network& net, u32 e) {
  u32 k = 0;
  while (net.graphs[k]->down != net.graphs[e]->down) k++;
  return k;
}

// Router-to-router hops of a minimal path.
inline u32 distance(const Network& net, const Graph& g, u32 from, u32 to) {
  return g.hops.empty() ? net.topology->hops_between(net, from, to) : g.hops[std::size_t{to} * net.routers + from];
}

// Time in ns without queueing on the fastest minimal path; requires need_flights().
inline float flight(const Network& net, const Graph& g, u32 from, u32 to) {
  return g.flight_ns.empty() ? static_cast<float>(distance(net, g, from, to)) * g.one_hop_ns
                             : g.flight_ns[std::size_t{to} * net.routers + from];
}

// The same by way of router `middle`; kNone: directly.
inline u32 distance(const Network& net, const Graph& g, u32 from, u32 middle, u32 to) {
  return middle == kNone ? distance(net, g, from, to) : distance(net, g, from, middle) + distance(net, g, middle, to);
}
inline float flight(const Network& net, const Graph& g, u32 from, u32 middle, u32 to) {
  return middle == kNone ? flight(net, g, from, to) : flight(net, g, from, middle) + flight(net, g, middle, to);
}
// RoutingSpec::waypoint; kNone: paths have no intermediate router.
inline u32 waypoint(const Network& net, const State& s, u32 packet, u32 router, u32 port) {
  return net.waypoint ? net.waypoint(net, s, packet, router, port) : kNone;
}

// visit(port) for each usable port of the router (router-local) that leads to another router.
template <class Visit>
inline void each_link(const Network& net, const Graph& g, u32 router, Visit&& visit) {
  const u32 end = std::min(net.radix, net.first_link[router] + net.link_span);
  for (u32 k = net.first_link[router]; k < end; k++)
    if (const u32 port = net.port(router, k); net.is_link(port) && g.usable(port)) visit(k);
}

// Breadth-first search: hops of each node from the nearest of `found`; kNone: no path. each(node, visit) calls
// visit(next) for each neighbour of the node.
template <class Each>
std::vector<u32> hops_from(std::size_t nodes, std::vector<u32> found, Each&& each) {
  std::vector<u32> hops(nodes, kNone);
  found.reserve(nodes);
  for (const u32 node : found) hops[node] = 0;
  for (std::size_t k = 0; k < found.size(); k++)
    each(found[k], [&, node = found[k]](u32 next) {
      if (hops[next] != kNone) return;
      hops[next] = hops[node] + 1;
      found.push_back(next);
    });
  return hops;
}
// The same over the usable links.
inline std::vector<u32> hops_from(const Network& net, const Graph& g, u32 router) {
  return hops_from(net.routers, {router}, [&](u32 from, const auto& visit) {
    each_link(net, g, from, [&](u32 k) {
      worked();
      visit(net.next_router(net.port(from, k)));
    });
  });
}

// visit(port) for each port that lies on a minimal path to router `to`, in order.
template <class Visit>
inline void each_minimal(const Network& net, const Graph& g, u32 router, u32 to, Visit&& visit) {
  if (g.hops.empty()) {
    each_link(net, g, router, [&](u32 k) {
      if (net.topology->is_minimal(net, g, router, k, to)) visit(k);
    });
    return;
  }
  const u8* const hops = &g.hops[std::size_t{to} * net.routers];
  const u32 here = hops[router];
  each_link(net, g, router, [&](u32 k) {
    if (hops[net.next_router(net.port(router, k))] + 1u == here) visit(k);
  });
}

// The time of a hop without queueing, from one input buffer to the next.
double hop_ns(const Network& net, u32 port);

// Initial value of a learned table: time in ns without queueing from `router` by `port` to router `to`.
inline float first_estimate_ns(const Network& net, u32 router, u32 port, u32 to) {
  return net.damaged ? net.topology->Topology::first_estimate_ns(net, router, port, to)
                     : net.topology->first_estimate_ns(net, router, port, to);
}

// Called while the network is built, by components that need the results.
void need_distances(Network& net);  // distance(), Graph::diameter
void need_flights(Network& net);    // flight(), Graph::longest_flight_ns
void need_estimates(Network& net);  // first_estimate_ns()

// Throws ConfigError with the names of two terminals that cannot reach each other. The message begins with `what`.
void check_connected(const Network& net, const Graph& g, const std::string& what);

// Hops of the longest minimal path, over all changes of the network.
u32 longest_path(const Network& net);
// Most hops of a packet that may take `more` hops beyond a minimal path, if it needs another whole path after every
// change of the network.
u32 hops_in_all(const Network& net, u32 more);

}  // namespace flitgym
