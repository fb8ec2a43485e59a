// Q-adaptive's table: its size and initial values, the time of the feedback, and the arithmetic of an update by hand.
#include "simcore/routing/q_table.hpp"
#include "simcore/topology/dragonfly.hpp"
#include "support/exploration.hpp"

namespace routing_q_table_test {

using namespace scenes;

const Section kQuiet = {"q_adaptive", {{"epsilon", 0.0}}};

float& entry(Simulation& sim, u32 router, u32 row, u32 column) {
  return learned_table(sim.network()).row(sim.state(), router, row)[column];
}

void check_table(const Section& topology, u32 rows, u32 columns, u32 direct) {
  Simulation sim(config(topology, hpdc21(), kQuiet, {"uniform", {}}));
  CHECK_EQ(learned_table(sim.network()).rows, rows);
  CHECK_EQ(learned_table(sim.network()).columns, columns);
  for (u32 router = 0; router < sim.network().routers; router++) {
    u32 at_300 = 0, at_330 = 0;
    for (u32 row = 0; row < rows; row++)
      for (u32 column = 0; column < columns; column++) {
        at_300 += entry(sim, router, row, column) == 300;
        at_330 += entry(sim, router, row, column) == 330;
      }
    CHECK_EQ(at_300, direct);
    CHECK_EQ(at_300 + at_330, rows * columns);
  }
}

// A large table has sparse rows until a user gets its array. Both forms give the same run, hash and snapshot.
TEST(sparse_tables_equal_arrays) {
  for (const u32 partitions : {1, 3}) {
    Config scene = config(small_network(), hpdc21(), {"q_adaptive", {}}, {"uniform", {{"load", 0.8}}});
    scene.partitions = partitions;
    Simulation array(scene), restored(scene);
    Network net = array.network();
    net.memories[net.table].sparse = true;
    Simulation sparse(std::make_shared<const Network>(net));
    const Memory& table = sparse.state().memory[net.table];
    CHECK(table.empty() && table.sparse.size() * table.stride == all_values(net, array.state()).size());
    sparse.set_threads(2);
    for (u32 k = 0; k < 4; k++) {
      CHECK_EQ(sparse.hash(), array.hash());
      sparse.run(1000 * k);
      array.run(1000 * k);
    }
    CHECK(std::ranges::any_of(table.full, [](const AlignedFloats& rows) { return !rows.empty(); }));
    Simulation fork(sparse);
    restored.restore(sparse.snapshot());
    fork.expose_table(net.table);
    CHECK(std::ranges::equal(all_values(net, fork.state()), all_values(net, array.state())));
    CHECK(restored.hash() == array.hash() && sparse.hash() == array.hash());
  }
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

// A change of a router's table in one cycle.
struct Change {
  Cycle now;
  u32 router, row, column;
  float before, after;
};
std::vector<Change> changes_until_empty(Simulation& sim) {
  const LearnedTable t = learned_table(sim.network());
  const std::span<float> after = all_values(sim.network(), sim.state());
  std::vector<Change> out;
  std::vector<float> before(after.begin(), after.end());
  for (u32 cycle = 0; cycle < 2000; cycle++) {
    sim.run(1);
    for (std::size_t k = 0; k < after.size(); k++) {
      if (after[k] == before[k]) continue;
      const auto index = static_cast<u32>(k / t.stride);
      out.push_back({cycle, index / t.rows, index % t.rows, static_cast<u32>(k % t.stride), before[k], after[k]});
    }
    before.assign(after.begin(), after.end());
  }
  CHECK(sim.empty());
  return out;
}

// Terminal 2 (group 0, router 1, place 0) to terminal 10 (group 1, router 4 + 1) by a local, a global and a local hop,
// on p2 a4 h2 g9. Columns 0..2 are local, 3..4 global. The row of group 1 at group 0 is 0 * 2 + place 0.
Simulation one_packet(const Values& changes = {}) {
  return Simulation(
      config(small_network(), hpdc21(), {"q_adaptive", merge(kQuiet.values, changes)}, planned({{2, 10}})));
}
void fill_row(Simulation& sim, u32 router, u32 row, float value) {
  for (u32 column = 0; column < learned_table(sim.network()).columns; column++) entry(sim, router, row, column) = value;
}
// The packet's first entry after the packet has passed, if its whole row was `value` before.
float learned_value(float value) {
  Simulation sim = one_packet();
  fill_row(sim, 1, 0, value);
  changes_until_empty(sim);
  return entry(sim, 1, 0, 0);
}

TEST(q_table_of_1056_terminals) { check_table(network_1056(), 128, 11, 16); }
TEST(q_table_of_2550_terminals) { check_table(dragonfly_section(5, 10, 5, 51), 250, 14, 25); }

// The head arrives at router 1 at 20 + 12 = 32 and at router 0 at 32 + 21 + 31 = 84. It leaves that input at 85,
// arrives at router 4 at 85 + 20 + 200 = 305 and leaves at 306. The feedback takes 31 and 200 cycles (50 and 320 ns)
// back. First: r = 52 cycles = 83.2 ns, V = 300: target 383 (whole ns); 330 + 0.04 * 53 = 332.12 -> 332. Second: r =
// 221 cycles = 353.6 ns, V = 0: target 353; 300 + 0.04 * 53 = 302.12 -> 302. The last hop is local in the destination
// group and has no feedback.
TEST(feedback_arrives_in_time_with_the_right_value) {
  Simulation sim = one_packet();
  const auto changes = changes_until_empty(sim);
  CHECK_EQ(changes.size(), 2u);
  const Change first = changes[0], second = changes[1];
  CHECK_EQ(first.now, 85u + 31u);
  CHECK(first.router == 1 && first.row == 0 && first.column == 0);
  CHECK_EQ(first.before, 330.0f);
  CHECK_EQ(first.after, 332.0f);
  CHECK_EQ(second.now, 306u + 200u);
  CHECK(second.router == 0 && second.row == 0 && second.column == 3);
  CHECK_EQ(second.before, 300.0f);
  CHECK_EQ(second.after, 302.0f);
}

// A packet of 32 flits takes 128 cycles to pass, longer than a local hop (39). Its head is at the next router while its
// tail is still here. The feedback concerns the head, so it has the time and value of a packet of one flit.
TEST(feedback_of_a_long_packet_concerns_its_head) {
  for (const std::string ports : {"per_port", "per_vc"}) {
    Simulation sim(config(small_network(), merge(sc22(), {{"crossbar_ports", ports}}), kQuiet, planned({{2, 10}}, 32)));
    Simulation single(config(small_network(), merge(sc22(), {{"crossbar_ports", ports}}), kQuiet, planned({{2, 10}})));
    const auto changes = changes_until_empty(sim), wanted = changes_until_empty(single);
    CHECK_EQ(wanted.size(), 2u);
    CHECK_EQ(changes.size(), wanted.size());
    for (std::size_t k = 0; k < wanted.size(); k++) {
      CHECK_EQ(changes[k].now, wanted[k].now);
      CHECK(changes[k].router == wanted[k].router && changes[k].row == wanted[k].row &&
            changes[k].column == wanted[k].column);
      CHECK_EQ(changes[k].after, wanted[k].after);
    }
  }
}

TEST(no_feedback_within_a_group_or_from_terminals) {
  Simulation sim(config(small_network(), hpdc21(), kQuiet, planned({{0, 1}, {2, 0}, {6, 5}})));
  CHECK_EQ(changes_until_empty(sim).size(), 0u);
}

// The target of the first hop is 383 (above), whatever values the row of its own router holds.
TEST(update_by_hand) {
  CHECK_EQ(learned_value(1000), 876.0f);  // a lower target, full rate: 1000 - 0.2 * 617 = 876.6
  CHECK_EQ(learned_value(384), 383.0f);   // a negative difference subtracts at least 1 ns: 384 - 0.2 = 383.8
  CHECK_EQ(learned_value(383), 383.0f);
  CHECK_EQ(learned_value(360),
           360.0f);  // a higher target less than 25 ns away changes nothing: 360 + 0.04 * 23 = 360.92
  CHECK_EQ(learned_value(359), 359.0f);  // 24 ns away: 359.96
  CHECK_EQ(learned_value(350), 351.0f);  // 33 ns away: 351.32
  CHECK_EQ(learned_value(100), 111.0f);  // 100 + 0.04 * 283 = 111.32
}

TEST(update_without_truncation) {
  Simulation sim = one_packet({{"integer_ns", false}, {"alpha", 0.5}, {"beta", 0.25}});
  changes_until_empty(sim);
  CHECK_NEAR(entry(sim, 1, 0, 0), 330 + 0.25 * (300 + 83.2 - 330), 1e-3);
  CHECK_NEAR(entry(sim, 0, 0, 3), 300 + 0.25 * (353.6 - 300), 1e-3);
}

// The feedback holds the least value of all ports in the row, whichever port the packet takes.
TEST(feedback_holds_the_least_of_all_ports) {
  Simulation sim = one_packet();
  entry(sim, 0, 0, 1) = 17;  // a local port that router 0 may not use
  changes_until_empty(sim);
  // 100 = trunc(83.2 + 17): 330 - 0.2 * 230 = 284
  CHECK_EQ(entry(sim, 1, 0, 0), 284.0f);
}

TEST(frozen_tables_do_not_learn) {
  Simulation sim = one_packet();
  sim.state().part.totals.frozen = 1;
  CHECK_EQ(changes_until_empty(sim).size(), 0u);
}

// At the source d = (Q_min - least) / Q_min. The packet takes the minimal port if d < 0.2. Ports: 2..4 local, 5..6
// global.
TEST(source_threshold_by_hand) {
  Simulation minimal = one_packet();
  entry(minimal, 1, 0, 4) = 265;  // d = 65 / 330 = 0.197
  CHECK(route_of(minimal) == (std::vector<u32>{2, 5, 2, 0}));
  Simulation best = one_packet();
  // d = 0.203. Router 1's second global port leads to group 4, whose router 0 leads to group 1.
  entry(best, 1, 0, 4) = 263;
  const auto route = route_of(best);
  CHECK_EQ(route[0], 6u);
  Simulation tie = one_packet();
  entry(tie, 1, 0, 3) = entry(tie, 1, 0, 4) = entry(tie, 1, 0, 1) = 100;  // among equal ports the lowest wins
  CHECK_EQ(route_of(tie)[0], 3u);
}

// At the first router of another group: a random local port, if its value is lower than the minimal port's by 0.35 or
// more.
TEST(intermediate_threshold_by_hand) {
  // Terminal 4 (group 0, router 2): port 6 leads to group 6 (q = 5) and arrives at its router 0 (q = 0 to group 0).
  // Group 6 reaches group 4 by q = 4, router 2. The row of group 4 is 4 * 2 + place 0 = 8 at group 6 and 3 * 2 = 6 at
  // group 0.
  for (const auto& [local, minimal] : {std::pair{220.0f, true}, std::pair{200.0f, false}}) {
    Simulation sim(config(small_network(), hpdc21(), kQuiet, planned({{4, 4 * 8 + 7}})));
    entry(sim, 2, 6, 4) = 100;
    // (330 - 220) / 330 = 0.33; (330 - 200) / 330 = 0.39
    for (u32 column : {0u, 2u}) entry(sim, 24, 8, column) = local;
    entry(sim, 24, 8, 1) = 330;  // the minimal port: local, to router 2
    const auto route = route_of(sim);
    CHECK_EQ(route[0], 6u);
    // The random port is the minimal port in 1 of 3 draws, so several seeds are tried.
    u32 detours = 0;
    for (u64 seed = 1; seed <= 12; seed++) {
      Simulation other(config(small_network(), hpdc21(), kQuiet, planned({{4, 4 * 8 + 7}}), seed));
      entry(other, 2, 6, 4) = 100;
      for (u32 column : {0u, 2u}) entry(other, 24, 8, column) = local;
      detours += route_of(other)[1] != 3;
    }
    CHECK(minimal ? detours == 0 : detours >= 4 && detours <= 12);
  }
}

// ---- HyperX ----

namespace {

// 4x4, T=1: ports 1..3 x, 4..6 y (columns 0..2, 3..5). Rows 0..3 are the destination's x, rows 4..7 its y. The packet
// goes from (0, 0) to (1, 1).
Simulation hyperx_packet(const Values& changes = {}) {
  return Simulation(
      config(hyperx_section({4, 4}, 1), hpdc21(), {"q_adaptive", merge(kQuiet.values, changes)}, planned({{0, 5}})));
}

}  // namespace

// Rows per dimension and coordinate: 8 + 8 + 8, and 12 + 8. Columns per port: 3 * 7, and 11 + 7.
TEST(q_table_of_hyperx) {
  for (const auto& [topology, rows, columns] :
       {std::tuple{hyperx_section({8, 8, 8}, 8), 24u, 21u},
        {hyperx_section({12, 8}, 7), 20u, 18u},
        {hyperx_section({3, 2}, 1, {{"links", std::vector<double>{2, 3}}}), 5u, 7u}}) {
    const auto net = build(config(topology, hpdc21(), kQuiet, {"uniform", {}}));
    CHECK_EQ(learned_table(*net).rows, rows);
    CHECK_EQ(learned_table(*net).columns, columns);
  }
  // The initial value counts links only, 30 ns each: one by the port that leads to the coordinate, two by the other
  // ports of the dimension. Ports of another dimension are unreachable.
  Simulation sim = hyperx_packet();
  for (u32 column = 0; column < 6; column++) {
    const float x1[] = {30, 60, 60, routing::kUnreachable, routing::kUnreachable, routing::kUnreachable},
                y3[] = {routing::kUnreachable, routing::kUnreachable, routing::kUnreachable, 60, 60, 30};
    CHECK_EQ(entry(sim, 0, 1, column), x1[column]);      // from (0, 0) towards x = 1
    CHECK_EQ(entry(sim, 0, 4 + 3, column), y3[column]);  // towards y = 3
  }
  const float from_2[] = {60, 60, 30};  // from (2, 0) towards x = 1: offset 3
  for (u32 column = 0; column < 3; column++) CHECK_EQ(entry(sim, 2, 1, column), from_2[column]);
}

// The packet is at router 0 at 32, at router 1 at 32 + 21 + 31 = 84, at router 5 at 136. Each router reports on the
// dimension of the last hop, which is now aligned: r = 52 cycles = 83.2 ns and no time to go. 30 + 0.04 * 53 = 32.12
// -> 32.
TEST(hyperx_feedback_by_hand) {
  Simulation sim = hyperx_packet();
  const auto changes = changes_until_empty(sim);
  CHECK_EQ(changes.size(), 2u);
  CHECK_EQ(changes[0].now, 85u + 31u);
  CHECK(changes[0].router == 0 && changes[0].row == 1 && changes[0].column == 0);
  CHECK_EQ(changes[1].now, 137u + 31u);
  CHECK(changes[1].router == 1 && changes[1].row == 4 + 1 && changes[1].column == 3);
  for (const Change& change : changes) CHECK(change.before == 30 && change.after == 32);
}

// The packet is derouted by (2, 0), which reports the value of its own direct port: 83.2 + 30 = 113 ns; 5 + 0.04 * 108
// = 9.32 -> 9. From a higher value the full rate applies: 200 - 0.2 * 87 = 182.6 -> 182.
TEST(hyperx_feedback_of_a_deroute) {
  Simulation sim = hyperx_packet();
  entry(sim, 0, 1, 1) = 5;
  Simulation again(sim);
  CHECK(route_of(again) == (std::vector<u32>{2, 3, 4, 0}));
  const auto changes = changes_until_empty(sim);
  CHECK_EQ(changes.size(), 3u);
  CHECK(changes[0].router == 0 && changes[0].row == 1 && changes[0].column == 1 && changes[0].after == 9);
  CHECK(changes[1].router == 2 && changes[1].row == 1 && changes[1].column == 2 && changes[1].after == 32);
  CHECK(changes[2].router == 1 && changes[2].row == 5 && changes[2].column == 3 && changes[2].after == 32);

  Simulation slow = hyperx_packet();
  for (const u32 column : {0u, 1u, 2u}) entry(slow, 0, 1, column) = column == 1 ? 200 : 1000;
  changes_until_empty(slow);
  CHECK_EQ(entry(slow, 0, 1, 1), 182.0f);
}

// Derouted if the least value is lower than the direct port's by 0.2 of the direct port's value or more.
TEST(hyperx_threshold_by_hand) {
  for (const auto& [value, port] : {std::pair{25.0f, 1u}, {23.0f, 2u}}) {  // 5/30 = 0.167, 7/30 = 0.233
    Simulation sim = hyperx_packet();
    entry(sim, 0, 1, 1) = value;
    CHECK_EQ(route_of(sim)[0], port);
  }
  Simulation strict = hyperx_packet({{"q_thld1", 0.9}});
  entry(strict, 0, 1, 1) = 5;
  CHECK_EQ(route_of(strict)[0], 1u);
  // After a deroute the table is not used.
  Simulation sim = hyperx_packet();
  entry(sim, 0, 1, 1) = 5;
  entry(sim, 2, 1, 0) = 1;
  CHECK(route_of(sim) == (std::vector<u32>{2, 3, 4, 0}));
}

// The flits at a port add 32 ns each, times queue_weight: 30 + 32 w against 60, with a threshold of 0.2.
TEST(hyperx_queue_weight_by_hand) {
  struct Case {
    double weight;
    std::string congestion;
    u32 queued, downstream, port;
  };
  for (const Case& c : {Case{0, "both", 9, 9, 1}, Case{1, "output_queue", 1, 0, 1}, Case{1, "output_queue", 2, 0, 2},
                        Case{2, "output_queue", 1, 0, 2}, Case{4, "output_queue", 0, 9, 1}, Case{1, "credits", 0, 2, 2},
                        Case{1, "both", 1, 1, 2}}) {
    Lone x(
        build(config(hyperx_section({4, 4}, 1), hpdc21(),
                     {"q_adaptive", merge(kQuiet.values, {{"queue_weight", c.weight}, {"congestion", c.congestion}})},
                     {"uniform", {}})));
    congest(x, 0, 1, 0, c.queued, c.downstream);
    const Step step = x.ask(x.send(0, 5));
    CHECK_FOR(c.port == 1 ? step.port == 1 : step.port == 2, std::to_string(c.weight) + " " + c.congestion);
  }
}

// Q-routing on any topology has one row per router. An initial value is one link, and one more per dimension that is
// left after it. With local_dimensions=1 the links of y are global, 300 ns.
TEST(q_routing_table_of_hyperx) {
  Simulation sim(
      config(hyperx_section({4, 4}, 1, {{"local_dimensions", 1}}), hpdc21(), {"q_routing", {}}, {"uniform", {}}));
  CHECK_EQ(learned_table(sim.network()).rows, 16u);
  CHECK_EQ(sim.network().vcs, 4u);  // max_hops 2 + 2 dimensions
  // x aligned: 30 + 300. x not aligned: 30 + 30 + 300. y: 300 + 30, and 300 + 30 + 300.
  const float to_5[] = {330, 360, 360, 330, 630, 630};
  for (u32 column = 0; column < 6; column++) CHECK_EQ(entry(sim, 0, 5, column), to_5[column]);
}

// ---- Q-adaptive with corrections, and hierarchical Q-learning, on Dragonflies ----

const Values kExact = {{"epsilon", 0.0}, {"integer_ns", false}}, kAll = merge(kExact, {{"candidates", 0}});

Simulation one_packet(const std::string& routing, u32 source, u32 destination, const Values& changes = {}) {
  const Values& values = routing == "q_adaptive" ? kExact : kAll;
  return Simulation(
      config(small_network(), hpdc21(), {routing, merge(values, changes)}, planned({{source, destination}})));
}

// Times of a hop on an idle network (q_table_test.cpp).
constexpr double kLocal = 83.2, kGlobal = 353.6;

// ---- q_adaptive_corrected ----

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

}  // namespace routing_q_table_test
