// Q-adaptive with corrections, and hierarchical Q-learning: tables, reports and decisions by hand, paths by exhaustion.
// On the small network, router r of group 0 has links to groups 1 + 2 r and 2 + 2 r. Ports 2..4 (columns 0..2) are
// local, ports 5 and 6 (columns 3 and 4) are global.
#include <algorithm>

#include "simcore/routing/q_table.hpp"
#include "simcore/topology/dragonfly.hpp"
#include "support/exploration.hpp"

namespace routing_dragonfly_learned_test {

using namespace scenes;

const Values kExact = {{"epsilon", 0.0}, {"integer_ns", false}}, kAll = merge(kExact, {{"candidates", i64{0}}});

float& entry(Simulation& sim, u32 router, u32 row, u32 column) {
  return learned_table(sim.network()).row(sim.state(), router, row)[column];
}

Simulation one_packet(const std::string& routing, u32 source, u32 destination, const Values& changes = {}) {
  const Values& values = routing == "q_adaptive" ? kExact : kAll;
  return Simulation(
      config(small_network(), hpdc21(), {routing, merge(values, changes)}, planned({{source, destination}})));
}

// The packet's ports, from its source to the ejection.
std::vector<u32> route_of(Simulation& sim) {
  std::vector<Decision> seen;
  for (u32 k = 0; k < 3000; k++) observe(sim, seen);
  CHECK(sim.empty());
  std::vector<u32> ports;
  for (const Decision& d : seen) ports.push_back(d.out_port);
  return ports;
}

// Times of a hop on an idle network (q_table_test.cpp).
constexpr double kLocal = 83.2, kGlobal = 353.6;

// ---- q_adaptive_corrected ----

// Rows for packets in their source group, and for packets in an intermediate group: 2 * 8 groups * 2 slots.
TEST(corrected_table_has_rows_for_both_groups) {
  Simulation sim = one_packet("q_adaptive_corrected", 2, 10);
  CHECK_EQ(learned_table(sim.network()).rows, 32u);
  CHECK_EQ(learned_table(sim.network()).columns, 5u);
  for (const u32 stage : {0u, 16u}) {
    CHECK_EQ(entry(sim, 0, stage, 3), 300.0f);  // router 0 to group 1
    CHECK_EQ(entry(sim, 0, stage, 4), 330.0f);
  }
}

// Terminal 2 (router 1) to terminal 10 by router 0. Router 0 may not take its local port, so a low value there is not
// reported. It may take its other global port, so a low value there is reported, and the packet goes there.
TEST(corrected_reports_hold_allowed_ports_only) {
  struct Case {
    u32 column;
    double reported;
    u32 port;
  };
  for (const Case& c : {Case{1, 300, 5}, Case{4, 17, 6}}) {
    Simulation sim = one_packet("q_adaptive_corrected", 2, 10);
    entry(sim, 0, 0, c.column) = 17;
    const auto route = route_of(sim);
    CHECK(route[0] == 2 && route[1] == c.port);
    const double target = kLocal + c.reported, rate = target < 330 ? 0.2 : 0.04;
    CHECK_NEAR(entry(sim, 1, 0, 0), 330 + rate * (target - 330), 1e-3);
  }
  Simulation q_adaptive = one_packet("q_adaptive", 2, 10);
  entry(q_adaptive, 0, 0, 1) = 17;
  route_of(q_adaptive);
  CHECK_NEAR(entry(q_adaptive, 1, 0, 0), 330 + 0.2 * (kLocal + 17 - 330), 1e-3);
}

// Terminal 4 (router 2) goes through group 6, whose router 24 reaches group 4 by router 26 (column 1). The best local
// port wins if its relative gain is at least 0.35. The report holds its value in both cases.
TEST(corrected_decision_in_the_intermediate_group) {
  const u32 row = (8 + 4) * 2;
  for (const auto& [value, port] : {std::pair{220.0f, 3u}, std::pair{200.0f, 2u}}) {
    Simulation sim = one_packet("q_adaptive_corrected", 4, 4 * 8 + 7);
    entry(sim, 2, 6, 4) = 100;
    entry(sim, 24, row, 0) = value;
    const auto route = route_of(sim);
    CHECK(route[0] == 6 && route[1] == port);
    CHECK_NEAR(entry(sim, 2, 6, 4), 100 + 0.04 * (kGlobal + (port == 3 ? 330 : value) - 100), 1e-3);
  }
}

// ---- q_hierarchical ----

// 8 other groups and 4 routers of the own group. The first values are the times of the paths on an idle network.
TEST(hierarchical_table) {
  Simulation sim = one_packet("q_hierarchical", 2, 10);
  CHECK_EQ(learned_table(sim.network()).rows, 12u);
  CHECK_NEAR(entry(sim, 0, 0, 3), kGlobal, 1e-3);           // router 0 to group 1
  CHECK_NEAR(entry(sim, 1, 0, 0), kLocal + kGlobal, 1e-3);  // router 1, by router 0
  // Router 1 by its link to group 3, whose router 12 has the link to group 1 as its second one.
  CHECK_NEAR(entry(sim, 1, 0, 3), 2 * kGlobal, 1e-3);
  CHECK_NEAR(entry(sim, 4, 9, 0), kLocal, 1e-3);  // router 4 to router 5, directly
  CHECK_NEAR(entry(sim, 4, 9, 1), 2 * kLocal, 1e-3);
  CHECK_EQ(entry(sim, 4, 9, 3), routing::kUnreachable);
}

// On an idle network every report confirms the first values.
TEST(hierarchical_values_of_an_idle_network_stay) {
  Simulation sim = one_packet("q_hierarchical", 2, 10);
  const std::span<float> values = all_values(sim.network(), sim.state());
  const std::vector<float> before(values.begin(), values.end());
  CHECK(route_of(sim) == (std::vector<u32>{2, 5, 2, 0}));
  for (std::size_t k = 0; k < before.size(); k++)
    if (before[k] < routing::kUnreachable) CHECK_NEAR(values[k], before[k], 1e-3);
}

// Each hop trains one row: the local hop at router 1 and the global hop at router 0 the row of group 1, and the last
// hop at router 4 the row of router 5.
TEST(hierarchical_reports_by_hand) {
  Simulation sim = one_packet("q_hierarchical", 2, 10);
  entry(sim, 1, 0, 0) = entry(sim, 0, 0, 3) = entry(sim, 4, 9, 0) = 100;
  entry(sim, 0, 0, 1) = 17;  // router 0 may not take its local port
  CHECK(route_of(sim) == (std::vector<u32>{2, 5, 2, 0}));
  CHECK_NEAR(entry(sim, 1, 0, 0), 100 + 0.04 * (kLocal + 100 - 100), 1e-3);
  CHECK_NEAR(entry(sim, 0, 0, 3), 100 + 0.04 * (kGlobal - 100), 1e-3);
  CHECK_NEAR(entry(sim, 4, 9, 0), 100 - 0.2 * (100 - kLocal), 1e-3);
}

// In the destination group router 4 takes the detour over router 6 if its relative gain is at least 0.35. The detour's
// two hops train the row of router 5 at routers 4 and 6.
TEST(hierarchical_detour_in_the_destination_group) {
  for (const auto& [value, port] : {std::pair{56.0f, 2u}, std::pair{50.0f, 3u}}) {
    Simulation sim = one_packet("q_hierarchical", 2, 10);
    entry(sim, 4, 9, 1) = value;
    const auto route = route_of(sim);
    CHECK_EQ(route[2], port);
    CHECK_EQ(route.size(), port == 2 ? 4u : 5u);
    CHECK_NEAR(entry(sim, 4, 9, 1), port == 2 ? value : value + 0.04 * (2 * kLocal - value), 1e-3);
    CHECK_NEAR(entry(sim, 6, 9, 1), kLocal, 1e-3);
  }
}

// Terminal 4 goes through group 6. Router 24's goal there is router 26. A detour over router 25 saves time, so the
// report is lower by the saved time.
TEST(hierarchical_detour_in_the_intermediate_group) {
  Simulation sim = one_packet("q_hierarchical", 4, 4 * 8 + 7);
  entry(sim, 2, 3, 4) = 100;
  entry(sim, 24, 8 + 2, 0) = 20;
  const auto route = route_of(sim);
  CHECK(route[0] == 6 && route[1] == 2);
  CHECK_NEAR(entry(sim, 2, 3, 4), 100 + 0.04 * (kGlobal + (kLocal + kGlobal) - (kLocal - 20) - 100), 1e-3);
  CHECK_NEAR(entry(sim, 24, 8 + 2, 0), 20 + 0.04 * (2 * kLocal - 20), 1e-3);
  CHECK_NEAR(entry(sim, 25, 8 + 2, 1), kLocal, 1e-3);
}

// ---- Both ----

// By default one random port is compared with the minimal port. If only one other port is better, few packets find it.
TEST(learned_routings_compare_random_ports) {
  for (const std::string routing : {"q_adaptive_corrected", "q_hierarchical"})
    for (const i64 candidates : {0, 1}) {
      u32 found = 0;
      for (u64 seed = 1; seed <= 40; seed++) {
        Simulation sim(config(small_network(), hpdc21(), {routing, merge(kExact, {{"candidates", candidates}})},
                              planned({{2, 10}}), seed));
        entry(sim, 1, 0, 4) = 10;
        const u32 port = route_of(sim)[0];
        CHECK(port == 2 || port == 6);
        found += port == 6;
      }
      CHECK_FOR(candidates == 0 ? found == 40 : found >= 2 && found <= 18, routing);  // one port of five
    }
}

TEST(learned_routings_on_dragonfly_are_free_of_deadlock) {
  struct Case {
    std::string routing;
    u32 longest;
  };
  for (const Case& c : {Case{"q_adaptive_corrected", 6}, {"q_hierarchical", 7}})
    for (const auto& [topology, turns] : {std::pair{dragonfly_section(1, 3, 1, 4), 1u},
                                          {dragonfly_section(1, 4, 1, 3), 2u},
                                          {dragonfly_section(2, 3, 1, 3), 1u}}) {
      Lone x = lone(topology, {c.routing, {{"epsilon", 0.5}, {"q_thld1", 0.0}, {"q_thld2", -10.0}}});
      u32 longest = 0;
      const Edges edges = explore(
          x, learned(turns),
          [&](const Node& node, const std::vector<Option>&) { longest = std::max(longest, u32{node.packet.hops}); },
          turns);
      CHECK_FOR(acyclic(edges), c.routing + " " + x.net.fingerprint);
      CHECK_EQ(longest, c.longest);
      CHECK_EQ(x.net.routing_facts.max_hops, c.longest);
    }
}

}  // namespace routing_dragonfly_learned_test
