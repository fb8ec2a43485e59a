#include "simcore/graph.hpp"

#include <set>

#include "simcore/grouped.hpp"
#include "simcore/topology/mark.hpp"

namespace flitgym {

u32 Topology::hops_between(const Network&, u32, u32) const {
  throw CoreError("this topology has no closed form of its distances; need_distances() makes a table");
}

bool Topology::is_minimal(const Network& net, const Graph& g, u32 router, u32 port, u32 to) const {
  return 1 + distance(net, g, net.next_router(net.port(router, port)), to) <= distance(net, g, router, to);
}

void Topology::mark_nonminimal(const Network& net, State& s, const Batch& b) const { mark_batch(*this, net, s, b); }

// Packets use several minimal ports in turns.
u32 Topology::minimal_port(const Network& net, const Graph& g, u32 router, const Packet& p) const {
  const u32 to = net.terminal_router[p.destination];
  if (router == to) return net.terminal_port[p.destination];
  u16 ports[kMaxRadix];
  u32 n = 0;
  each_minimal(net, g, router, to, [&](u32 k) { ports[n++] = static_cast<u16>(k); });
  return n == 0 ? net.first_link[router] : ports[n == 1 ? 0 : (p.source + p.sequence) % n];
}

float Topology::first_estimate_ns(const Network& net, u32 router, u32 port, u32 to) const {
  const u32 out = net.port(router, port);
  return static_cast<float>(hop_ns(net, out)) + flight(net, *net.graphs[0], net.next_router(out), to);
}

// After the crossbar a flit waits until the output wakes, at least one cycle.
double hop_ns(const Network& net, u32 port) {
  const RouterParams& r = net.router;
  const u32 switched = (r.separate_vc_allocation ? 1 : 0) + (r.output_depth > 0 ? std::max(r.wake_cycles, 1u) : 0);
  return (net.hop_cycles(port) + r.pipeline_cycles + switched) * net.cycle_ns;
}

namespace {

constexpr u8 kFar = 255;  // not reached

// The neighbours of each router, each listed once. The fastest of parallel links counts.
struct Neighbors {
  struct Edge {
    u32 next;
    float ns;
  };
  std::vector<u32> first;  // [routers + 1] indices into edges
  std::vector<Edge> edges;
  float least_ns = std::numeric_limits<float>::max();
};

Neighbors neighbors_of(const Network& net, const Graph& g, bool timed) {
  Neighbors all;
  all.first.push_back(0);
  std::vector<u32> seen(net.routers, kNone);  // edge of this router to that neighbour
  for (u32 r = 0; r < net.routers; r++) {
    worked(net.radix);
    const auto mine = static_cast<u32>(all.edges.size());
    each_link(net, g, r, [&](u32 k) {
      const u32 port = net.port(r, k), next = net.next_router(port);
      const float ns = timed ? static_cast<float>(hop_ns(net, port)) : 0;
      all.least_ns = std::min(all.least_ns, ns);
      if (seen[next] != kNone && seen[next] >= mine) {
        all.edges[seen[next]].ns = std::min(all.edges[seen[next]].ns, ns);
      } else {
        seen[next] = static_cast<u32>(all.edges.size());
        all.edges.push_back({next, ns});
      }
    });
    all.first.push_back(static_cast<u32>(all.edges.size()));
  }
  return all;
}

void claim_square(const Network& net, u64 bytes, const char* what) {
  claim_memory(u64{net.routers} * net.routers * bytes, "topology." + net.topology_name, what, " between any two of ",
               net.routers, " routers");
}

void count_hops(const Network& net, Graph& g) {
  const u32 n = net.routers;
  claim_square(net, 1, "the hops");
  g.hops.assign(std::size_t{n} * n, kFar);
  const Neighbors all = neighbors_of(net, g, false);
  std::vector<u32> found;
  found.reserve(n);
  g.diameter = 0;
  for (u32 to = 0; to < n; to++) {
    u8* const hops = &g.hops[std::size_t{to} * n];
    found.assign(1, to);
    hops[to] = 0;
    for (std::size_t at = 0; at < found.size(); at++) {
      const u32 router = found[at];
      worked(2 + all.first[router + 1] - all.first[router]);
      for (u32 e = all.first[router]; e < all.first[router + 1]; e++) {
        const u32 next = all.edges[e].next;
        if (hops[next] != kFar) continue;
        if (hops[router] + 1u >= kFar)
          throw ConfigError("topology.", net.topology_name, ": router ", net.router_name(next),
                            " is more than 254 hops from router ", net.router_name(to));
        hops[next] = static_cast<u8>(hops[router] + 1);
        found.push_back(next);
      }
    }
    g.diameter = std::max(g.diameter, u32{hops[found.back()]});
  }
}

// The time of the fastest path among those with the fewest hops. On a Dragonfly, two global hops through a third group
// may be fewer hops than local, global, local. They are not a minimal path, and they take longer.
void time_flights(const Network& net, Graph& g) {
  const u32 n = net.routers;
  claim_square(net, sizeof(float), "the times");
  g.flight_ns.assign(std::size_t{n} * n, std::numeric_limits<float>::max());
  const Neighbors all = neighbors_of(net, g, true);
  std::vector<u8> own(g.hops.empty() ? n : 0);
  std::vector<u32> begin;
  for (u32 to = 0; to < n; to++) {
    if (g.hops.empty())
      for (u32 from = 0; from < n; from++, worked(4))
        own[from] = static_cast<u8>(net.topology->hops_between(net, from, to));
    const u8* const hops = g.hops.empty() ? own.data() : &g.hops[std::size_t{to} * n];
    float* const flight = &g.flight_ns[std::size_t{to} * n];
    // Routers in the order of their hops, so that nearer routers are done first.
    const std::vector<u32> by_hops = grouped(kFar + 1u, n, begin, [&](std::size_t from) { return hops[from]; });
    flight[to] = 0;
    float nearest = 0;  // least time of the routers one hop nearer
    for (u32 h = 1; h < kFar && begin[h] < n; h++) {
      float least = std::numeric_limits<float>::max();
      for (u32 k = begin[h]; k < begin[h + 1]; k++) {
        const u32 from = by_hops[k];
        float best = std::numeric_limits<float>::max();
        for (u32 e = all.first[from]; e < all.first[from + 1]; e++) {
          const auto [next, ns] = all.edges[e];
          if (hops[next] != h - 1) continue;
          best = std::min(best, ns + flight[next]);
          if (best <= all.least_ns + nearest) break;  // no path is faster
        }
        g.longest_flight_ns = std::max(g.longest_flight_ns, best);
        flight[from] = best;
        least = std::min(least, best);
      }
      worked(8 * (begin[h + 1] - begin[h]));
      nearest = least;
    }
  }
}

// Above this size, a network whose hops all take the same time needs no table of times.
constexpr u32 kTableRouters = 2048;

template <class Make>
void remake(Network& net, Make make) {
  for (u32 e = 0; e < net.graphs.size(); e++) {
    const u32 same = first_alike(net, e);
    auto graph = std::make_shared<Graph>(*net.graphs[same]);
    graph->from = net.graphs[e]->from;
    if (same == e) make(*graph);
    net.graphs[e] = graph;
  }
  if (!net.lasting) return;
  auto lasting = std::make_shared<Graph>(*net.lasting);
  make(*lasting);
  net.lasting = lasting;
}

}  // namespace

void need_distances(Network& net) {
  if (!net.graphs[0]->hops.empty() || (net.topology->closed && !net.damaged)) return;
  remake(net, [&](Graph& g) { count_hops(net, g); });
}

void need_flights(Network& net) {
  if (net.graphs[0]->longest_flight_ns > 0) return;
  need_distances(net);
  remake(net, [&](Graph& g) {
    std::set<float> times;
    for (u32 p = 0; p < net.router_ports; p++)
      if (net.is_link(p)) times.insert(static_cast<float>(hop_ns(net, p)));
    if (net.routers > kTableRouters && times.size() == 1) {
      g.one_hop_ns = *times.begin();
      g.longest_flight_ns = g.one_hop_ns * static_cast<float>(g.diameter);
    } else {
      time_flights(net, g);
    }
  });
}

void need_estimates(Network& net) {
  need_distances(net);
  if (net.damaged || !net.topology->estimates) need_flights(net);
}

void check_connected(const Network& net, const Graph& g, const std::string& what) {
  const u32 start = net.terminal_router[0];
  const std::vector<u32> hops = hops_from(net, g, start);
  for (u32 t = 0; t < net.terminals; t++)
    if (hops[net.terminal_router[t]] == kNone)
      throw ConfigError(what, ": there is no path from terminal ", net.terminal_name(0), " (router ",
                        net.router_name(start), ") to terminal ", net.terminal_name(t), " (router ",
                        net.router_name(net.terminal_router[t]), ")");
}

u32 longest_path(const Network& net) {
  u32 most = 0;
  for (const auto& g : net.graphs) most = std::max(most, g->diameter);
  return most;
}

// When a link fails, the packet may be one hop from its destination and need another whole path. If links fail
// repeatedly, a packet that has done the hops of the longest path continues on links that never fail
// (keep_to_lasting_links()).
u32 hops_in_all(const Network& net, u32 more) {
  if (net.lasting) return more + longest_path(net) + net.lasting->diameter;
  u32 hops = more;
  for (const auto& g : net.graphs) hops += g->diameter;
  return hops;
}

}  // namespace flitgym
