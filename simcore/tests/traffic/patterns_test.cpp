// Traffic patterns against pairs worked out by hand, and the rates and times of generated packets.
#include <set>

#include "support/fabrics.hpp"
#include "support/tables.hpp"

namespace traffic_patterns_test {

using namespace scenes;

std::shared_ptr<const Network> network(const Section& traffic, const Section& topology = network_1056(), u64 seed = 1) {
  return build(config(topology, hpdc21(), {"minimal", {}}, traffic, seed));
}
u32 to(const Network& net, u32 terminal, u32 sequence = 0, u32 round = 0, u32 index = 0) {
  return net.destination(net.seed, terminal, sequence, round, index);
}

std::vector<u32> round_of(const Network& net, u32 terminal) {
  std::vector<u32> out;
  for (u32 k = 0; k < net.round_size(net.seed, terminal, 0); k++) out.push_back(to(net, terminal, k, 0, k));
  return out;
}

// Packets that all terminals generate in each slice of `slice` cycles.
std::vector<double> generated(const Section& traffic, const Values& router, u32 slice, u32 slices) {
  Simulation sim(config(small_network(), router, {"minimal", {}}, traffic, 11));
  std::vector<double> out;
  for (u32 k = 0; k < slices; k++) {
    sim.begin_window();
    sim.run(slice);
    out.push_back(statistics(sim.network(), sim.state()).at("packets_generated"));
  }
  return out;
}

TEST(uniform_reaches_all_terminals_equally) {
  const auto net = network({"uniform", {}}, small_network());
  std::vector<u32> count(72);
  for (u32 t = 0; t < 72; t++)
    for (u32 k = 0; k < 1000; k++) count[to(*net, t, k)]++;
  for (u32 n : count) CHECK_NEAR(n, 1000, 5 * std::sqrt(1000.0));
  const auto others = network({"uniform", {{"self", false}}}, small_network());
  for (u32 t = 0; t < 72; t++)
    for (u32 k = 0; k < 500; k++) CHECK(to(*others, t, k) != t && to(*others, t, k) < 72);
}

TEST(adversarial_goes_to_the_next_group) {
  // 32 terminals per group: terminal 37 is in group 1, terminal 1055 in group 32.
  for (const auto& [terminal, shift, group] : {std::tuple{37u, i64{1}, 2u},
                                               {37u, i64{4}, 5u},
                                               {1055u, i64{1}, 0u},
                                               {1055u, i64{4}, 3u},
                                               {0u, i64{32}, 32u},
                                               {0u, i64{34}, 1u}}) {
    const auto net = network({"adversarial", {{"shift", shift}}});
    std::set<u32> seen;
    for (u32 k = 0; k < 600; k++) {
      CHECK_EQ(to(*net, terminal, k) / 32, group);
      seen.insert(to(*net, terminal, k));
    }
    CHECK_EQ(seen.size(), 32u);
  }
}

// A grid of 4 x 8 x 33: x is the place on the router, y the router, z the group. Order: x-, x+, y-, y+, z-, z+.
TEST(stencil_neighbours_by_hand) {
  const auto net = network({"stencil_3d", {}});
  CHECK(round_of(*net, 37) == (std::vector<u32>{36, 38, 33, 41, 5, 69}));               // (1, 1, 1)
  CHECK(round_of(*net, 0) == (std::vector<u32>{3, 1, 28, 4, 1024, 32}));                // (0, 0, 0)
  CHECK(round_of(*net, 1055) == (std::vector<u32>{1054, 1052, 1051, 1027, 1023, 31}));  // (3, 7, 32)
  const auto other = network({"stencil_3d", {{"nx", 11}, {"ny", 8}, {"nz", 12}}});
  CHECK(round_of(*other, 100) == (std::vector<u32>{99, 101, 89, 111, 12, 188}));  // (1, 1, 1)
}

TEST(many_to_many_by_hand) {
  const auto net = network({"many_to_many", {}});
  const auto round = round_of(*net, 37);  // the column of (1, 1): 5, 37, 69, ... 1029
  CHECK_EQ(round.size(), 32u);
  CHECK_EQ(round[0], 5u);
  for (u32 k = 1; k < 32; k++) CHECK_EQ(round[k], 37 + 32 * k);
  CHECK_EQ(round_of(*net, 1029).back(), 997u);
}

TEST(permutation_is_a_single_cycle) {
  for (const i64 seed : {1, 2}) {
    const auto net = network({"permutation", {{"permutation_seed", seed}}});
    u32 at = 0, length = 0;
    do {
      at = to(*net, at, length++);
    } while (at != 0 && length <= 1056);
    CHECK_EQ(length, 1056u);
  }
  CHECK(to(*network({"permutation", {{"permutation_seed", 1}}}), 0) !=
        to(*network({"permutation", {{"permutation_seed", 2}}}), 0));
}

TEST(permutation_from_a_file) {
  const auto with = [](const std::string& text) {
    const fabrics::File file(text);
    return network({"permutation", {{"file", file.path.string()}}}, {"mesh", {{"sizes", std::vector<double>{2, 2}}}});
  };
  const auto net = with("# destinations\n2, 0\r\n\n1 # of terminal 2\n\t3");
  for (const auto& [from, there] : {std::pair{0u, 2u}, {1u, 0u}, {2u, 1u}, {3u, 3u}})
    CHECK_EQ(to(*net, from, 5), there);
  CHECK_THROWS(ConfigError, with("0 1\n2 1\n"),
               ":2: terminal 1 is the destination of terminal 3 here and of terminal 1 "
               "on line 1",
               "0 .. 3");
  CHECK_THROWS(ConfigError, with("0 1\n2 4\n"), ":2: 4 is out of range for the destination of terminal 3", "0 .. 3");
}

TEST(hotspot_share) {
  const auto net = network({"hotspot", {{"hot_terminals", 4}, {"fraction", 0.25}}});
  std::map<u32, u32> count;
  const u32 n = 1056 * 100;
  for (u32 t = 0; t < 1056; t++)
    for (u32 k = 0; k < 100; k++) count[to(*net, t, k)]++;
  std::vector<u32> sorted;
  for (const auto& [terminal, packets] : count) sorted.push_back(packets);
  std::sort(sorted.rbegin(), sorted.rend());
  const double each = n * (0.25 / 4 + 0.75 / 1056), rest = n * 0.75 / 1056;
  for (u32 k = 0; k < 4; k++) CHECK_NEAR(sorted[k], each, 5 * std::sqrt(each));
  CHECK_NEAR(sorted[4], rest, 5 * std::sqrt(rest));
}

TEST(random_neighbours_six_to_twenty) {
  const auto net = network({"random_neighbors", {}});
  std::vector<u32> count(32);
  double sum = 0;
  const u32 n = 1056 * 20;
  for (u32 t = 0; t < 1056; t++)
    for (u32 round = 0; round < 20; round++) {
      const u32 size = net->round_size(1, t, round);
      count[size]++;
      sum += size;
    }
  for (u32 size = 0; size < 32; size++) {
    if (size < 6 || size > 20) CHECK_EQ(count[size], 0u);
    else CHECK_NEAR(count[size], n / 15.0, 5 * std::sqrt(n / 15.0));
  }
  CHECK_NEAR(sum / n, 13, 5 * 4.32 / std::sqrt(n));  // 4.32: the standard deviation of 6..20
  CHECK_EQ(net->patterns[0].packets_per_round, 13);
}

// Each flit time has a trial of probability load / packet flits.
TEST(bernoulli_rate) {
  struct Case {
    Values router;
    double load;
    i64 flits;
    double probability;  // per cycle
  };
  for (const Case& c :
       {Case{input_queued(), 0.3, 1, 0.3}, Case{input_queued(), 0.4, 4, 0.1}, Case{hpdc21(), 0.5, 1, 0.025},
        Case{sc22(), 0.2, 4, 0.0125}, Case{input_queued(), 0.001, 1, 0.001}}) {
    const double trials = 72 * 20000.0, wanted = trials * c.probability;
    const auto got =
        generated({"uniform", {{"load", c.load}, {"packet_bytes", bytes_of(c.flits)}}}, c.router, 20000, 1)[0];
    CHECK_NEAR(got, wanted, 5 * std::sqrt(wanted * (1 - c.probability)));
  }
}

// A flit time has 20 cycles in hpdc21. Trials stay at its multiples when the load changes between two of them.
TEST(bernoulli_flit_draws_once_per_flit_time) {
  const Values router = merge(hpdc21(), {{"source_backlog", "kept"}});
  const auto section = [](double load, i64 flits, const Values& more = {}) {
    return Section{"uniform",
                   merge({{"load", load}, {"packet_bytes", bytes_of(flits)}, {"injection", "bernoulli_flit"}}, more)};
  };
  for (const auto& [load, flits] : {std::pair{0.3, i64{1}}, std::pair{0.8, i64{4}}, std::pair{0.6, i64{1}}}) {
    const double trials = 72 * 1000, p = load / static_cast<double>(flits);
    CHECK_NEAR(generated(section(load, flits), router, 20000, 1)[0], trials * p, 5 * std::sqrt(trials * p * (1 - p)));
  }
  const Values steps = {{"load_step_times_ns", std::vector<double>{1.6 * 1010, 1.6 * 2007}},
                        {"load_step_loads", std::vector<double>{0.9, 0.5}}};
  for (const Section& traffic : {section(1, 1), section(0.9, 4), section(0.2, 1, steps)}) {
    Simulation sim(config(small_network(), router, {"minimal", {}}, traffic));
    std::set<std::pair<u32, Cycle>> instants;
    std::vector<Decision> seen;
    u32 packets = 0;
    for (u32 k = 0; k < 3000; k++) observe(sim, seen);
    for (const Decision& d : seen) {
      if (d.packet.hops > 0 || !instants.emplace(d.packet.source, d.packet.generated).second) continue;
      packets++;
      CHECK_EQ(d.packet.generated % 20, 0u);
    }
    CHECK(packets > 72 * 20);
  }
}

TEST(rounds_are_offered_at_the_same_load) {
  // Load 0.3, 6 packets of 20 cycles per round: a round every 400 cycles from cycle 0, 98 rounds in 39,000 cycles.
  // many_to_many has 8 packets per round: a round every 533.3 cycles, 74 rounds.
  const auto stencil =
      generated({"stencil_3d", {{"load", 0.3}, {"injection", "fixed_interval"}}}, hpdc21(), 39000, 1)[0];
  CHECK_EQ(stencil, 72 * 6 * 98);
  const auto many =
      generated({"many_to_many", {{"load", 0.3}, {"injection", "fixed_interval"}}}, hpdc21(), 39000, 1)[0];
  CHECK_EQ(many, 72 * 8 * 74);
  const auto random = generated({"random_neighbors", {{"load", 0.3}}}, hpdc21(), 40000, 1)[0];
  CHECK_NEAR(random, 72 * 600, 0.05 * 72 * 600);
}

// Every terminal generates at the same times: a packet of 20 cycles every 40 cycles at load 0.5, every 66.67 at load
// 0.3.
TEST(fixed_interval_is_synchronised) {
  for (const auto& [load, gap] : {std::pair{0.5, 40.0}, std::pair{0.3, 20 / 0.3}}) {
    Simulation sim(config(small_network(), hpdc21(), {"minimal", {}},
                          {"uniform", {{"load", load}, {"injection", "fixed_interval"}}}));
    std::map<Cycle, std::set<u32>> terminals;
    std::vector<Decision> seen;
    for (u32 k = 0; k < 3000; k++) observe(sim, seen);
    for (const Decision& d : seen)
      if (d.packet.hops == 0 && d.packet.generated < 2500) terminals[d.packet.generated].insert(d.packet.source);
    u32 k = 0;
    for (const auto& [instant, who] : terminals) {
      CHECK_NEAR(instant, k * gap - 0.5, 0.5 + 1e-4);  // the cycle in which the time lies
      k++;
      CHECK_EQ(who.size(), 72u);
    }
    CHECK_EQ(k, static_cast<u32>(2500 / gap + 1 - 1e-9));
  }
}

TEST(load_steps) {
  const Values steps = {{"load", 0.2},
                        {"load_step_times_ns", std::vector<double>{1000, 2000, 3000}},
                        {"load_step_loads", std::vector<double>{0.4, 0, 0.1}}};
  const auto fixed = generated({"uniform", merge(steps, {{"injection", "fixed_interval"}})}, input_queued(), 1000, 4);
  CHECK_NEAR(fixed[0], 72 * 200, 72);
  CHECK_NEAR(fixed[1], 72 * 400, 72);
  CHECK_NEAR(fixed[2], 0, 72);
  CHECK_NEAR(fixed[3], 72 * 100, 72);
  const auto random = generated({"uniform", steps}, input_queued(), 1000, 4);
  for (u32 k = 0; k < 4; k++) {
    const double p = std::vector<double>{0.2, 0.4, 0, 0.1}[k];
    CHECK_NEAR(random[k], 72000 * p, 5 * std::sqrt(72000 * p * (1 - p)));
  }
}

// 8 terminals per group. A share `part` of the packets goes to the group `shift` further. The rest goes to any
// terminal, and 1/9 of it to that group as well.
TEST(mixed_is_part_adversarial) {
  for (const double part : {0.0, 0.3, 1.0}) {
    const auto net = network({"mixed", {{"adversarial_part", part}, {"shift", 2}}}, small_network());
    u32 next = 0;
    std::vector<u32> count(72), place(8);
    for (u32 t = 0; t < 72; t++)
      for (u32 k = 0; k < 300; k++) {
        const u32 d = to(*net, t, k);
        CHECK(d < 72);
        count[d]++;
        if (d / 8 != (t / 8 + 2) % 9) continue;
        next++;
        place[d % 8]++;
      }
    const double n = 72 * 300, wanted = part + (1 - part) / 9;
    CHECK_NEAR(next, n * wanted, 5 * std::sqrt(n * wanted * (1 - wanted)) + 1e-9);
    for (const u32 k : count) CHECK_NEAR(k, 300, 5 * std::sqrt(300.0));
    for (const u32 k : place) CHECK_NEAR(k, next / 8.0, 5 * std::sqrt(next / 8.0));
  }
  // The groups of a HyperX are planes. In one dimension they are routers.
  const auto on = [](const Section& topology) {
    return build(config(topology, hpdc21(), {"dimension_order", {}}, {"mixed", {{"adversarial_part", 1.0}}}));
  };
  const auto planes = on(hyperx_section({4, 3}, 3));
  for (u32 k = 0; k < 50; k++) CHECK_EQ(to(*planes, 2 * 12 + 5, k) / 12, 0u);
  const auto line = on(hyperx_section({5}, 2));
  for (u32 k = 0; k < 50; k++) CHECK_EQ(to(*line, 9, k) / 2, 0u);
}

TEST(flows_go_where_they_should) {
  const Section flows = {
      "flows",
      {{"sources", std::vector<double>{3, 70, 8}}, {"destinations", std::vector<double>{40, 3, 8}}, {"load", 0.4}}};
  Simulation sim(config(small_network(), input_queued(), {"minimal", {}}, flows));
  sim.run(5000);
  for (u32 t = 0; t < 72; t++) {
    const u32 sent = sim.state().terminals[t].sequence;
    if (t == 3 || t == 70 || t == 8) CHECK_NEAR(sent, 2000, 5 * std::sqrt(5000 * 0.4 * 0.6));
    else CHECK_EQ(sent, 0u);
  }
  const Network& net = sim.network();
  CHECK(to(net, 3) == 40 && to(net, 70) == 3 && to(net, 8) == 8);
  for (const Packet& p : sim.state().packets) CHECK(to(net, p.source) == p.destination);
  CHECK(sim.drain(10000));
  // With fixed intervals and 4 flits per packet each source sends 500 packets.
  Simulation steady(
      config(small_network(), input_queued(), {"minimal", {}},
             {"flows", merge(flows.values, {{"packet_bytes", bytes_of(4)}, {"injection", "fixed_interval"}})}));
  steady.run(5000);
  for (const u32 t : {3u, 70u, 8u}) CHECK_EQ(steady.state().terminals[t].sequence, 500u);
  const Values uneven = {{"sources", std::vector<double>{1, 2}}, {"destinations", std::vector<double>{3}}};
  CHECK_THROWS(ConfigError, network({"flows", uneven}, small_network()), "traffic.flows.destinations");
}

namespace {

using Entries = std::map<std::pair<u32, u32>, double>;  // by (source, destination)

// small_network() with rates from a matrix.
Config matrix_config(const Entries& entries, double load = 0.5) {
  Config c = config(small_network(), input_queued(), {"minimal", {}}, {"matrix", {{"load", load}}}, 11);
  c.traffic_matrix = demand_of(72, [&](u32 s, u32 d) {
    const auto found = entries.find({s, d});
    return found == entries.end() ? 0 : found->second;
  });
  return c;
}

}  // namespace

// Chi-square of the destinations of one source against its row has 3 degrees of freedom, and exceeds 21.1 with
// probability 1e-4.
TEST(matrix_draws_destinations_by_the_row) {
  const Entries row = {{{5, 0}, 1}, {{5, 17}, 2}, {{5, 60}, 3.5}, {{5, 71}, 0.5}, {{8, 3}, 4}};
  const auto net = build(matrix_config(row));
  std::map<u32, double> count;
  const double draws = 20000;
  for (u32 k = 0; k < draws; k++) count[to(*net, 5, k)]++;
  double chi_square = 0;
  for (const auto& [ends, weight] : row)
    if (ends.first == 5 && weight > 0) {
      const double wanted = draws * weight / 7;
      chi_square += (count[ends.second] - wanted) * (count[ends.second] - wanted) / wanted;
    }
  CHECK(chi_square < 21.1);
  CHECK_EQ(count.size(), 4u);
  for (u32 k = 0; k < 100; k++) CHECK_EQ(to(*net, 8, k), 3u);
}

// The busiest source offers `load`. Other sources offer their share of it, and sources without an entry nothing.
TEST(matrix_rates_are_proportional_to_row_sums) {
  Simulation sim(matrix_config({{{3, 40}, 1}, {{3, 41}, 1}, {{70, 3}, 0.5}, {{8, 9}, 2}}, 0.4));
  sim.begin_window();
  sim.run(20000);
  const std::map<u32, double> shares = {{3, 1}, {70, 0.25}, {8, 1}};
  for (u32 t = 0; t < 72; t++) {
    const double sent = sim.state().terminals[t].sequence;
    const double p = shares.count(t) ? 0.4 * shares.at(t) : 0;
    CHECK_NEAR(sent, 20000 * p, 5 * std::sqrt(20000 * p * (1 - p)));
  }
  CHECK_NEAR(statistics(sim.network(), sim.state()).at("offered_load"), 0.4 * 2.25 / 72, 1e-12);
}

TEST(matrix_of_a_permutation_agrees_with_flows) {
  Entries entries;
  std::vector<double> sources, destinations;
  for (u32 t = 0; t < 72; t++) {
    entries[{t, (t * 7 + 5) % 72}] = 0.125;
    sources.push_back(t), destinations.push_back((t * 7 + 5) % 72);
  }
  Simulation one(matrix_config(entries)),
      other(config(small_network(), input_queued(), {"minimal", {}},
                   {"flows", {{"load", 0.5}, {"sources", sources}, {"destinations", destinations}}}, 11));
  one.run(3000), other.run(3000);
  CHECK_EQ(one.hash(), other.hash());
}

}  // namespace traffic_patterns_test
