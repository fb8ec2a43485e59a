// Dragonfly+: sizes of the papers, the links of groups, distances, and paths, classes and throughput of its routings.
#include "simcore/topology/dragonfly_plus.hpp"

#include "support/exploration.hpp"
#include "support/links.hpp"

namespace topology_dragonfly_plus_test {

using namespace scenes;

Section plus(i64 p, i64 leaves, i64 spines, i64 h, i64 g, const Values& more = {}) {
  return {"dragonfly_plus", merge({{"terminals_per_leaf", p},
                                   {"leaves_per_group", leaves},
                                   {"spines_per_group", spines},
                                   {"global_ports", h},
                                   {"groups", g}},
                                  more)};
}
// All ports of routers with k ports in use.
Section full(i64 k) { return plus(k / 2, k / 2, k / 2, k / 2, k * k / 4 + 1); }

const std::vector<std::string> kPlusRoutings = {"minimal",     "valiant_group", "valiant_router", "ugal_group",
                                                "ugal_router", "par",           "fpar",           "q_adaptive"};

// k^4 / 16 + k^2 / 4 terminals on routers of k ports (Shpiner et al.), 105,300 for k = 36.
TEST(dragonfly_plus_has_the_sizes_of_its_paper) {
  for (const u32 k : {4u, 6u, 8u, 12u, 36u}) {
    const auto net = network_of(full(k));
    CHECK_EQ(net->terminals, k * k * k * k / 16 + k * k / 4);
    CHECK_EQ(net->routers, (k * k / 4 + 1) * k);
    CHECK_EQ(net->radix, k);
    CHECK_EQ(net->groups, k * k / 4 + 1);
    for (u32 p = 0; p < net->router_ports; p++)
      if (net->local_port(p) < k) CHECK(net->channels[p].kind != PortKind::kUnused);
    CHECK_EQ(count_links(*net), net->groups * k * k / 4 + net->groups * (net->groups - 1) / 2);
  }
  CHECK_EQ(network_of(full(36))->terminals, 105300u);
}

// Every two groups have the same number of links. Leaves are two hops apart in a group, and three in different groups.
TEST(dragonfly_plus_joins_every_two_groups) {
  struct Case {
    u32 p, leaves, spines, h, g, wanted, links;
  };
  for (const std::string arrangement : {"absolute", "relative", "palmtree"})
    for (const Case& c : {Case{1, 2, 2, 1, 3, 0, 1}, Case{2, 3, 2, 4, 9, 0, 1}, Case{1, 2, 4, 3, 4, 0, 4},
                          Case{1, 2, 4, 3, 4, 2, 2}, Case{2, 4, 4, 4, 17, 0, 1}, Case{1, 1, 3, 5, 6, 0, 3}}) {
      const auto net = network_of(
          plus(c.p, c.leaves, c.spines, c.h, c.g, {{"links_per_group_pair", c.wanted}, {"arrangement", arrangement}}));
      const DragonflyPlus& df = as_dragonfly_plus(*net);
      CHECK_EQ(df.links, c.links);
      const auto next = neighbors_of(*net);
      std::map<std::pair<u32, u32>, u32> between;
      for (u32 r = 0; r < net->routers; r++)
        for (const u32 to : next[r])
          if (df.group(r) != df.group(to)) {
            CHECK(!df.is_leaf(r) && !df.is_leaf(to));
            between[{df.group(r), df.group(to)}]++;
          } else {
            CHECK(df.is_leaf(r) != df.is_leaf(to));
          }
      CHECK_EQ(between.size(), c.g * (c.g - 1));
      for (const auto& [pair, links] : between) CHECK_EQ(links, c.links);
      for (u32 a = 0; a < net->routers; a++) {
        if (!df.is_leaf(a)) continue;
        const auto hops = hops_from(next, a);
        for (u32 b = 0; b < net->routers; b++) {
          if (df.is_leaf(b) && a != b) CHECK_EQ(hops[b], df.group(a) == df.group(b) ? 2u : 3u);
          u32 ports = 0;
          if (df.is_leaf(b) && a != b)
            df.each_minimal_port(a, b, [&](u32 k) {
              CHECK_EQ(hops_from(next, b)[net->next_router(net->port(a, k))] + 1, hops[b]);
              ports++;
            });
          if (df.is_leaf(b) && a != b) CHECK_EQ(ports, df.group(a) == df.group(b) ? c.spines : c.links);
        }
      }
    }
}

// The shapes have spines with and without a link to a group, several links between two groups, unused global ports, and
// a single leaf or spine per group.
TEST(dragonfly_plus_candidates_have_no_cycle_on_any_shape) {
  for (const Section& topology : {plus(1, 2, 2, 2, 5), plus(1, 2, 3, 1, 4), plus(1, 2, 2, 3, 4), plus(1, 1, 3, 2, 3),
                                  plus(1, 3, 1, 4, 5), plus(1, 2, 2, 2, 2), plus(1, 2, 4, 1, 4)})
    for (const std::string routing : {"minimal", "fpar"}) {
      Lone x(network_of(topology, routing));
      std::set<u32> classes;
      const Edges edges = explore(x, listed, [&](const Node& node, const std::vector<Option>& options) {
        for (const Option& option : options)
          if (!x.ejects(node.at.router, option.step)) classes.insert(option.step.vc_class);
      });
      CHECK_FOR(acyclic(edges) && edge_count(edges) > 0, routing);
      CHECK_EQ(classes.size(), routing == "fpar" && as_dragonfly_plus(x.net).g > 2 ? 2u : 1u);
    }
}

// A bias below every congestion forces a detour of each packet to another group.
TEST(dragonfly_plus_bias_forces_detours) {
  for (const std::string routing : {"ugal_group", "ugal_router", "par"}) {
    Lone x = lone(plus(1, 2, 2, 2, 5), {routing, {{"bias_flits", -1e6}}});
    for (u32 to = 0; to < x.net.terminals; to++) {
      x.walk(0, to, to, [](u32, const Step&) {});
      CHECK_FOR(x.packet().nonminimal == (x.net.router_group[x.net.terminal_router[to]] != 0), routing);
    }
  }
}

// VAL visits every third group, and no other.
TEST(dragonfly_plus_valiant_visits_every_third_group) {
  for (const std::string routing : {"valiant_group", "valiant_router"}) {
    const Section topology = plus(2, 2, 2, 2, 5);
    std::set<u32> visited;
    for (u64 seed = 1; seed <= 40; seed++) {
      Simulation sim(config(topology, input_queued(), {routing, {}}, planned({{0, 19}}), seed));
      const DragonflyPlus& df = as_dragonfly_plus(sim.network());
      std::vector<Decision> log;
      while (!sim.empty() || sim.state().part.totals.now < 2) observe(sim, log);
      for (const Decision& d : log) {
        const u32 group = df.group(d.router);
        if (group != 0 && group != 4) visited.insert(group);
        if (d.out_class != kAnyClass) CHECK(d.out_class <= 1);
      }
    }
    CHECK(visited == (std::set<u32>{1, 2, 3}));
  }
}

// ADV+1: the 9 terminals of a group share one link to the next group, so minimal paths carry 1/9 per terminal.
// Detours have the links of all groups.
TEST(dragonfly_plus_detours_carry_adversarial_traffic) {
  const Section traffic{"adversarial", {{"load", 0.3}}};
  for (const std::string& routing : kPlusRoutings) {
    const double got = accepted(full(6), {routing, {}}, traffic);
    if (routing == "minimal") CHECK_NEAR(got, 1 / 9.0, 0.003);
    else CHECK_FOR(got > 0.27, routing + ": " + std::to_string(got));
  }
  CHECK(accepted(full(6), {"fpar", {{"notifications", "instant"}}}, traffic) > 0.27);
}

}  // namespace topology_dragonfly_plus_test
