// A simulation accepts its own snapshots, and refuses damaged ones and those of another network.
#include "readers/goal.hpp"
#include "support/jobs.hpp"
#include "support/seam.hpp"

namespace snapshot_test {

using namespace scenes;

// Eager and large messages, with and without tags, and computations that overlap.
const char* const kProgram = R"(num_ranks 3
rank 0 {
a: calc 300
b: send 300b to 1 tag 7
c: send 40000b to 2 tag 8
d: recv 20b from 2 tag 1
c requires a
d irequires b
}
rank 1 {
a: recv 300b from 0 tag 7
b: calc 1000
c: send 90000b to 2
c requires a
c irequires b
}
rank 2 {
a: recv 40000b from 0 tag 8
b: recv 90000b from 1
c: send 20b to 0 tag 1
c requires a
}
)";

std::vector<JobSection> two_jobs() {
  return {motif("halo3d", {{"ranks", 4}, {"iterations", 3}}), given("own", workload::read_goal(kProgram, "own"))};
}

Config in_parts(u32 partitions, Config config) {
  config.partitions = partitions;
  return config;
}

// Small networks, so that most changes affect something.
std::vector<Config> small_configs() {
  const Section df = dragonfly_section(1, 2, 1, 3), hx = hyperx_section({3, 2}, 2);
  const Values small =
      merge(hpdc21(), {{"input_buffer_flits", 8}, {"output_buffer_flits", 8}, {"nic_buffer_flits", 8}});
  const Values aged = merge(sc19(), {{"input_buffer_flits", 12}, {"output_buffer_flits", 12}, {"vcs", 0}});
  const auto traffic = [](const std::string& name, double load, i64 flits = 1, i64 most = 0) {
    return Section{name, {{"load", load}, {"packet_bytes", bytes_of(flits)}, {"packet_bytes_max", bytes_of(most)}}};
  };
  const Values recorded{{"record", 64}};
  return {
      config(df, input_queued(), {"minimal", {}}, traffic("uniform", 0.9)),
      config(df, small, {"q_adaptive", {}}, traffic("adversarial", 0.9, 4)),
      config(df, small, {"q_routing", {}}, traffic("uniform", 0.9)),
      config(dragonfly_section(1, 2, 1, 3), small_wormhole(), {"ugal_group", {}}, traffic("uniform", 0.9, 5)),
      config(df, merge(small_wormhole(), {{"vc_allocation", "before_switch"}}), {"par", {}},
             traffic("uniform", 0.9, 1, 5)),
      config(df, small, {"valiant_router", {}}, traffic("random_neighbors", 0.8, 2)),
      config(hx, aged, {"omni_war", {{"allocation", "sequential"}}}, traffic("uniform", 0.9, 1, 8)),
      config(hx, aged, {"dal", {}}, traffic("uniform", 0.9, 1, 8)),
      config(hx, aged, {"clos_ad", {}}, traffic("uniform", 0.9, 1, 3)),
      config(hx, input_queued(), {"q_adaptive", {}}, traffic("many_to_many", 0.9)),
      config(df, small, {"agent", recorded}, traffic("uniform", 0.9)),
      config(hx, aged, {"agent", merge(recorded, {{"reward", "end_to_end_delay"}})}, traffic("uniform", 0.9, 1, 4)),
      config(df, small, {"policy", merge(recorded, {{"temperature", 0.5}, {"hidden", std::vector<double>{5}}})},
             traffic("uniform", 0.9)),
      config(df, small, {"biased", merge(recorded, {{"observation", "progress+q_values"}})}, traffic("uniform", 0.9)),
      with_jobs(two_jobs(), {{"blame", true}}, hyperx_section({3, 2}, 2), "dim_war", aged),
      with_jobs(two_jobs(), {{"nic_order", "packet"}, {"mpi_eager_bytes", 100}}, dragonfly_section(2, 2, 1, 3),
                "minimal", small),
      with_jobs(two_jobs(), {{"host", "loggops"}, {"loggops_S_bytes", 1000}}, dragonfly_section(2, 2, 1, 3), "minimal",
                small),
      with_jobs(two_jobs(), {{"host", "loggops"}, {"network", "none"}, {"loggops_S_bytes", 1000}},
                dragonfly_section(2, 2, 1, 3), "minimal", small),
      with_jobs(two_jobs(), {{"scheduler", "first_come"}, {"launch_ns", 100.0}}, dragonfly_section(1, 2, 1, 3),
                "minimal", small),
      config(df, packet_crossbar(small), {"q_adaptive", {}}, traffic("uniform", 0.9, 1, 4)),
      with_jobs(two_jobs(), {{"blame", true}}, dragonfly_section(2, 2, 1, 3), "minimal", packet_crossbar(small)),
      in_parts(3, with_jobs(two_jobs(), {{"nic_order", "packet"}, {"mpi_eager_bytes", 100}},
                            dragonfly_section(2, 2, 1, 3), "minimal", small)),
      with_jobs(two_jobs(),
                {{"ranks_per_node", 4}, {"nics_per_node", 2}, {"mpi_eager_bytes", 100}, {"intra_node_gb_per_s", 1.0}},
                dragonfly_section(2, 2, 1, 3), "minimal", small),
      in_parts(
          3, with_jobs(
                 two_jobs(),
                 {{"host", "loggops"}, {"loggops_S_bytes", 1000}, {"ranks_per_node", 2}, {"intra_node_gb_per_s", 1.0}},
                 dragonfly_section(2, 2, 1, 3), "minimal", small)),
  };
}

// Runs `cycles` cycles, with random choices if an agent decides.
void play(Simulation& sim, u32 cycles) {
  const Network& net = sim.network();
  if (net.workload && !net.workload->host.network) {
    sim.run_workload(cycles);
  } else if (net.decider == Decider::kRouting) {
    sim.run(cycles);
  } else {
    for (u32 k = 0; k < cycles; k++) {
      std::vector<u32> choices(sim.collect());
      for (u32 j = 0; j < choices.size(); j++) choices[j] = any_slot(sim, sim.batch(), j);
      sim.apply(choices.data(), choices.size());
    }
  }
}

// With a speedup of 2, credits wait at the inputs of BookSim2's router.
Config credits_that_wait(i64 speedup) {
  return config(hyperx_section({3, 3}, 2), booksim2(speedup, 4, {{"vcs", 2}}), {"dimension_order", {}},
                {"uniform", {{"load", 0.8}, {"packet_bytes", bytes_of(4)}}});
}

// A simulation in another state restores snapshots of many instants and continues as the original does.
DEEP_TEST(own_snapshots_are_accepted) {
  std::vector<Config> all = small_configs();
  for (const std::string& routing : kRoutings)
    for (const Values& router : {input_queued(), hpdc21(), sc22()})
      all.push_back(config(small_network(), router, {routing, {}},
                           {"mixed", {{"load", 0.8}, {"packet_bytes_max", bytes_of(6)}}}));
  for (const std::string& routing : kHyperXRoutings) all.push_back(seam_on_hyperx({routing, {}}));
  for (const i64 speedup : {1, 2}) all.push_back(credits_that_wait(speedup));
  for (const Config& each : all) {
    Simulation sim(each), other(each);
    for (u32 k = 0; k < 12; k++) {
      if (k == 3) sim.begin_window();
      if (k == 10 && !sim.network().workload) sim.stop_sources();
      play(sim, 1 + 67 * k);
      const std::string bytes = sim.snapshot();
      other.restore(bytes);
      CHECK_EQ(other.hash(), sim.hash());
      play(other, 100);
    }
    other.restore(sim.snapshot());
    play(sim, 50);
    play(other, 50);
    CHECK_EQ(other.hash(), sim.hash());
  }
}

TEST(no_snapshot_between_the_halves_of_a_cycle) {
  Simulation sim(small_configs()[0]);
  sim.run(100);
  sim.collect();
  CHECK_THROWS(CoreError, sim.snapshot(), "collect");
  CHECK_THROWS(CoreError, sim.collect(), "collect");
  CHECK_THROWS(CoreError, sim.run(1), "apply");
  sim.apply(nullptr, 0);
  CHECK_THROWS(CoreError, sim.apply(nullptr, 0), "collect");
}

// A snapshot that is restored in the middle of a cycle also discards the requests of this cycle.
TEST(a_snapshot_is_restored_between_the_halves_of_a_cycle) {
  Simulation sim(small_configs()[0]);
  sim.run(300);
  Simulation other(sim);
  other.run(50);
  const std::string bytes = sim.snapshot();
  sim.run(100);
  sim.collect();
  sim.restore(bytes);
  for (u32 k = 0; k < 50; k++) {
    sim.collect();
    sim.apply(nullptr, 0);
  }
  CHECK_EQ(sim.hash(), other.hash());
}

TEST(a_damaged_snapshot_is_refused) {
  const Config scene = small_configs()[1];
  Simulation sim(scene);
  sim.run(500);
  const std::string bytes = sim.snapshot();
  const u64 before = sim.hash();
  for (std::size_t at = 0; at < bytes.size(); at += 1 + bytes.size() / 400) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x80);
    CHECK_THROWS(ConfigError, sim.restore(damaged), "restore()", "snapshot");
    CHECK_EQ(sim.hash(), before);
  }
}

TEST(a_snapshot_of_another_network_or_with_broken_sums_is_refused) {
  const std::vector<Config> all = small_configs();
  Simulation sim(all[0]), other(all[1]), forged(all[0]);
  CHECK_THROWS(ConfigError, sim.restore(other.snapshot()), "another configuration");
  // Only a delay differs. A restored delay line would release its events at the wrong time.
  Config slower = all[0];
  slower.router.values["link_latency_ns_local"] = 20.0;
  CHECK_THROWS(ConfigError, sim.restore(Simulation(slower).snapshot()), "another configuration");
  forged.run(500);
  forged.state().part.totals.flits_in_network++;
  const u64 before = sim.hash();
  CHECK_THROWS(ConfigError, sim.restore(forged.snapshot()), "inconsistent", "conservation");
  forged.state().input_vcs.pop_back();
  CHECK_THROWS(ConfigError, sim.restore(forged.snapshot()), "an array of");
  CHECK_EQ(sim.hash(), before);
}

// A table with invalid values is refused with the place of the value, in a snapshot and when a user writes it.
TEST(a_table_of_nonsense_is_refused) {
  for (const float nonsense : {std::numeric_limits<float>::quiet_NaN(), -1.0f, std::numeric_limits<float>::infinity()})
    for (const u32 index : {1u, 2u, 9u}) {
      const Config scene = small_configs()[index];
      Simulation sim(scene), forged(scene);
      const auto table = [](Simulation& of) { return all_values(of.network(), of.state()); };
      u32 column = 0;
      while (!std::isfinite(table(sim)[column])) column++;
      table(forged)[column] = nonsense;
      CHECK_THROWS(ConfigError, sim.restore(forged.snapshot()), "q_table[0, 0, " + std::to_string(column) + "]",
                   "finite");
      sim.expose_table(sim.network().table);
      table(sim)[column] = nonsense;
      const std::string message = CHECK_THROWS(ConfigError, sim.run(1), "q_table[0, 0, ");
      CHECK(message.find("valid are") != std::string::npos);
      table(sim)[column] = 5;
      sim.run(100);
    }
  // The entry belongs to a port without a channel.
  Simulation sim(config(dragonfly_section(2, 4, 2, 5, {{"links_per_group_pair", 1}}), hpdc21(), {"q_routing", {}},
                        {"uniform", {{"load", 0.5}}}));
  sim.expose_table(sim.network().table);
  std::ranges::fill(all_values(sim.network(), sim.state()), 0.0f);
  CHECK_THROWS(ConfigError, sim.run(1), "q_table[", "must stay infinite");
}

}  // namespace snapshot_test
