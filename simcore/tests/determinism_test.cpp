// Runs with the same seed are equal to the bit. A fork and a restored snapshot stay equal to their original.
#include "support/scenes.hpp"
#include "test.hpp"

namespace determinism_test {

using namespace scenes;

Config loaded(const std::string& routing, u64 seed = 3, const Values& router = hpdc21(),
              const Section& network = small_network()) {
  return config(network, router, {routing, {}}, {"adversarial", {{"load", 0.6}, {"shift", 1}}}, seed);
}

// HyperX with the router of the SC'19 study: random packet sizes, many VCs, age arbitration, packets that are routed
// again.
Config loaded_hyperx(const std::string& routing) {
  return config(hyperx_section({4, 3}, 3, {{"links", std::vector<double>{1, 2}}}),
                merge(sc19(), {{"input_buffer_flits", 20}, {"output_buffer_flits", 16}}), {routing, {}},
                {"uniform", {{"load", 0.9}, {"packet_bytes_max", bytes_of(16)}}}, 3);
}

TEST(same_seed_same_hash) {
  for (const std::string& routing : kRoutings) {
    Simulation one(loaded(routing)), two(loaded(routing)), other(loaded(routing, 4));
    for (Simulation* sim : {&one, &two, &other}) sim->run(3000);
    CHECK_EQ(one.hash(), two.hash());
    CHECK(one.hash() != other.hash());
  }
}

TEST(run_in_pieces_is_the_same_run) {
  Simulation whole(loaded("q_adaptive")), pieces(loaded("q_adaptive")), halves(loaded("q_adaptive"));
  whole.run(3000);
  for (u32 k = 0; k < 3000; k += 250) pieces.run(250);
  for (u32 k = 0; k < 3000; k++) {
    halves.collect();
    halves.apply(nullptr, 0);
  }
  CHECK_EQ(whole.hash(), pieces.hash());
  CHECK_EQ(whole.hash(), halves.hash());
}

TEST(snapshot_restores_and_runs_in_lockstep) {
  std::vector<Config> all;
  for (const char* routing : {"ugal_router", "q_routing", "q_adaptive", "q_hierarchical"})
    all.push_back(loaded(routing, 5, sc22()));
  for (const char* routing : {"dal", "clos_ad"}) all.push_back(loaded_hyperx(routing));
  for (const Config& each : all) {
    Simulation sim(each);
    sim.begin_window();
    sim.run(1200);
    const std::string bytes = sim.snapshot();
    const u64 there = sim.hash();
    Simulation fresh(each);
    fresh.run(17);
    fresh.restore(bytes);
    CHECK_EQ(fresh.hash(), there);
    for (u32 k = 0; k < 100; k++) {
      sim.run(1);
      fresh.run(1);
      CHECK_EQ(fresh.hash(), sim.hash());
    }
    sim.restore(bytes);  // to an earlier time
    CHECK_EQ(sim.hash(), there);
    sim.run(100);
    CHECK_EQ(sim.hash(), fresh.hash());
  }
}

TEST(no_snapshot_between_the_halves_of_a_cycle) {
  Simulation sim(loaded("minimal"));
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
  Simulation sim(loaded("minimal"));
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

}  // namespace determinism_test
