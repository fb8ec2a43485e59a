// One trace hash (support/trace.hpp) per scene. These numbers change only with the behaviour of the simulation. State
// hashes also change with the layout of the state.
#include "support/trace.hpp"
#include "support/crafted.hpp"

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
  const Section uneven = dragonfly_section(2, 3, 2, 4, {{"arrangement", "palmtree"}});
  for (const std::string& name : kRoutings) {
    const Section routing{name, {}};
    add("dragonfly", small_network(), dragonfly_routers, routing, "mixed");
    add("uneven", uneven, {{"sc22", sc22, 4}}, routing, "uniform");
  }
  const Section box = hyperx_section({4, 3}, 3, {{"links", std::vector<double>{1, 2}}});
  for (const std::string& name : kHyperXRoutings) add("hyperx", box, hyperx_routers, {name, {}}, "mixed");
  add("hyperx", box, hyperx_routers, {"dal", {{"deadlock_avoidance", "distance"}}}, "uniform");
  add("hyperx", box, hyperx_routers, {"ugal", {{"congestion_scope", "hybrid"}, {"candidates", 3}}}, "uniform");
  add("dragonfly", small_network(), {{"hpdc21", hpdc21, 1}},
      {"ugal_group", {{"hop_weighted", true}, {"candidates", 3}}}, "adversarial");
  for (const std::string relation : {"widest", "five_hop", "minimal", "q_adaptive", "q_routing"})
    for (const std::string who : {"external", "random"})
      add("dragonfly", small_network(), {{"hpdc21", hpdc21, 1}}, {who, {{"relation", relation}}}, "mixed");
  for (const std::string relation : {"widest", "dim_war", "minimal_adaptive", "q_routing"})
    for (const std::string who : {"external", "random"})
      add("hyperx", box, {{"sc19", sc19, 8}}, {who, {{"relation", relation}}}, "mixed");
  for (const std::string who : {"agent", "policy", "biased"}) {
    const Values record{{"record", 256}};
    add("dragonfly", small_network(), {{"hpdc21", hpdc21, 1}}, {who, record}, "mixed");
    add("hyperx", box, {{"input_queued", input_queued, 1}}, {who, record}, "mixed");
  }
  add("dragonfly", small_network(), {{"hpdc21", hpdc21, 1}},
      {"policy", {{"record", 64}, {"epsilon", 0.5}, {"reward", "job_slowdown"}}}, "uniform");
  // Two jobs that share the network, to the last packet of both.
  Config jobs = config(small_network(), sc22(), {"par", {}}, {"", {}});
  const Values small{{"ranks", 27}, {"scale", 0.002}};
  jobs.workload.jobs.push_back({"halo3d", {"halo3d", small}, nullptr, {}});
  jobs.workload.jobs.push_back({"ur", {"ur", merge(small, {{"permutation_seed", 0}})}, nullptr, {}});
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
  std::vector<std::pair<std::string, u64>> found;
  for (const Scene& scene : all_scenes()) found.emplace_back(scene.name, trace_of(scene.config, 1500));
  CHECK_EQ(changed_hashes(found, kTraces), "");
}

// ---- State hashes ----

// One state hash per scene. Any change of behaviour changes the hash. An intended change updates these numbers, and the
// message of a failed case prints the new values. 72 terminals, seed 1, load 0.5, measurement window from cycle 500,
// hash after 3,000 cycles.
TEST(golden_hashes) {
  struct Golden {
    const char* name;
    Values router;
    const char *routing, *traffic;
    i64 flits;
  };
  const std::pair<const char*, u64> recorded[] = {{"classic", 0x709a7e4754bfaaf3ull},
                                                  {"hpdc21", 0x418c766de48a8c71ull},
                                                  {"sc22", 0x722cc4123a4aa713ull},
                                                  {"wormhole", 0x6da8109b7fb6bc51ull},
                                                  {"islip", 0xa0dbbaf649b2413bull}};
  std::vector<std::pair<std::string, u64>> found;
  for (const Golden& scene : {Golden{"classic", input_queued(), "minimal", "uniform", 1},
                              {"hpdc21", hpdc21(), "q_adaptive", "adversarial", 1},
                              {"sc22", sc22(), "par", "random_neighbors", 4},
                              {"wormhole", small_wormhole(), "ugal_group", "permutation", 5},
                              {"islip", booksim2(2, 16, {{"vcs", 4}}), "minimal", "uniform", 4}}) {
    Simulation sim(config(small_network(), scene.router, {scene.routing, {}},
                          {scene.traffic, {{"load", 0.5}, {"packet_bytes", bytes_of(scene.flits)}}}));
    sim.run(500);
    sim.begin_window();
    sim.run(2500);
    found.emplace_back(scene.name, sim.hash());
  }
  CHECK_EQ(changed_hashes(found, recorded), "");
}

}  // namespace trace_test
