// One trace hash (support/trace.hpp) per scene. These numbers change only with the behaviour of the simulation. The
// state hash (golden_test.cpp) also changes with the layout of the state.
#include <algorithm>
#include <cstdio>
#include <utility>

#include "support/crafted.hpp"
#include "support/trace.hpp"

namespace trace_test {

using namespace scenes;

struct Scene {
  std::string name;
  Config config;
};

// Each routing on each router that suits it, at loads that fill queues.
std::vector<Scene> all_scenes() {
  std::vector<Scene> scenes;
  const auto traffic = [](const char* pattern, i64 flits) {
    return Section{pattern, {{"load", 0.45}, {"packet_bytes_max", bytes_of(flits)}}};
  };
  struct Router {
    const char* name;
    Values (*values)();
    i64 flits;
  };
  const auto add = [&](const std::string& network, const Section& topology, const std::vector<Router>& routers,
                       const Section& routing, const char* pattern) {
    std::string what = network + " " + routing.name;
    for (const auto& [key, value] : routing.values) what += " " + key + "=" + to_string(value);
    for (const Router& r : routers)
      scenes.push_back(
          {what + " " + r.name + " " + pattern, config(topology, r.values(), routing, traffic(pattern, r.flits))});
  };
  const std::vector<Router> dragonfly_routers = {
      {"input_queued", input_queued, 3}, {"hpdc21", hpdc21, 1}, {"wormhole", small_wormhole, 5}};
  const std::vector<Router> hyperx_routers = {{"sc19", sc19, 8}, {"input_queued", input_queued, 1}};
  // Some global ports are unused.
  const Section uneven = dragonfly_section(2, 3, 2, 4, {{"arrangement", std::string("palmtree")}});
  for (const std::string& name : kRoutings) {
    const Section routing{name, {}};
    add("dragonfly", small_network(), dragonfly_routers, routing, "mixed");
    add("uneven", uneven, {{"sc22", sc22, 4}}, routing, "uniform");
  }
  const Section box = hyperx_section({4, 3}, 3, {{"links", std::vector<double>{1, 2}}});
  for (const std::string& name : kHyperXRoutings) add("hyperx", box, hyperx_routers, {name, {}}, "mixed");
  add("hyperx", box, hyperx_routers, {"dal", {{"deadlock_avoidance", std::string("distance")}}}, "uniform");
  add("hyperx", box, hyperx_routers, {"ugal", {{"congestion_scope", std::string("hybrid")}, {"candidates", i64{3}}}},
      "uniform");
  add("dragonfly", small_network(), {{"hpdc21", hpdc21, 1}},
      {"ugal_group", {{"hop_weighted", true}, {"candidates", i64{3}}}}, "adversarial");
  for (const std::string relation : {"widest", "five_hop", "minimal", "q_adaptive", "q_routing"})
    for (const std::string who : {"external", "random"})
      add("dragonfly", small_network(), {{"hpdc21", hpdc21, 1}}, {who, {{"relation", relation}}}, "mixed");
  for (const std::string relation : {"widest", "dim_war", "minimal_adaptive", "q_routing"})
    for (const std::string who : {"external", "random"})
      add("hyperx", box, {{"sc19", sc19, 8}}, {who, {{"relation", relation}}}, "mixed");
  for (const std::string who : {"agent", "policy", "biased"}) {
    const Values record{{"record", i64{256}}};
    add("dragonfly", small_network(), {{"hpdc21", hpdc21, 1}}, {who, record}, "mixed");
    add("hyperx", box, {{"input_queued", input_queued, 1}}, {who, record}, "mixed");
  }
  add("dragonfly", small_network(), {{"hpdc21", hpdc21, 1}},
      {"policy", {{"record", i64{64}}, {"epsilon", 0.5}, {"reward", std::string("job_slowdown")}}}, "uniform");
  // Two jobs that share the network, to the last packet of both.
  Config jobs = config(small_network(), sc22(), {"par", {}}, {"", {}});
  const Values small{{"ranks", i64{27}}, {"scale", 0.002}};
  jobs.workload.jobs.push_back({"halo3d", {"halo3d", small}, nullptr, {}});
  jobs.workload.jobs.push_back({"ur", {"ur", merge(small, {{"permutation_seed", i64{0}}})}, nullptr, {}});
  scenes.push_back({"dragonfly par sc22 halo3d and ur", jobs});
  // Packets that keep together at the crossbar.
  jobs.router.values = packet_crossbar(sc22());
  scenes.push_back({"dragonfly par sc22 packet crossbar halo3d and ur", jobs});
  for (const std::string name : {"par", "q_adaptive"})
    scenes.push_back({"dragonfly " + name + " sc22 packet crossbar mixed",
                      config(small_network(), packet_crossbar(sc22()), {name, {}}, traffic("mixed", 7))});
  scenes.push_back({"hyperx omni_war input_queued packet crossbar mixed",
                    config(box, packet_crossbar(input_queued()), {"omni_war", {}}, traffic("mixed", 16))});
  return scenes;
}

// Names as in all_scenes().
const std::pair<const char*, u64> kTraces[] = {
#include "traces.inc"
};

TEST(traces_of_all_routings) {
  const auto scenes = all_scenes();
  std::string changed;
  for (std::size_t k = 0; k < scenes.size(); k++) {
    const u64 hash = trace_of(scenes[k].config, 1500);
    const auto known =
        std::find_if(std::begin(kTraces), std::end(kTraces), [&](const auto& t) { return scenes[k].name == t.first; });
    if (known != std::end(kTraces) && known->second == hash) continue;
    char line[64];
    std::snprintf(line, sizeof line, "\", 0x%016llxull},", static_cast<unsigned long long>(hash));
    changed += "\n    {\"" + scenes[k].name + line;
  }
  CHECK_EQ(changed, "");
  CHECK_EQ(scenes.size(), std::size(kTraces));
}

}  // namespace trace_test
