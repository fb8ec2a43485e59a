// Minimal paths where several links join two groups. All expected values follow from the list of links alone.
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
  Lone x(network_of(dragonfly_section(1, 6, 2, 4, {{"minimal_paths", "balanced"}})));
  const Dragonfly& df = as_dragonfly(x.net);
  for (u32 source = 0; source < x.net.terminals; source++)
    for (u32 destination = 0; destination < x.net.terminals; destination++) {
      if (df.group(source) == df.group(destination)) continue;
      const Step first = x.ask(x.send(source, destination));
      CHECK_EQ(df.is_global(first.port), df.has_link(source, df.group(destination)));
    }
}

// ---- Paths: hops and VC classes, intermediate groups, and the decision of UGAL ----

Config busy(const Section& routing, u64 seed = 2, const std::string& pattern = "adversarial") {
  Section traffic{pattern, {{"load", 0.8}}};
  return config(small_network(), merge(input_queued(), {{"input_buffer_flits", 8}, {"link_latency_ns_global", 20.0}}),
                routing, traffic, seed);
}

std::vector<Decision> decisions(Simulation& sim, u32 cycles) {
  std::vector<Decision> out;
  for (u32 k = 0; k < cycles; k++) observe(sim, out);
  return out;
}

// VCs and hops of the Q-adaptive authors' code (merlin/topology/dragonfly.cc 603-1299). The class of a table routing is
// the number of hops done.
TEST(dragonfly_routings_declare_their_hops_and_classes) {
  struct Case {
    Section routing;
    u32 vcs, hops;
  };
  for (const Case& c : {Case{{"minimal", {}}, 2, 3},
                        {{"valiant_group", {}}, 3, 5},
                        {{"valiant_router", {}}, 4, 6},
                        {{"ugal_group", {}}, 3, 5},
                        {{"ugal_router", {}}, 4, 6},
                        {{"ugal_global", {}}, 3, 5},
                        {{"par", {}}, 5, 7},
                        {{"q_adaptive", {}}, 5, 5},
                        {{"q_routing", {{"max_hops", 1}}}, 4, 4},
                        {{"q_routing", {{"max_hops", 4}}}, 7, 7}}) {
    Simulation sim(busy(c.routing));
    CHECK_FOR(sim.network().vcs == c.vcs && sim.network().routing_facts.max_hops == c.hops, text(c.routing));
    u32 longest = 0;
    for (const Decision& d : decisions(sim, 1500)) {
      longest = std::max(longest, u32{d.packet.hops});
      const bool there = d.router == sim.network().terminal_router[d.packet.destination];
      if (c.routing.name.starts_with("q_")) CHECK_EQ(d.out_class, u32{d.packet.hops} - (there && d.packet.hops > 0));
    }
    const bool reached = c.routing.name == "minimal" || c.routing.name.starts_with("valiant");
    CHECK_FOR(reached ? longest == c.hops : longest <= c.hops, text(c.routing));
  }
}

// Valiant's intermediate group is neither the source's nor the destination's: 7 of the 9 groups, each drawn in 1/7 of
// the cases.
TEST(intermediate_groups_are_uniform) {
  for (const std::string routing : {"valiant_group", "valiant_router"}) {
    Simulation sim(busy({routing, {}}));
    std::map<u32, u32> middles;  // (intermediate - source group) mod 9
    u32 total = 0;
    for (const Decision& d : decisions(sim, 4000)) {
      const Dragonfly& df = as_dragonfly(sim.network());
      const u32 from = df.group(sim.network().terminal_router[d.packet.source]);
      if (d.packet.hops > 0 || df.group(d.router) != from || d.packet.phase != kToIntermediate) continue;
      const u32 middle = routing == "valiant_group" ? d.intermediate : df.group(d.intermediate);
      middles[(middle + 9 - from) % 9]++;
      total++;
    }
    CHECK_EQ(middles.size(), 7u);
    CHECK(!middles.count(0) && !middles.count(1));
    for (const auto& [group, count] : middles) CHECK_NEAR(count, total / 7.0, 5 * std::sqrt(total / 7.0));
  }
}

// The papers' rule: non-minimal if q_min > int(2 q_nonmin). One packet ahead in the minimal queue diverts: 1 > 0.
TEST(ugal_rule_by_hand) {
  const auto nonminimal = [](const std::string& routing, Values values, u32 packets) {
    std::vector<Planned> plan(packets, {0, 8});  // group 0, router 0, which has the link to group 1
    Simulation sim(config(small_network(), hpdc21(), {routing, values}, planned(plan)));
    sim.begin_window();
    sim.run(4000);
    CHECK(sim.empty());
    return statistics(sim.network(), sim.state()).at("nonminimal_fraction") * packets;
  };
  for (const std::string routing : {"ugal_group", "ugal_router", "par", "ugal_global"}) {
    CHECK_EQ(nonminimal(routing, {}, 1), 0);  // empty queues: minimal
    CHECK(nonminimal(routing, {}, 12) >= 1);  // a packet ahead on the minimal port
    CHECK_EQ(nonminimal(routing, {{"bias_flits", 100.0}}, 12), 0);
    CHECK_EQ(nonminimal(routing, {{"threshold", 0.0}, {"bias_flits", -1.0}}, 3), 3);  // 0 > -1
  }
}

}  // namespace routing_dragonfly_parallel_links_test
