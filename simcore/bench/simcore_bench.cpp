// Speed of a scene: flit-hops per second of the simulation loop, as one line of JSON.
//   simcore_bench SCENE [SCALE] [--threads N] [--partitions N]     SCALE: factor for the measured window
//   simcore_bench --list
//   simcore_bench --starts-callgrind              exit status 0: callgrind skips the warm-up (valgrind's header found)
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "measure.hpp"
#include "scenes.hpp"
#include "simcore/simulation.hpp"

// Under callgrind the warm-up runs without counting, ten times as fast. Otherwise this does nothing.
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_START_INSTRUMENTATION static_cast<void>(0)
#define FLITGYM_NO_CALLGRIND
#endif

using namespace flitgym;
using namespace flitgym::bench;

// The measured window, in a function that a profiler can select by name.
extern "C" __attribute__((noinline)) void flitgym_bench_window(Simulation& sim, u64 cycles) { sim.run(cycles); }

namespace {

double wall_now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void run(const Scene& scene, double scale, u32 threads, u32 partitions) {
  Config config = config_of(scene);
  config.threads = threads;
  config.partitions = partitions;
  const double start = cpu_now();
  Simulation sim(config);
  const double built = cpu_now();
  const u64 cycles = static_cast<u64>(scene.cycles * scale), seen = std::min<u64>(cycles, scene.warmup);
  sim.run(scene.warmup - seen);
  CALLGRIND_START_INSTRUMENTATION;
  sim.run(seen);  // fills the caches that callgrind simulates
  sim.begin_window();
  const double wall_before = wall_now(), before = cpu_now();
  flitgym_bench_window(sim, cycles);
  const double cpu = cpu_now() - before, wall = wall_now() - wall_before;
  auto numbers = statistics(sim.network(), sim.state());
  const double hops = numbers["flit_hops"];
  std::printf(
      "{\"scene\": \"%s\", \"terminals\": %u, \"threads\": %u, \"partitions\": %u, \"offered_load\": %.4f, "
      "\"accepted_load\": %.4f, "
      "\"cycles\": %.0f, \"flit_hops\": %.0f, \"packets_delivered\": %.0f, \"packet_latency_mean_ns\": %.12g, "
      "\"cpu_seconds\": %.4f, \"wall_seconds\": %.4f, \"flit_hops_per_cpu_second\": %.0f, "
      "\"flit_hops_per_wall_second\": %.0f, \"build_cpu_seconds\": %.3f, \"peak_rss_mb\": %.1f, "
      "\"state_hash\": \"%016llx\"}\n",
      scene.name.c_str(), sim.network().terminals, threads, sim.network().partitions(), numbers["offered_load"],
      numbers["accepted_load"], numbers["window_cycles"], hops, numbers["packets_delivered"],
      numbers["packet_latency_mean_ns"], cpu, wall, hops / cpu, hops / wall, built - start, peak_rss_mb(),
      static_cast<unsigned long long>(sim.hash()));
}

int go(int argc, char** argv) {
  const std::string name = argv[1];
  if (name == "--starts-callgrind") {
#ifdef FLITGYM_NO_CALLGRIND
    return 1;
#else
    return 0;
#endif
  }
  if (name == "--list") {
    for (const Scene& scene : scenes()) std::puts(scene.name.c_str());
    return 0;
  }
  double scale = 1;
  u32 threads = 1, partitions = 0;
  for (int k = 2; k < argc; k++) {
    u32* const count = !std::strcmp(argv[k], "--threads")      ? &threads
                       : !std::strcmp(argv[k], "--partitions") ? &partitions
                                                               : nullptr;
    const std::string what = count ? argv[k] : "SCALE";
    if (count && k + 1 == argc) throw ConfigError(what + ": a number is missing");
    const char* const text = argv[count ? ++k : k];
    char* end = nullptr;
    const double value = std::strtod(text, &end);
    if (*end || !(value > 0) || value > 1e6 || (count && value != static_cast<u32>(value)))
      throw ConfigError(what + " " + text + ": not a number above 0");
    if (count) *count = static_cast<u32>(value);
    else scale = value;
  }
  run(scene_named(name), scale, threads, partitions);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: simcore_bench SCENE [SCALE] [--threads N] [--partitions N] | --list\n");
    return 2;
  }
  try {
    return go(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "simcore_bench: %s\n", error.what());
    return 1;
  }
}
