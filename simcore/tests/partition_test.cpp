// Partitions and threads: the same run however the network is cut, whoever runs the pieces, and in however many calls.
#include <algorithm>

#include "crafted.hpp"
#include "simcore/registry.hpp"
#include "simcore/stats.hpp"

using namespace scenes;

namespace {

struct Case {
  std::string name;
  Config config;
};

Section small(const std::string& topology) { return {topology, registry<TopologySpec>().find(topology)->second.small}; }

// Input-queued and output-queued routers, single and mixed sizes, learning, detours, failures that come and go.
std::vector<Case> cases() {
  const Section uniform = {"uniform", {{"load", 0.5}}}, mixed_sizes = {"uniform", {{"load", 0.4}, {"packet_flits_max", i64{5}}}};
  const Section adversarial = {"adversarial", {{"load", 0.3}}}, hot = {"hotspot", {{"load", 0.3}}};
  std::vector<Case> all;
  const auto add = [&](const std::string& name, Config c) { all.push_back({name, std::move(c)}); };
  for (const char* routing : {"minimal", "par", "ugal_group", "q_adaptive", "q_routing", "valiant_router"})
    for (const auto& [router, values] : {std::pair{"input_queued", input_queued()}, {"hpdc21", hpdc21()}})
      add(std::string("dragonfly ") + routing + ' ' + router, config(small_network(), values, {routing, {}}, uniform));
  add("dragonfly q_adaptive adversarial", config(small_network(), hpdc21(), {"q_adaptive", {}}, adversarial));
  add("dragonfly par sc22", config(small_network(), sc22(), {"par", {}}, {"uniform", {{"load", 0.5}, {"packet_flits", i64{4}}}}));
  add("dragonfly par sc22 packet crossbar", config(small_network(), packet_crossbar(sc22()), {"par", {}}, {"uniform", {{"load", 0.9}, {"packet_flits_max", i64{4}}}}));
  add("dragonfly wormhole", config(small_network(), small_wormhole(), {"minimal", {}}, mixed_sizes));
  add("dragonfly minimal hotspot", config(small_network(), input_queued(), {"minimal", {}}, hot));
  for (const char* routing : {"dimension_order", "omni_war", "dim_war", "dal", "q_adaptive"})
    add(std::string("hyperx ") + routing, config(hyperx_section({4, 4}, 3), sc19(), {routing, {}}, mixed_sizes));
  for (const char* topology : {"torus", "mesh", "fat_tree", "slim_fly", "random_regular"})
    for (const char* routing : {"minimal", "ugal"})
      add(std::string(topology) + ' ' + routing, config(small(topology), input_queued(), {routing, {}}, mixed_sizes));
  Config failing = config(small_network(), hpdc21(), {"minimal", {}}, uniform);
  failing.failures = {{"events", std::string("0.05@1000-3000,0.05@2001")}};
  add("dragonfly with links that go down and up", failing);
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
    if (sim.network().channels[p].peer != kNone) all.push_back(static_cast<double>(sim.state().ports[p].flits)), all.push_back(static_cast<double>(sim.state().ports[p].stall));
  for (const SeriesPoint& x : series_sums(sim.state())) all.push_back(static_cast<double>(x.packets + x.latency));
  return all;
}

constexpr u32 kCycles = 4000;

void go(Simulation& sim) {
  sim.set_series_interval(500);
  sim.run(kCycles / 4 + 13);
  sim.begin_window();
  sim.run(kCycles);
}

}  // namespace

TEST(partitions_change_nothing) {
  for (const Case& x : cases()) {
    Simulation whole(cut(x.config, 1));
    go(whole);
    const auto wanted = numbers(whole);
    CHECK_FOR(statistics(whole.network(), whole.state())["packets_delivered"] > 500, x.name);
    for (const u32 parts : {2u, 5u}) {
      Simulation sim(cut(x.config, parts));
      CHECK_EQ(sim.network().partitions(), parts);
      go(sim);
      CHECK_FOR(numbers(sim) == wanted, x.name + " in " + std::to_string(parts));
      sim.check_conservation();
    }
  }
}
