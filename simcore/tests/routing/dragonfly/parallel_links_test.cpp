// Minimal paths where several links join two groups. All expected values follow from the list of links alone.
#include <algorithm>
#include <map>

#include "simcore/graph.hpp"
#include "simcore/topology/dragonfly.hpp"
#include "support/exploration.hpp"
#include "support/links.hpp"

namespace routing_dragonfly_parallel_links_test {

using namespace scenes;

// Each shape with 1 to 4 links per pair of groups, in every arrangement.
std::vector<Section> networks() {
  std::vector<Section> all;
  for (const auto& [a, h, g, most] :
       {std::array<i64, 4>{4, 3, 4, 4}, {2, 4, 3, 4}, {5, 2, 3, 4}, {6, 2, 4, 4}, {4, 3, 7, 2}})
    for (i64 links = 1; links <= most; links++)
      for (const std::string arrangement : {"absolute", "relative", "palmtree", "random", "even"})
        all.push_back(dragonfly_section(1, a, h, g, {{"links_per_group_pair", links}, {"arrangement", arrangement}}));
  return all;
}

// The global links as pairs of routers, both directions, by the pair of groups.
struct Links {
  std::map<std::pair<u32, u32>, std::vector<std::pair<u32, u32>>> between;

  explicit Links(const Network& net) {
    for (u32 p = 0; p < net.router_ports; p++)
      if (net.channels[p].kind == PortKind::kGlobal && net.channels[p].peer != kNone) {
        const u32 from = net.router_of_port(p), to = net.next_router(p);
        between[{net.router_group[from], net.router_group[to]}].push_back({from, to});
      }
  }
  // Hops of the shortest path with at most one global hop, between a local hop on either side.
  u32 hops(const Network& net, u32 from, u32 to) const {
    if (net.router_group[from] == net.router_group[to]) return from != to;
    u32 least = 9;
    for (const auto& [near, far] : between.at({net.router_group[from], net.router_group[to]}))
      least = std::min(least, (from != near) + 1u + (far != to));
    return least;
  }
};

Section without_exploration(const std::string& routing) {
  return {routing, routing.starts_with("q_") ? Values{{"epsilon", 0.0}} : Values{}};
}

// Mean hops of uniform traffic, which includes a terminal's traffic to itself.
double mean_hops(const Section& topology) {
  Lone x(network_of(topology));
  u32 hops = 0;
  for (u32 source = 0; source < x.net.terminals; source++)
    for (u32 destination = 0; destination < x.net.terminals; destination++)
      hops += x.walk(source, destination, 0, [](u32, const Step&) {});
  return hops / (static_cast<double>(x.net.terminals) * x.net.terminals);
}

// On an idle network every routing takes a path with the fewest hops. Routings of any graph may take fewer hops, by two
// global links.
TEST(minimal_paths_over_parallel_links_are_the_shortest) {
  for (const Section& topology : networks())
    for (const std::string routing : {"minimal", "ugal_group", "ugal_router", "ugal_global", "par", "q_adaptive",
                                      "q_adaptive_corrected", "q_hierarchical", "ecmp", "packet_spray", "flowlet"}) {
      Lone x = lone(topology, without_exploration(routing));
      const Links links(x.net);
      const bool any_graph = routing == "ecmp" || routing == "packet_spray" || routing == "flowlet";
      for (u32 source = 0; source < x.net.terminals; source++)
        for (u32 destination = 0; destination < x.net.terminals; destination++) {
          const u32 hops = x.walk(source, destination, source, [](u32, const Step&) {}),
                    least = links.hops(x.net, x.net.terminal_router[source], x.net.terminal_router[destination]);
          CHECK_FOR(any_graph ? hops <= least : hops == least, routing + " " + x.net.fingerprint);
          CHECK_FOR(!x.packet().nonminimal, routing + " " + x.net.fingerprint);
        }
    }
}

TEST(closed_forms_of_parallel_links_are_the_shortest) {
  for (const Section& topology : networks()) {
    const auto net = network_of(topology);
    const Links links(*net);
    for (u32 from = 0; from < net->routers; from++)
      for (u32 to = 0; to < net->routers; to++) {
        CHECK_EQ(net->topology->hops_between(*net, from, to), links.hops(*net, from, to));
        if (from == to) continue;
        each_link(*net, *net->graphs[0], from, [&](u32 k) {
          CHECK_EQ(net->topology->is_minimal(*net, *net->graphs[0], from, k, to),
                   links.hops(*net, net->next_router(net->port(from, k)), to) < links.hops(*net, from, to));
        });
      }
  }
  CHECK_NEAR(mean_hops(dragonfly_section(2, 6, 2, 4)), 41 / 24.0, 1e-9);  // 1.708
  CHECK_NEAR(mean_hops(dragonfly_section(2, 4, 3, 7)), 27 / 14.0, 1e-9);  // 1.929
}

// Each leg of Valiant's paths has the fewest hops. The first leg of valiant_group ends where it enters the group.
TEST(legs_over_parallel_links_are_the_shortest) {
  for (const Section& topology : networks())
    for (const std::string routing : {"valiant_router", "valiant_group"}) {
      Lone x = lone(topology, {routing, {}});
      const Dragonfly& df = as_dragonfly(x.net);
      const Links links(x.net);
      for (u32 source = 0; source < x.net.terminals; source++)
        for (u32 destination = 0; destination < x.net.terminals; destination++) {
          if (df.group(source) == df.group(destination)) continue;  // one terminal per router
          std::vector<u32> path;
          x.walk(source, destination, destination, [&](u32 router, const Step&) { path.push_back(router); });
          path.push_back(destination);
          u32 middle = x.intermediate(), first = 0;
          if (routing == "valiant_router") {
            first = links.hops(x.net, source, middle);
          } else {
            const auto& ends = links.between.at({df.group(source), middle});
            first = std::ranges::any_of(ends, [&](const auto& link) { return link.first == source; }) ? 1 : 2;
            middle = path[first];
          }
          CHECK_FOR(path[first] == middle && path.size() == first + links.hops(x.net, middle, destination) + 1,
                    routing + " " + x.net.fingerprint);
        }
    }
}

// Packets of one pair of routers spread evenly over the links with the fewest hops. With `balanced`, the packets of all
// routers to a router spread evenly over all links, if each router has as many of them. 64 expected packets have a
// deviation of 8.
TEST(packets_spread_evenly_over_parallel_links) {
  for (const Section& topology : networks())
    for (const bool balanced : {false, true}) {
      Section with = topology;
      if (balanced) with.values["minimal_paths"] = std::string("balanced");
      Lone x(network_of(with));
      const Dragonfly& df = as_dragonfly(x.net);
      const Links links(x.net);
      for (u32 destination = 0; destination < x.net.terminals; destination++) {
        std::map<u32, u32> all;  // packets by global port, from all routers of group 0 or 1
        const u32 from_group = df.group(destination) == 0;
        const auto& ends = links.between.at({from_group, df.group(destination)});
        for (u32 source = from_group * df.a; source < (from_group + 1) * df.a; source++) {
          u32 shortest = 0;
          const u32 least = links.hops(x.net, source, destination);
          for (const auto& [near, far] : ends) shortest += (source != near) + 1u + (far != destination) == least;
          std::map<u32, u32> used;
          for (u32 n = 0; n < 64 * (balanced ? df.links : shortest); n++)
            x.walk(source, destination, n, [&](u32 router, const Step& step) {
              if (df.is_global(step.port)) used[x.net.port(router, step.port)]++;
            });
          for (const auto& [port, packets] : used) all[port] += packets;
          if (balanced) continue;
          CHECK_FOR(used.size() == shortest, x.net.fingerprint);
          for (const auto& [port, packets] : used) CHECK_FOR(packets > 24 && packets < 104, x.net.fingerprint);
        }
        std::map<u32, u32> of_router;
        for (const auto& [near, far] : ends) of_router[near]++;
        if (!balanced ||
            std::ranges::any_of(of_router, [&](const auto& r) { return r.second != of_router.begin()->second; }))
          continue;
        CHECK_FOR(all.size() == df.links, x.net.fingerprint);
        for (const auto& [port, packets] : all) CHECK_NEAR(packets, 64.0 * df.a, 5 * std::sqrt(64.0 * df.a));
      }
    }
}

// `balanced` ignores links that end at the router of the destination.
TEST(balanced_paths_take_the_link_of_the_own_router) {
  Lone x(network_of(dragonfly_section(1, 6, 2, 4, {{"minimal_paths", std::string("balanced")}})));
  const Dragonfly& df = as_dragonfly(x.net);
  for (u32 source = 0; source < x.net.terminals; source++)
    for (u32 destination = 0; destination < x.net.terminals; destination++) {
      if (df.group(source) == df.group(destination)) continue;
      const Step first = x.ask(x.send(source, destination));
      CHECK_EQ(df.is_global(first.port), df.has_link(source, df.group(destination)));
    }
}

}  // namespace routing_dragonfly_parallel_links_test
