#include "scenes.hpp"

#include <cstdio>
#include <utility>

#include "presets.hpp"

namespace flitgym::bench {

namespace {

Values hpdc21() { return router_preset("hpdc21"); }
Values sc22() { return router_preset("sc22"); }
Values sc19() { return router_preset("sc19"); }

// Flits of several packets share the crossbar.
Values flit_crossbar(Values values) {
  values["crossbar_sharing"] = std::string("flit");
  return values;
}

// The router and the channel delays of the yardstick: 32 flits per VC, local 1 and global 10 cycles, and one cycle for
// the switch.
Values input_queued() {
  return {{"input_buffer_flits", i64{32}},
          {"link_latency_ns_local", 1.0},
          {"link_latency_ns_global", 10.0},
          {"output_latency_ns", 1.0}};
}

Section dragonfly(u32 terminals_per_router, u32 routers_per_group, u32 global_ports, u32 groups) {
  return {"dragonfly",
          {{"terminals_per_router", i64{terminals_per_router}},
           {"routers_per_group", i64{routers_per_group}},
           {"global_ports", i64{global_ports}},
           {"groups", i64{groups}}}};
}

std::string decimal(double x) {
  char text[16];
  std::snprintf(text, sizeof text, "%g", x);
  return text;
}

Scene classic(double load, u32 cycles) {
  const std::string name = "input_queued_minimal_uniform_" + decimal(load);
  return {name, input_queued(), "minimal", "uniform", load, 1000, cycles};
}

Scene learned(double load, u32 cycles) {
  const std::string name = "hpdc21_q_adaptive_uniform_" + decimal(load);
  return {name, hpdc21(), "q_adaptive", "uniform", load, 20000, cycles};
}

// Learned policies in the core, and UGAL as their reference.
Scene decided(const std::string& player, const std::string& policy) {
  Scene scene = {"hpdc21_" + player + "_uniform_0.45",
                 hpdc21(),
                 policy.empty() ? player : "policy",
                 "uniform",
                 0.45,
                 20000,
                 60000};
  scene.policy = policy;
  return scene;
}

// configs/workload/mixed.yaml
std::vector<Section> mixed_jobs() {
  std::vector<Section> jobs;
  for (const auto& [motif, ranks] : std::vector<std::pair<std::string, i64>>{
           {"fft3d", 140}, {"cosmoflow", 138}, {"lu", 140}, {"ur", 139}, {"lqcd", 256}, {"stencil5d", 243}})
    jobs.push_back({motif, {{"ranks", ranks}}});
  return jobs;
}

}  // namespace

std::vector<Scene> scenes() {
  const Section dragonfly_1056 = {"dragonfly", {}}, dragonfly_100352 = dragonfly(16, 32, 16, 196);
  const Section hyperx = {"hyperx", {{"widths", std::vector<double>{8, 8, 8}}, {"terminals_per_router", i64{8}}}};
  const Section torus = {"torus", {{"sizes", std::vector<double>{46, 46, 47}}}};
  const Section torus_512 = {"torus", {{"sizes", std::vector<double>{8, 8}}, {"terminals_per_router", i64{8}}}};
  const Section fat_tree = {
      "fat_tree", {{"children", std::vector<double>{48, 48, 48}}, {"parents", std::vector<double>{1, 48, 48}}}};
  const Values preset = {};  // the core's defaults are configs/router/input_queued.yaml
  // clang-format off
  return {
      classic(0.6, 10000),
      classic(0.05, 60000),
      classic(0.3, 12000),
      // The cost of a forwarding table compared with a closed form, at a load that both carry.
      classic(0.4, 10000),
      {"input_queued_table_dfsssp_uniform_0.4", input_queued(), "table", "uniform", 0.4, 1000, 10000},
      learned(0.6, 100000),
      learned(0.05, 400000),
      {"hpdc21_minimal_uniform_0.6", hpdc21(), "minimal", "uniform", 0.6, 20000, 100000},
      {"hpdc21_par_adversarial_0.4", hpdc21(), "par", "adversarial", 0.4, 20000, 60000},
      {"hpdc21_minimal_adversarial_0.4", hpdc21(), "minimal", "adversarial", 0.4, 20000, 100000},
      {"hpdc21_q_adaptive_adversarial_0.5", hpdc21(), "q_adaptive", "adversarial", 0.5, 100000, 60000},
      {"input_queued_minimal_uniform_0.3_100352_terminals", input_queued(), "minimal", "uniform", 0.3, 300, 300,
       dragonfly_100352},
      {"hyperx_4096_input_queued_dimension_order_uniform_0.6", preset, "dimension_order", "uniform", 0.6, 500, 1500,
       hyperx},
      {"hyperx_4096_sc19_omni_war_uniform_0.6", sc19(), "omni_war", "uniform", 0.6, 1500, 1000, hyperx},
      {"hyperx_4096_sc19_omni_war_bit_complement_0.45", sc19(), "omni_war", "bit_complement", 0.45, 3000, 1000, hyperx},
      {"hyperx_4096_sc19_dim_war_bit_complement_0.45_packets_1_to_16", sc19(), "dim_war", "bit_complement", 0.45, 3000,
       1000, hyperx, 16},
      {"torus_99452_input_queued_dimension_order_uniform_0.05", preset, "dimension_order", "uniform", 0.05, 300, 300,
       torus},
      {"fat_tree_110592_input_queued_up_down_uniform_0.3", preset, "up_down", "uniform", 0.3, 200, 200, fat_tree},
      {"torus_512_input_queued_ugal_uniform_0.3", preset, "ugal", "uniform", 0.3, 1000, 5000, torus_512},
      {"hpdc21_q_adaptive_on_the_graph_uniform_0.3", hpdc21(), "q_adaptive", "uniform", 0.3, 20000, 60000,
       dragonfly_1056, 0, {}, {{"links", 0.02}}},
      // The heaviest pair of the interference study, for 256 us.
      {"sc22_par_fft3d_and_halo3d", sc22(), "par", "", 0, 100000, 200000, dragonfly_1056, 0,
       {{"fft3d", {}}, {"halo3d", {}}}},
      {"sc22_flit_crossbar_par_fft3d_and_halo3d", flit_crossbar(sc22()), "par", "", 0, 100000, 200000,
       dragonfly_1056, 0, {{"fft3d", {}}, {"halo3d", {}}}},
      {"sc22_q_adaptive_uniform_0.6_packets_1_to_4", sc22(), "q_adaptive", "uniform", 0.6, 20000, 60000,
       dragonfly_1056, 4},
      {"sc22_flit_crossbar_q_adaptive_uniform_0.6_packets_1_to_4", flit_crossbar(sc22()), "q_adaptive", "uniform", 0.6,
       20000, 60000, dragonfly_1056, 4},
      decided("ugal_group", ""),
      decided("flitgym", "flitgym.safetensors"),
      decided("dqn", "dqn.safetensors"),
      // The six jobs of its mixed workload, which fill the machine, from the time at which FFT3D communicates.
      {"sc22_par_mixed", sc22(), "par", "", 0, 400000, 100000, dragonfly_1056, 0, mixed_jobs()},
  };
  // clang-format on
}

Scene scene_named(const std::string& name) {
  std::vector<std::string> names;
  for (Scene& scene : scenes()) {
    if (scene.name == name) return scene;
    names.push_back(scene.name);
  }
  throw ConfigError("no scene '" + name + "'" + did_you_mean(name, names) + "; simcore_bench --list names them");
}

Config config_of(const Scene& scene) {
  Config config;
  config.topology = scene.topology;
  config.router = {"vc_router", scene.router};
  config.routing = {scene.routing, {}};
  if (!scene.policy.empty()) config.routing.values["path"] = FLITGYM_POLICIES "/" + scene.policy;
  if (scene.jobs.empty())
    config.traffic = {scene.traffic, {{"load", scene.load}, {"packet_bytes_max", 128 * scene.packet_flits_max}}};
  for (const Section& motif : scene.jobs) config.workload.jobs.push_back({motif.name, motif, nullptr, {}});
  config.seed = 1;
  config.failures = scene.failures;
  return config;
}

}  // namespace flitgym::bench
