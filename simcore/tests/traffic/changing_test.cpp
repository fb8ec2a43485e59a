// Traffic that changes: phases, bursts, a moving adversary and links that fail repeatedly.
#include <set>

#include "core/stage/generation.hpp"
#include "support/crafted.hpp"
#include "support/failing.hpp"

namespace traffic_changing_test {

using namespace scenes;

// Cycles of 1 ns, one flit per cycle.
Config scene(const Section& traffic, u64 seed = 1, const Section& topology = small_network()) {
  return config(topology, input_queued(), {"minimal", {}}, traffic, seed);
}
Section phases(const std::string& text, const Values& more = {}) { return {"phases", merge({{"phases", text}}, more)}; }

struct Tick {
  Cycle at;
  u32 step;
};
// The ticks of a source's clock before cycle `until`.
std::vector<Tick> ticks(const Network& net, u32 terminal, Cycle until) {
  std::vector<Tick> out;
  Terminal x{};
  for (x.next_tick = first_tick(net, x, terminal); x.next_tick != kNever && cycle_of(x.next_tick) < until; x.round++) {
    out.push_back({cycle_of(x.next_tick), x.step});
    x.next_tick = next_tick(net, x, terminal, x.next_tick);
  }
  return out;
}

// Group of the destination relative to that of the source, for every packet that is generated in `cycles`.
std::map<Cycle, std::set<u32>> shifts(const Config& c, u32 cycles) {
  Simulation sim(c);
  std::vector<Decision> seen;
  for (u32 k = 0; k < cycles; k++) observe(sim, seen);
  std::map<Cycle, std::set<u32>> out;
  for (const Decision& d : seen)
    if (d.packet.hops == 0) out[d.packet.generated].insert((d.packet.destination / 8 + 9 - d.packet.source / 8) % 9);
  return out;
}

// 1000 cycles at 0.2, 500 at 0.4, a pause of 500 and 1000 at 0.1, twice. A phase has a Bernoulli trial for each of its
// cycles, the last one in the first cycle of the next phase.
TEST(phases_offer_their_loads) {
  const auto net = build(scene(
      phases("uniform load=0.2 duration_ns=1000; adversarial shift=2 load=0.4 duration_ns=500; permutation load=0.1 "
             "start_ns=2000 duration_ns=1000")));
  std::vector<double> packets(12);
  for (u32 t = 0; t < 72; t++)
    for (const Tick& tick : ticks(*net, t, 6001)) packets[(tick.at - 1) / 500]++;
  for (u32 k = 0; k < 12; k++) {
    const double p = std::vector<double>{0.2, 0.2, 0.4, 0, 0.1, 0.1}[k % 6], wanted = 72 * 500 * p;
    CHECK_NEAR(packets[k], wanted, 5 * std::sqrt(wanted * (1 - p)));
  }
  CHECK(changes(*net, 3500) == (std::vector<Cycle>{1000, 1500, 2000, 3000}));
  // Mean offered load of 2.5 periods: (0.2 * 1000 + 0.4 * 500 + 0.1 * 1000) / 3000, and 0.2 and 0.4 for 1000 and 500.
  Simulation sim(scene(net->config.traffic));
  sim.begin_window();
  sim.run(7500);
  CHECK_NEAR(statistics(sim.network(), sim.state()).at("offered_load"), (2 * 500 + 200 + 200) / 7500.0, 1e-12);
  sim.check_conservation();
}

// The mean gap is beyond the end of time, so no clock walks through the 2^31 phases until then.
TEST(sources_without_packets_have_no_tick) {
  const auto net = build(scene({"moving_adversary", {{"load", 1e-10}, {"period_ns", 2.0}}}));
  CHECK(ticks(*net, 0, kEndOfTime).empty());
}

TEST(phases_have_their_patterns) {
  const std::string text = "adversarial shift=2 duration_ns=400; mixed adversarial_part=1 shift=5 duration_ns=300";
  for (const auto& [cycle, found] : shifts(scene(phases(text, {{"load", 0.3}})), 1500))
    CHECK(found == (std::set<u32>{(cycle - 1) % 700 < 400 ? 2u : 5u}));
  // Without repetition the last phase stays.
  for (const auto& [cycle, found] : shifts(scene(phases(text, {{"repeat", false}})), 1500))
    CHECK(found == (std::set<u32>{cycle - 1 < 400 ? 2u : 5u}));
  // A phase of rounds has its mean load: six packets per round.
  const auto net = build(scene(phases("stencil_3d load=0.3 duration_ns=5000; uniform load=0", {{"repeat", false}})));
  double packets = 0;
  for (u32 t = 0; t < 72; t++) packets += 6.0 * static_cast<double>(ticks(*net, t, 20000).size());
  CHECK_NEAR(packets, 72 * 5000 * 0.3, 5 * 6 * std::sqrt(72 * 5000 * 0.05));
}

TEST(phases_keep_all_digits) {
  const auto net =
      build(scene(phases("permutation permutation_seed=1234567 duration_ns=400; "
                         "permutation permutation_seed=1234568 duration_ns=400")));
  CHECK_EQ(net->patterns.size(), 2u);
}

// Fixed intervals are stretched over a change, so the number of packets is that of the mean load.
TEST(phases_with_fixed_intervals) {
  const auto net = build(scene(phases("uniform load=0.2 duration_ns=1000; uniform load=0.5 duration_ns=1000",
                                      {{"injection", "fixed_interval"}})));
  CHECK_NEAR(ticks(*net, 5, 20000).size(), 10 * 700, 1);
}

TEST(phases_that_overlap_are_refused) {
  CHECK_THROWS(ConfigError, build(scene(phases("uniform duration_ns=2000; permutation start_ns=1000"))), "overlap");
}

// P(length > x) = (least / x)^shape, and the mean for a shape with a finite variance.
TEST(burst_lengths_have_pareto_distributions) {
  for (const double shape : {1.5, 2.5}) {
    const auto net = build(scene({"on_off", {{"burst_ns", 200.0}, {"burst_shape", shape}, {"load", 0.2}}}));
    const double least = 200 * (shape - 1) / shape, n = 72 * 2000;
    std::map<u32, double> longer;
    double sum = 0;
    for (u32 t = 0; t < 72; t++)
      for (u32 burst = 0; burst < 2000; burst++) {
        const Cycle length = period_length(*net, t, 2 * burst);
        for (const u32 x : {150u, 400u, 1000u, 5000u}) longer[x] += length > x;
        sum += length;
      }
    for (const auto& [x, found] : longer) {
      // Random rounding moves a length by less than a cycle.
      const double p = std::min(1.0, std::pow(least / x, shape));
      CHECK_NEAR(found / n, p, 5 * std::sqrt(p * (1 - p) / n) + p * shape / x);
    }
    if (shape > 2) CHECK_NEAR(sum / n, 200, 5 * 200 / std::sqrt(shape * (shape - 2)) / std::sqrt(n));
    // What is left of a burst at cycle 0: P(rest > x) = (least / x)^(shape - 1) / shape. A fifth of the sources send.
    std::map<u32, double> left;
    double sending = 0;
    for (u32 source = 0; source < 50000; source++) {
      Terminal at{};
      begin_on_off(*net, at, source);
      if (at.step > 0) continue;
      sending++;
      for (const u32 x : {150u, 400u, 1000u}) left[x] += at.tick > x;
    }
    CHECK_NEAR(sending, 10000, 5 * std::sqrt(10000 * 0.8));
    for (const auto& [x, found] : left) {
      const double p = std::pow(least / x, shape - 1) / shape;
      CHECK_NEAR(found / sending, p, 5 * std::sqrt(p * (1 - p) / sending) + p * shape / x);
    }
  }
}

// A source begins in the stationary state, so the mean load holds in any interval, also with infinite variances.
TEST(bursts_have_the_mean_load_from_the_start) {
  for (const auto& [load, burst_load] : {std::pair{0.2, 1.0}, {0.1, 0.4}, {0.5, 0.5}}) {
    double sums[2] = {}, squares[2] = {};
    u32 n = 0;
    for (u64 seed = 1; seed <= 30; seed++) {
      const auto net =
          build(scene({"on_off", {{"load", load}, {"burst_load", burst_load}, {"burst_ns", 100.0}}}, seed));
      for (u32 t = 0; t < 72; t++, n++) {
        double packets[2] = {};
        for (const Tick& tick : ticks(*net, t, 4001)) {
          if (tick.at <= 500) packets[0]++;
          if (tick.at > 3500) packets[1]++;
          CHECK(tick.step % 2 == 0);  // only in bursts
        }
        for (u32 k : {0u, 1u}) sums[k] += packets[k], squares[k] += packets[k] * packets[k];
      }
    }
    for (u32 k : {0u, 1u}) {
      const double mean = sums[k] / n, error = std::sqrt((squares[k] / n - mean * mean) / n);
      CHECK_NEAR(mean, 500 * load, 5 * error + 1e-9);
    }
  }
  Simulation sim(scene({"on_off", {{"load", 0.2}}}));
  sim.begin_window();
  sim.run(100);
  CHECK_NEAR(statistics(sim.network(), sim.state()).at("offered_load"), 0.2, 1e-12);
  // Without load, no source ever sends.
  CHECK(ticks(*build(scene({"on_off", {{"load", 0.0}}})), 0, 100000).empty());
}

// At full load in a burst, packets of consecutive cycles belong to one burst.
TEST(a_burst_may_have_one_destination) {
  for (const bool one : {false, true}) {
    Simulation sim(scene({"on_off", {{"load", 0.05}, {"burst_ns", 40.0}, {"one_destination", one}}}));
    std::vector<Decision> seen;
    for (u32 k = 0; k < 2000; k++) observe(sim, seen);
    std::map<u32, std::map<u32, Packet>> sent;
    for (const Decision& d : seen)
      if (d.packet.hops == 0) sent[d.packet.source][d.packet.sequence] = d.packet;
    u32 same = 0, pairs = 0;
    for (const auto& [source, packets] : sent)
      for (const auto& [sequence, p] : packets) {
        const auto next = packets.find(sequence + 1);
        if (next == packets.end() || next->second.generated != p.generated + 1) continue;
        pairs++;
        same += next->second.destination == p.destination;
      }
    CHECK(pairs > 1000);
    if (one) CHECK_EQ(same, pairs);
    else CHECK_NEAR(same / double(pairs), 1 / 72.0, 5 * std::sqrt(1 / 72.0 / pairs));
  }
}

// Nine groups: shifts 1, 3, 5, 7, 2 (after 0), 4, 6, 8, then 1 again.
TEST(the_adversary_moves) {
  for (const auto& [cycle, found] :
       shifts(scene({"moving_adversary", {{"period_ns", 100.0}, {"step", 2}, {"load", 0.2}}}), 1800)) {
    const u32 order[] = {1, 3, 5, 7, 2, 4, 6, 8};
    CHECK(found == (std::set<u32>{order[(cycle - 1) / 100 % 8]}));
  }
  std::set<u32> visited;
  std::vector<u32> in_order;
  const Section random = {"moving_adversary", {{"period_ns", 100.0}, {"order", "random"}, {"load", 0.5}}};
  for (const auto& [cycle, found] : shifts(scene(random), 800)) {
    if (in_order.size() <= (cycle - 1) / 100) in_order.push_back(*found.begin());
    CHECK(found == (std::set<u32>{in_order[(cycle - 1) / 100]}));
    visited.insert(found.begin(), found.end());
  }
  CHECK(visited == (std::set<u32>{1, 2, 3, 4, 5, 6, 7, 8}));
  CHECK(!std::is_sorted(in_order.begin(), in_order.end()));
}

namespace {

std::vector<std::pair<std::string, Config>> changing() {
  std::vector<std::pair<std::string, Config>> all;
  for (const Section& traffic :
       {phases("uniform load=0.4 duration_ns=300; adversarial shift=3 load=0.2 duration_ns=410"),
        phases("uniform; stencil_3d load=0.3", {{"phase_ns", 230.0}, {"injection", "fixed_interval"}}),
        Section{"on_off", {{"load", 0.3}, {"burst_ns", 60.0}, {"pattern", "permutation"}}},
        Section{"on_off", {{"load", 0.2}, {"burst_ns", 50.0}, {"one_destination", true}}},
        Section{"moving_adversary", {{"load", 0.2}, {"period_ns", 150.0}}}})
    all.emplace_back(traffic.name, scene(traffic, 3));
  Config flapping = config(small_network(), hpdc21(), {"q_adaptive", {}}, {"uniform", {{"load", 0.5}}}, 3);
  flapping.failures = {{"events", "0.05@300-500/450*9"}};
  all.emplace_back("flapping links", flapping);
  return all;
}

}  // namespace

// The state has the same hash with every number of threads, and after a snapshot within a phase. The measurements are
// the same with every number of partitions.
TEST(changing_traffic_is_deterministic) {
  for (auto [name, c] : changing()) {
    std::map<std::string, double> wanted;
    for (const u32 parts : {1u, 3u}) {
      c.partitions = parts;
      Simulation sim(c);
      sim.begin_window();
      sim.run(600);
      const std::string bytes = sim.snapshot();
      sim.run(1300);
      sim.check_conservation();
      const auto found = statistics(sim.network(), sim.state());
      if (parts == 1) wanted = found;
      CHECK_FOR(found == wanted, name);
      CHECK_FOR(found.at("packets_delivered") > 500, name + std::to_string(found.at("packets_delivered")));
      for (const u32 threads : {2u, 3u}) {
        Simulation other(c);
        other.set_threads(threads);
        other.begin_window();
        other.run(1900);
        CHECK_FOR(other.hash() == sim.hash(), name);
      }
      Simulation restored(c);
      restored.restore(bytes);
      restored.run(1300);
      CHECK_FOR(restored.hash() == sim.hash(), name + " after a snapshot");
      CHECK_FOR(sim.drain(200000), name + " drains");
    }
  }
}

// Links fail and recover 300 times. The number of VC classes does not depend on this number. No packet exceeds the hops
// that the classes allow, and nothing is lost.
TEST(flapping_links_lose_nothing) {
  for (const std::string routing : {"minimal", "ugal", "valiant", "q_adaptive", "q_routing", "random", "ecmp"}) {
    Config c = config(small_network(), input_queued(), {routing, {}}, {"uniform", {{"load", 0.3}}});
    c.failures = {{"events", "0.1@20-35/25*300"}};
    Simulation sim(c);
    const Network& net = sim.network();
    CHECK_EQ(net.graphs.size(), 601u);
    CHECK(net.routing_facts.classes <= kMaxVcs);
    CHECK_EQ(changes(net, 100).size(), 7u);  // at 20, 35, 45, 60, 70, 85 and 95
    std::vector<Decision> seen;
    for (u32 k = 0; k < 1500; k++) observe(sim, seen);
    u32 most = 0;
    for (const Decision& d : seen) most = std::max<u32>(most, d.packet.hops);
    CHECK_FOR(most >= 3 && most <= net.routing_facts.max_hops, routing);
    run_without_loss(sim, 1500, routing);
  }
}

// A packet that has done the hops of the longest path leaves the links that fail.
TEST(packets_move_on_to_lasting_links) {
  Config c = config(small_network(), input_queued(), {"minimal", {}}, {"uniform", {{"load", 0.1}}});
  c.failures = {{"events", "0.1@20-35/25*300"}};
  Simulation sim(c);
  const Network& net = sim.network();
  const u32 most = net.routing_facts.max_hops - net.lasting->diameter;
  std::vector<Decision> seen;
  u32 moved = 0;
  for (u32 k = 0; k < 400; k++) observe(sim, seen);
  // Gives packets in the network the hops of a packet that has met many changes.
  for (Packet& p : const_cast<State&>(sim.state()).packets)
    if (p.hops > 0) p.hops = static_cast<u8>(most);
  seen.clear();
  for (u32 k = 0; k < 600; k++) observe(sim, seen);
  for (const Decision& d : seen) {
    if (d.out_class < most || d.out_class == kAnyClass) continue;  // the class is the number of hops
    moved++;
    CHECK(net.lasting->usable(net.port(d.router, d.out_port)) && d.out_class < net.routing_facts.classes);
  }
  CHECK(moved > 10);
}

}  // namespace traffic_changing_test
