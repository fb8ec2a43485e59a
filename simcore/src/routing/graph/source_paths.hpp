// Paths that a source chooses among. They leave the source router by different ports. The first ones are minimal. Each
// further path leads through an intermediate router: a minimal path to it, then a minimal path to the destination. The
// paths of a pair of routers never change, so a source can learn about each of them. Path k takes the same links in
// every packet, unless links fail.
#pragma once

#include <array>

#include "simcore/routing/paths.hpp"

namespace flitgym::routing::graph {

inline constexpr u32 kMostPaths = 16;
inline constexpr u8 kNoPath = 0xff;

struct PathList {
  u32 count = 0;
  std::array<u16, kMostPaths> port;    // router-local port of the first hop
  std::array<u32, kMostPaths> middle;  // intermediate router; kNone: a minimal path
  std::array<u8, kMostPaths> number;   // among all paths of the pair of routers
  void add(u32 first_port, u32 through, u32 path) {
    port[count] = static_cast<u16>(first_port);
    middle[count] = through;
    number[count++] = static_cast<u8>(path);
  }
  u32 find(u32 first_port) const { return place(port, first_port); }
  u32 find_number(u32 path) const { return place(number, path); }

 private:
  u32 place(const auto& values, u32 value) const {
    return static_cast<u32>(std::find(values.begin(), values.begin() + count, value) - values.begin());
  }
};

struct SourcePaths {
  u32 most = 0, most_minimal = 0;
  std::vector<u32> members, first_member;  // routers by region; [regions + 1] first member of each region
  std::vector<PathList> table;             // [routers, routers] source, destination; empty: computed at each use

  // Hash that selects among several minimal ports on path k.
  static u64 name(const Network& net, u32 router, u32 to, u32 k) {
    return mix64(mix64(u64{router} << 32 | to) + net.seed) + k;
  }
  static u32 next_port(const Network& net, const Graph& g, u64 path, u32 router, u32 target) {
    u16 ports[kMaxRadix];
    const u32 n = minimal_ports(net, g, router, target, ports);
    return n == 1 ? ports[0] : ports[below(mix64(mix64(path) + router), n)];
  }
  // Whether the route of a path from one router to another visits router `through`.
  static bool visits(const Network& net, const Graph& g, u64 path, u32 from, u32 to, u32 through) {
    while (from != to && from != through) from = net.next_router(net.port(from, next_port(net, g, path, from, to)));
    return from == through;
  }

  // A random intermediate router. Within a region (Dragonfly group) it is another router of the region, else a router
  // of a third region. So a path through it avoids the links between the two regions.
  u32 draw_middle(const Network& net, u64 bits, u32 router, u32 to) const {
    const Topology& topology = *net.topology;
    const u32 here = topology.region(router), there = topology.region(to);
    const u32 first = first_member[here], size = first_member[here + 1] - first;
    if (here == there && size > 2) return members[first + below(bits, size)];
    const u32 middle = below(bits, net.routers), region = topology.region(middle);
    const bool third = here == there || first_member.size() < 4 || (region != here && region != there);
    return third ? middle : router;
  }

  PathList list(const Network& net, u32 router, u32 to) const {
    constexpr u32 kTrials = 8;  // draws per path
    const Graph& g = *net.graphs[0];
    PathList paths;
    u16 ports[kMaxRadix];
    const u32 n = minimal_ports(net, g, router, to, ports), turn = below(mix64(name(net, router, to, kMostPaths)), n);
    for (u32 k = 0; k < std::min(n, most_minimal); k++) paths.add(ports[(turn + k) % n], kNone, k);
    const u32 direct = distance(net, g, router, to);
    for (u32 trial = 0; trial < kTrials * most && paths.count < most; trial++) {
      const u32 k = paths.count,
                middle = draw_middle(net, mix64(name(net, router, to, kMostPaths + 1 + trial)), router, to);
      if (middle == router || middle == to) continue;
      const u32 first = distance(net, g, router, middle), second = distance(net, g, middle, to);
      if (first > g.diameter || second > g.diameter || first + second <= direct) continue;
      const u64 path = name(net, router, to, k);
      if (first > direct && visits(net, g, path, router, middle, to)) continue;
      if (second > direct && visits(net, g, path, middle, to, router)) continue;
      if (const u32 port = next_port(net, g, path, router, middle); paths.find(port) == k) paths.add(port, middle, k);
    }
    return paths;
  }
  PathList of(const Network& net, u32 router, u32 to) const {
    return table.empty() ? list(net, router, to) : table[std::size_t{router} * net.routers + to];
  }

  // Time in ns on the path that begins with `port`, without queueing, from the source to the destination router.
  static float flight_ns(const Network& net, u32 port, u32 to, u32 middle) {
    return static_cast<float>(hop_ns(net, port)) + flight(net, *net.graphs[0], net.next_router(port), middle, to);
  }
};

// Lists all paths. Throws ConfigError if no two routers have a second path, because a source then has no choice.
SourcePaths build_source_paths(const Network& net, u32 most, u32 most_minimal);

}  // namespace flitgym::routing::graph
