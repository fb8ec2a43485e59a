// Speed of fixed scenes, headless: flit-hops per CPU second of the simulation loop. One JSON line per scene.
//   simcore_bench SCENE [scale]     simcore_bench --list
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "measure.hpp"
#include "simcore/error.hpp"
#include "simcore/simulation.hpp"

using namespace flitgym;

namespace {

Values hpdc21() {
  return {{"cycle_ns", 1.6}, {"flit_bytes", 128.0}, {"link_bandwidth_gb_per_s_host", 4.0}, {"link_bandwidth_gb_per_s_local", 4.0}, {"link_bandwidth_gb_per_s_global", 4.0},
          {"crossbar_bandwidth_gb_per_s", 40.0}, {"link_latency_ns_host", 10.0}, {"link_latency_ns_local", 30.0}, {"link_latency_ns_global", 300.0},
          {"input_latency_ns", 10.0}, {"output_latency_ns", 10.0}, {"input_buffer_flits", i64{20}}, {"output_buffer_flits", i64{20}}, {"nic_buffer_flits", i64{20}},
          {"arbiter", std::string("least_recently_served")}, {"credit_granularity", std::string("packet")}, {"output_wake_flits", i64{1}}, {"pipeline_ns", 1.6},
          {"latency_from", std::string("nic")}, {"source_backlog", std::string("lost")}};
}

// configs/router/sc22.yaml
Values sc22() {
  Values values = hpdc21();
  for (const char* link : {"host", "local", "global"}) values[std::string("link_bandwidth_gb_per_s_") + link] = 25.0;
  values["cycle_ns"] = values["pipeline_ns"] = 1.28;
  values["crossbar_bandwidth_gb_per_s"] = 100.0;
  for (const char* buffer : {"input", "output", "nic"}) values[std::string(buffer) + "_buffer_flits"] = i64{120};
  return values;
}

Values packet_crossbar(Values values) {
  values["crossbar_sharing"] = std::string("packet");
  return values;
}

// The router and the channel delays of the yardstick this is compared with: 32 flits per VC, local 1 and global 10
// cycles, one more for the switch.
Values input_queued() {
  return {{"input_buffer_flits", i64{32}}, {"link_latency_ns_local", 1.0}, {"link_latency_ns_global", 10.0}, {"output_latency_ns", 1.0}};
}

// configs/router/sc19.yaml
Values sc19() {
  return {{"link_latency_ns_host", 5.0}, {"link_latency_ns_local", 50.0}, {"link_latency_ns_global", 50.0}, {"output_latency_ns", 55.0}, {"input_buffer_flits", i64{160}},
          {"output_buffer_flits", i64{64}}, {"nic_buffer_flits", i64{64}}, {"vcs", i64{8}}, {"injection_vcs", i64{0}}, {"arbiter", std::string("age")},
          {"crossbar_ports", std::string("per_vc")}, {"credit_latency", std::string("link")}, {"link_sharing", std::string("packet")}};
}

struct Scene {
  const char* name;
  Values router;
  const char* routing;
  const char* traffic;
  double load;
  u32 warmup, cycles;
  Section topology = {"dragonfly", {}};
  i64 packet_flits_max = 0;
  std::vector<const char*> jobs = {};  // motifs, instead of a traffic pattern
  Values failures = {};
};

std::vector<Scene> scenes() {
  const Section large = {"dragonfly", {{"terminals_per_router", i64{16}}, {"routers_per_group", i64{32}}, {"global_ports", i64{16}}, {"groups", i64{196}}}};
  const Section hyperx = {"hyperx", {{"widths", std::vector<double>{8, 8, 8}}, {"terminals_per_router", i64{8}}}};
  const Values preset = {};  // configs/router/input_queued.yaml has the core's defaults
  return {
      {"input_queued_minimal_uniform_0.6", input_queued(), "minimal", "uniform", 0.6, 1000, 10000},
      {"input_queued_minimal_uniform_0.05", input_queued(), "minimal", "uniform", 0.05, 1000, 60000},
      // What a table costs beside a closed form, where both carry the load.
      {"input_queued_minimal_uniform_0.4", input_queued(), "minimal", "uniform", 0.4, 1000, 10000},
      {"input_queued_table_dfsssp_uniform_0.4", input_queued(), "table", "uniform", 0.4, 1000, 10000},
      {"hpdc21_q_adaptive_uniform_0.6", hpdc21(), "q_adaptive", "uniform", 0.6, 20000, 100000},
      {"hpdc21_q_adaptive_uniform_0.05", hpdc21(), "q_adaptive", "uniform", 0.05, 20000, 400000},
      {"hpdc21_minimal_uniform_0.6", hpdc21(), "minimal", "uniform", 0.6, 20000, 100000},
      {"hpdc21_par_adversarial_0.4", hpdc21(), "par", "adversarial", 0.4, 20000, 60000},
      {"hpdc21_minimal_adversarial_0.4", hpdc21(), "minimal", "adversarial", 0.4, 20000, 100000},
      {"hpdc21_q_adaptive_adversarial_0.5", hpdc21(), "q_adaptive", "adversarial", 0.5, 100000, 60000},
      {"input_queued_minimal_uniform_0.3_100352_terminals", input_queued(), "minimal", "uniform", 0.3, 300, 300, large},
      {"hyperx_4096_input_queued_dimension_order_uniform_0.6", preset, "dimension_order", "uniform", 0.6, 500, 1500, hyperx},
      {"hyperx_4096_sc19_omni_war_uniform_0.6", sc19(), "omni_war", "uniform", 0.6, 1500, 1000, hyperx},
      {"hyperx_4096_sc19_omni_war_bit_complement_0.45", sc19(), "omni_war", "bit_complement", 0.45, 3000, 1000, hyperx},
      {"hyperx_4096_sc19_dim_war_bit_complement_0.45_packets_1_to_16", sc19(), "dim_war", "bit_complement", 0.45, 3000, 1000, hyperx, 16},
      {"torus_99452_input_queued_dimension_order_uniform_0.05", preset, "dimension_order", "uniform", 0.05, 300, 300, {"torus", {{"sizes", std::vector<double>{46, 46, 47}}}}},
      {"fat_tree_110592_input_queued_up_down_uniform_0.3", preset, "up_down", "uniform", 0.3, 200, 200,
       {"fat_tree", {{"children", std::vector<double>{48, 48, 48}}, {"parents", std::vector<double>{1, 48, 48}}}}},
      {"torus_512_input_queued_ugal_uniform_0.3", preset, "ugal", "uniform", 0.3, 1000, 5000, {"torus", {{"sizes", std::vector<double>{8, 8}}, {"terminals_per_router", i64{8}}}}},
      {"hpdc21_q_adaptive_on_the_graph_uniform_0.3", hpdc21(), "q_adaptive", "uniform", 0.3, 20000, 60000, {"dragonfly", {}}, 0, {}, {{"links", 0.02}}},
      // The heaviest pair of the interference study, at work for 256 us.
      {"sc22_par_fft3d_and_halo3d", sc22(), "par", "", 0, 100000, 200000, {"dragonfly", {}}, 0, {"fft3d", "halo3d"}},
      {"sc22_packet_crossbar_par_fft3d_and_halo3d", packet_crossbar(sc22()), "par", "", 0, 100000, 200000, {"dragonfly", {}}, 0, {"fft3d", "halo3d"}},
      {"sc22_q_adaptive_uniform_0.6_packets_1_to_4", sc22(), "q_adaptive", "uniform", 0.6, 20000, 60000, {"dragonfly", {}}, 4},
      {"sc22_packet_crossbar_q_adaptive_uniform_0.6_packets_1_to_4", packet_crossbar(sc22()), "q_adaptive", "uniform", 0.6, 20000, 60000, {"dragonfly", {}}, 4},
  };
}

void run(const Scene& scene, double scale) {
  Config config;
  config.topology = scene.topology;
  config.router = {"vc_router", scene.router};
  config.routing = {scene.routing, {}};
  if (scene.jobs.empty()) config.traffic = {scene.traffic, {{"load", scene.load}, {"packet_flits_max", scene.packet_flits_max}}};
  for (const char* motif : scene.jobs) config.workload.jobs.push_back({motif, {motif, {}}, nullptr, {}});
  config.seed = 1;
  config.failures = scene.failures;
  const double start = cpu_now();
  Simulation sim(config);
  const double built = cpu_now();
  sim.run(scene.warmup);
  sim.begin_window();
  const double before = cpu_now();
  sim.run(static_cast<u64>(scene.cycles * scale));
  const double cpu = cpu_now() - before;
  auto numbers = statistics(sim.network(), sim.state());
  std::printf("{\"scene\": \"%s\", \"terminals\": %u, \"offered_load\": %.4f, \"accepted_load\": %.4f, \"cycles\": %.0f, \"flit_hops\": %.0f, \"cpu_seconds\": %.4f, "
              "\"flit_hops_per_cpu_second\": %.0f, \"build_cpu_seconds\": %.3f, \"peak_rss_mb\": %.1f, \"state_hash\": \"%016llx\"}\n",
              scene.name, sim.network().terminals, numbers["offered_load"], numbers["accepted_load"], numbers["window_cycles"], numbers["flit_hops"], cpu, numbers["flit_hops"] / cpu,
              built - start, peak_rss_mb(), static_cast<unsigned long long>(sim.hash()));
}

}  // namespace

int main(int argc, char** argv) {
  const double scale = argc > 2 ? std::atof(argv[2]) : 1;
  bool found = false;
  try {
    for (const Scene& scene : scenes()) {
      if (argc > 1 && !std::strcmp(argv[1], "--list")) {
        std::puts(scene.name);
        found = true;
      } else if (argc < 2 || !std::strcmp(argv[1], scene.name)) {
        run(scene, scale);
        found = true;
      }
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "simcore_bench: %s\n", error.what());
    return 1;
  }
  if (!found) std::fprintf(stderr, "simcore_bench: no scene '%s'; --list names them\n", argv[1]);
  return found ? 0 : 2;
}
