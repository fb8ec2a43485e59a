// Partitions and threads: the results do not depend on the number of partitions, threads or calls of run().
#include "core/partition_runner.hpp"
#include "simcore/registry.hpp"
#include "simcore/rng.hpp"
#include "simcore/team.hpp"
#include "support/crafted.hpp"

namespace partition_test {

using namespace scenes;

struct Case {
  std::string name;
  Config config;
};

Section small(const std::string& topology) { return {topology, registry<TopologySpec>().find(topology)->second.small}; }

// Input-queued and output-queued routers, single and mixed packet sizes, learning, detours, links that fail and
// recover.
std::vector<Case> cases() {
  const Section uniform = {"uniform", {{"load", 0.5}}},
                mixed_sizes = {"uniform", {{"load", 0.4}, {"packet_bytes_max", bytes_of(5)}}};
  const Section adversarial = {"adversarial", {{"load", 0.3}}}, hot = {"hotspot", {{"load", 0.3}}};
  std::vector<Case> all;
  const auto add = [&](const std::string& name, Config c) { all.push_back({name, std::move(c)}); };
  for (const char* routing : {"minimal", "par", "ugal_group", "q_adaptive", "q_routing", "valiant_router",
                              "q_adaptive_corrected", "q_hierarchical"})
    for (const auto& [router, values] : {std::pair{"input_queued", input_queued()}, {"hpdc21", hpdc21()}})
      add(std::string("dragonfly ") + routing + ' ' + router, config(small_network(), values, {routing, {}}, uniform));
  add("dragonfly q_adaptive adversarial", config(small_network(), hpdc21(), {"q_adaptive", {}}, adversarial));
  add("dragonfly par sc22",
      config(small_network(), sc22(), {"par", {}}, {"uniform", {{"load", 0.5}, {"packet_bytes", bytes_of(4)}}}));
  add("dragonfly par sc22 packet crossbar", config(small_network(), packet_crossbar(sc22()), {"par", {}},
                                                   {"uniform", {{"load", 0.9}, {"packet_bytes_max", bytes_of(4)}}}));
  add("dragonfly wormhole", config(small_network(), small_wormhole(), {"minimal", {}}, mixed_sizes));
  add("dragonfly q_adaptive wormhole", config(small_network(), small_wormhole(), {"q_adaptive", {}}, mixed_sizes));
  add("dragonfly minimal hotspot", config(small_network(), input_queued(), {"minimal", {}}, hot));
  for (const char* routing :
       {"dimension_order", "omni_war", "dim_war", "dal", "q_adaptive", "clos_ad", "minimal_adaptive"})
    add(std::string("hyperx ") + routing, config(hyperx_section({4, 4}, 3), sc19(), {routing, {}}, mixed_sizes));
  for (const char* topology : {"torus", "mesh", "fat_tree", "slim_fly", "random_regular"})
    for (const char* routing : {"minimal", "ugal", "up_down"})
      add(std::string(topology) + ' ' + routing, config(small(topology), input_queued(), {routing, {}}, mixed_sizes));
  for (const char* observation : {"relative_use+path", "relative+relative_lost", "progress+q_values+router+queues"})
    add(std::string("dragonfly policy ") + observation,
        config(small_network(), hpdc21(),
               {"policy", {{"temperature", 1.0}, {"hidden", std::vector<double>{5}}, {"observation", observation}}},
               uniform));
  add("dragonfly ugal_global", config(small_network(), hpdc21(), {"ugal_global", {}}, adversarial));
  add("dragonfly policy remote_queues",
      config(small_network(), input_queued(),
             {"policy", {{"temperature", 1.0}, {"hidden", std::vector<double>{5}}, {"observation", "remote_queues"}}},
             adversarial));
  for (const char* control : {"dctcp", "swift", "receiver"}) {
    // With lost backlogs, the partitions would add the missed generations in another order.
    Config held = config(small_network(), merge(hpdc21(), {{"source_backlog", "kept"}}), {"par", {}},
                         {"uniform", {{"load", 0.6}}});
    held.congestion_control = {control, {{"flows", 1}}};
    add(std::string("dragonfly with ") + control, held);
    held.congestion_control.values["ack_bytes"] = i64{30};
    add(std::string("dragonfly with acknowledgements in packets of ") + control, held);
  }
  for (const auto& [router, values] : {std::pair{"input_queued", input_queued()}, {"sc22", packet_crossbar(sc22())}}) {
    Config shared = config(small_network(), values, {"par", {}}, mixed_sizes);
    shared.classes = {{"high", {{"priority", 1}, {"sources", 0.3}}}, {"bulk", {{"share", 0.2}, {"limit", 0.6}}}};
    add(std::string("dragonfly with classes ") + router, shared);
  }
  Config failing = config(small_network(), hpdc21(), {"minimal", {}}, uniform);
  failing.failures = {{"events", "0.05@1000-2500,0.05@1801"}};
  add("dragonfly with links that go down and up", failing);
  failing.routing = {"policy",
                     {{"temperature", 1.0}, {"hidden", std::vector<double>{5}}, {"observation", "remote_queues"}}};
  add("dragonfly policy remote_queues with links that go down and up", failing);
  failing.routing = {"table", {}};
  add("a table on a dragonfly with links that go down and up", failing);
  add("fat_tree policy", config(small("fat_tree"), input_queued(),
                                {"policy", {{"observation", "relative"}, {"allocation", "sequential"}}}, mixed_sizes));
  return all;
}

Config cut(Config c, u32 partitions) {
  c.partitions = partitions;
  return c;
}

std::vector<double> numbers(Simulation& sim) {
  std::vector<double> all;
  for (const auto& [name, value] : statistics(sim.network(), sim.state())) all.push_back(value);
  for (u32 p = 0; p < sim.network().port_count; p++)
    if (sim.network().channels[p].peer != kNone)
      all.push_back(static_cast<double>(sim.state().ports[p].flits)),
          all.push_back(static_cast<double>(sim.state().ports[p].stall));
  if (sim.network().seam)
    for (const double delay : sim.accrued_delay()) all.push_back(delay);
  for (const SeriesPoint& x : summed(sim.state(), &Partition::series))
    all.push_back(static_cast<double>(x.packets + x.latency));
  return all;
}

constexpr u32 kCycles = 2000;

void set_weights(Simulation& sim) {  // of a policy
  AlignedFloats& weights = sim.state().weights;
  for (std::size_t k = 0; k < weights.size(); k++) weights[k] = static_cast<float>(unit(mix64(k + 1)) - 0.5);
}

void go(Simulation& sim) {
  set_weights(sim);
  sim.set_series_interval(500);
  sim.run(kCycles / 4 + 13);
  sim.begin_window();
  sim.run(kCycles);
}

TEST(partitions_change_nothing) {
  for (const Case& x : cases()) {
    Simulation whole(cut(x.config, 1));
    go(whole);
    const auto wanted = numbers(whole);
    CHECK_FOR(statistics(whole.network(), whole.state())["packets_delivered"] > 300, x.name);
    for (const u32 parts : {2u, 5u}) {
      Simulation sim(cut(x.config, parts));
      CHECK_EQ(sim.network().partitions(), parts);
      go(sim);
      CHECK_FOR(numbers(sim) == wanted, x.name + " in " + std::to_string(parts));
      sim.check_conservation();
    }
  }
}

// The state is the same to the bit with several threads, in several calls, after a snapshot and in a fork.
TEST(threads_and_pieces_end_in_the_same_state) {
  const std::vector<Case> all = cases();
  for (std::size_t n = 0; n < all.size(); n += 3) {  // every third case, because threads are slow on a busy machine
    const Case& x = all[n];
    Simulation sim(cut(x.config, 4));
    go(sim);
    for (const u32 threads : {2u, 3u}) {
      Simulation other(cut(x.config, 4));
      other.set_threads(threads);
      go(other);
      CHECK_FOR(other.hash() == sim.hash(), x.name + " by " + std::to_string(threads) + " threads");
    }
    Simulation pieces(cut(x.config, 4));
    pieces.set_threads(2);
    set_weights(pieces);
    pieces.set_series_interval(500);
    pieces.run(1);
    for (u32 left = kCycles / 4 + 12, some = 3; left > 0; left -= std::min(left, some), some = some * 7 % 61 + 1)
      pieces.run(std::min(left, some));
    pieces.begin_window();
    pieces.check_conservation();
    for (u32 k = 0; k < 40; k++) {  // one cycle at a time
      pieces.collect();
      pieces.apply(nullptr, 0);
      pieces.check_conservation();
    }
    const std::string bytes = pieces.snapshot();
    Simulation fork(pieces), restored(cut(x.config, 4));
    restored.restore(bytes);
    for (Simulation* one : {&pieces, &fork, &restored}) {
      one->run(kCycles - 40);
      CHECK_FOR(one->hash() == sim.hash(), x.name + " in pieces");
    }
    CHECK_FOR(sim.drain(200000), x.name + " drains");
  }
}

// Packets that end far from their source do not make the pool of packets grow without bound.
TEST(packets_return_to_the_partitions_that_need_them) {
  Config c = config(small_network(), input_queued(), {"minimal", {}}, {"hotspot", {{"load", 0.1}}});
  c.partitions = 5;
  Simulation sim(c);
  sim.run(20000);
  const std::size_t had = sim.state().packets.size();
  sim.run(60000);
  CHECK(totals(sim.state()).flits_ejected > 100000);
  CHECK(sim.state().packets.size() < had + had / 4);
}

// An agent whose choice depends on its packet and router alone, since partitions change the order of the decisions.
// Whole numbers of feedback are summed for the same reason.
TEST(agents_decide_for_all_partitions) {
  struct Seen {
    std::vector<double> numbers;
    u64 hash;
  };
  Config open = config(small_network(), input_queued(), {}, {"uniform", {{"load", 0.5}}}), with_job = open;
  with_job.traffic = {"", {}};
  with_job.workload.jobs = {{"halo3d", {"halo3d", {{"ranks", 64}, {"iterations", 3}, {"bytes", 4000}}}, nullptr, {}}};
  const auto played = [](Config c, const Section& routing, u32 parts, u32 threads) {
    c.routing = routing;
    Simulation sim(cut(c, parts));
    CHECK_EQ(sim.network().partitions(), parts);
    sim.set_threads(threads);
    const bool slots = sim.network().decider == Decider::kSlots;
    double feedback = 0;
    for (u32 cycle = 0; cycle < 1800; cycle++) {
      if (cycle == 300) sim.begin_window();
      std::vector<u32> choices(sim.collect());
      const Batch& b = sim.batch();
      for (u32 k = 0; k < parts; k++)
        for (const FeedbackEvent& e : partition(sim.state(), k).feedback_received) feedback += std::floor(e.target);
      for (u32 j = 0; j < choices.size(); j++) {
        const u32 i = slots ? b.decisions.request[j] : j;
        const u32 count = slots ? b.decisions.slot_count[j] : b.offsets[i + 1] - b.offsets[i];
        const Packet& p = sim.state().packets[b.packet[i]];
        choices[j] = below(mix64(u64{p.source} << 40 | u64{p.sequence} << 16 | b.router[i]), count);
      }
      if (!slots && sim.network().learns) {
        std::vector<float> values(b.count);
        for (u32 i = 0; i < b.count; i++) values[i] = static_cast<float>(b.router[i]);
        sim.answer(values.data(), std::vector<u32>(b.count, 0).data(), b.count);
      }
      sim.apply(choices.data(), choices.size());
      if (cycle % 100 == 0) sim.check_conservation();
    }
    std::vector<double> all = numbers(sim);
    all.push_back(feedback);
    return Seen{all, sim.hash()};
  };
  for (const Section& routing : {Section{"external", {}}, {"external", {{"feedback", true}}}, {"agent", {}}})
    for (const Config& c : {open, with_job}) {
      const Seen whole = played(c, routing, 1, 1), four = played(c, routing, 4, 1);
      CHECK(whole.numbers[0] > 0);
      CHECK(four.numbers == whole.numbers);
      for (const u32 threads : {2u, 3u}) CHECK_EQ(played(c, routing, 4, threads).hash, four.hash);
    }
}

// By default a large network is cut between groups, with a window as long as the links between groups. A small network
// is not cut.
TEST(large_networks_are_cut) {
  Simulation large(config(network_1056(), input_queued(), {"minimal", {}}, {"uniform", {{"load", 0.2}}}));
  const Network& net = large.network();
  CHECK(net.partitions() >= 4);
  for (const PartitionRange& range : net.ranges)
    CHECK(range.first_router % 8 == 0 && range.end_router > range.first_router && range.first_word % 8 == 0);
  CHECK_EQ(net.lookahead, 101u);
  CHECK_EQ(Simulation(config(small_network(), input_queued(), {"minimal", {}}, {"uniform", {{"load", 0.2}}}))
               .network()
               .partitions(),
           1u);
}

// All links of this HyperX have one length, so a cut through a plane of 64 routers does not shorten the window. In the
// Dragonfly of three groups it would.
TEST(units_are_divided_only_if_the_window_stays_as_long) {
  const auto cut_of = [](const Section& topology, u32 wanted) {
    Config c = config(topology, input_queued(), {"minimal", {}}, {"uniform", {{"load", 0.2}}});
    c.partitions = wanted;
    const Simulation sim(c);
    return std::pair(sim.network().partitions(), sim.network().lookahead);
  };
  const Section hyperx = hyperx_section({8, 8, 8}, 8),
                dragonfly = {
                    "dragonfly",
                    {{"terminals_per_router", 16}, {"routers_per_group", 32}, {"global_ports", 1}, {"groups", 3}}};
  const auto [planes, window] = cut_of(hyperx, 8);
  CHECK_EQ(planes, 8u);
  CHECK(cut_of(hyperx, 0) == std::pair(16u, window));
  CHECK(cut_of(dragonfly, 0) == std::pair(3u, 101u));
  const auto [parts, shorter] = cut_of(dragonfly, 6);
  CHECK_EQ(parts, 6u);
  CHECK(shorter < 101);
}

// No other division gives the busiest thread less work.
TEST(partitions_are_divided_by_work) {
  CHECK(divide_by_work(std::vector<u64>(196, 1), 3) == (std::vector<u32>{0, 65, 131, 196}));
  for (u32 n = 0; n < 100; n++) {
    std::vector<u64> work, sums = {0};
    for (u32 k = 0; k < 7; k++) sums.push_back(sums.back() + work.emplace_back(mix64(n << 8 | k) % 20));
    const auto most = [&](u32 a, u32 b) { return std::max({sums[a], sums[b] - sums[a], sums[7] - sums[b]}); };
    const std::vector<u32> first = divide_by_work(work, 3);
    CHECK(first[0] == 0 && 0 < first[1] && first[1] < first[2] && first[2] < 7 && first[3] == 7);
    for (u32 a = 1; a < 6; a++)
      for (u32 b = a + 1; b < 7; b++) CHECK(most(first[1], first[2]) <= most(a, b));
  }
}

// Two of eight partitions have most of the work, and different threads get them.
TEST(threads_follow_the_work) {
  Config c = config(small_network(), input_queued(), {"minimal", {}}, {"uniform", {{"load", 0.3}}});
  c.partitions = 8;
  Simulation one(c), shared(c);
  Workspace workspace;
  prepare(shared.network(), workspace);
  PartitionRunner runner;
  const auto go_on = [&](u32 cycles) {
    one.run(cycles);
    runner.run(shared.network(), shared.state(), workspace, 3, shared.state().part.totals.now + cycles);
    CHECK_EQ(shared.hash(), one.hash());
  };
  go_on(100);
  for (const u32 busy : {0u, 6u, 3u}) {
    for (Simulation* sim : {&one, &shared})
      for (const u32 k : {busy, busy + 1}) partition(sim->state(), k).totals.moves += 1000000;
    go_on(Shares::kInterval + 500);  // with one division
    CHECK(runner.shares().first(1) == busy + 1 || runner.shares().first(2) == busy + 1);
  }
}

// An exception of one piece of work does not come back with the next piece.
TEST(a_team_forgets_exceptions) {
  Team team(3);
  const auto fails = [&](u32 most) {
    team.run([&](u32 i) {
      if (i < most) throw CoreError("piece " + std::to_string(i));
    });
  };
  for (u32 n = 0; n < 100; n++) {
    CHECK_THROWS(CoreError, fails(3), "piece 0");
    fails(0);
  }
  std::vector<u32> done(team.size(), 0);
  for (u32 n = 0; n < 1000; n++) team.run([&](u32 i) { done[i]++; });
  for (const u32 n : done) CHECK_EQ(n, 1000u);
}

}  // namespace partition_test
