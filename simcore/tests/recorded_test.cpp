// Traces (support/trace.hpp) of every registered routing, engine, pattern, feature block and reward on the small
// instances of the topologies, and hashes of the programs of the motifs. The constants are part of the results' name
// (FLITGYM_RESULTS in CMakeLists.txt). Results of other commits with the same name are reused, so a changed constant
// makes runs repeat. A new component goes after the line "// later" of recorded.inc and makes no run repeat.
// trace_test.cpp has fewer scenes under more load.
#include <iterator>
#include <set>

#include "simcore/registry.hpp"
#include "simcore/tables/engine.hpp"
#include "support/crafted.hpp"
#include "support/trace.hpp"

namespace recorded_test {

using namespace scenes;

std::vector<std::pair<std::string, u64>> found;

// Components of the tests, and the example of docs/extending.
bool of_tests(const std::string& name) { return name.starts_with("test_") || name == "two_choices"; }

// With `of_any`, components that run on every topology are included.
template <class Spec>
std::vector<std::string> names_on(const std::string& topology, bool of_any = true) {
  std::vector<std::string> names;
  for (const auto& [name, spec] : registry<Spec>()) {
    const bool fits = (of_any && spec.topologies.empty()) || std::ranges::count(spec.topologies, topology);
    if (fits && !of_tests(name) && !std::ranges::count(names, name)) names.push_back(name);
  }
  return names;
}

// Skips components that refuse their default parameters because they need a file, an even grid or a list of flows.
void trace(const std::string& name, const Config& config, u32 cycles = 250) {
  try {
    build(config);
  } catch (const ConfigError&) {
    return;
  }
  found.emplace_back(name, trace_of(config, cycles));
}

void trace_topology(const std::string& topology, const Values& small) {
  const Section uniform{"uniform", {{"load", 0.5}, {"packet_bytes_max", bytes_of(3)}}};
  const auto of = [&](const Section& routing, const Section& traffic) {
    return config({topology, small}, input_queued(), routing, traffic);
  };
  // Routings of any graph, engines and patterns see channels, groups and terminals only. These families stand for the
  // others.
  static const std::set<std::string> families = {"dragonfly", "fat_tree",       "graph",    "hyperx",
                                                 "mesh",      "random_regular", "slim_fly", "torus"};
  const bool stands = families.contains(topology);
  std::vector<std::string> routings = names_on<RoutingSpec>(topology, stands);
  if (!std::ranges::count(routings, "minimal")) routings.push_back("minimal");
  for (const std::string& routing : routings) trace(topology + " " + routing, of({routing, {}}, uniform));
  if (!stands) return;
  for (const std::string& engine : names_on<tables::EngineSpec>(topology))
    trace(topology + " table " + engine, of({"table", {{"engine", engine}}}, uniform));
  for (const std::string& pattern : names_on<TrafficSpec>(topology))
    trace(topology + " minimal " + pattern, of({"minimal", {}}, {pattern, {{"load", 0.5}}}));
}

Section agent(const char* key, const std::string& name) {
  return {"agent", {{"record", 128}, {"slots", 4}, {key, name}}};
}

void trace_block(const std::string& block) {
  trace("dragonfly agent " + block,
        config(small_network(), hpdc21(), agent("observation", block), {"adversarial", {{"load", 0.5}}}), 1500);
}

void trace_reward(const std::string& reward) {
  Config jobs = config(small_network(), packet_crossbar(sc22()), agent("reward", reward), {"", {}});
  const Values small{{"ranks", 27}, {"scale", 0.002}};
  jobs.workload.jobs.push_back({"halo3d", {"halo3d", small}, nullptr, {}});
  jobs.workload.jobs.push_back({"ur", {"ur", merge(small, {{"permutation_seed", 0}})}, nullptr, {}});
  trace("dragonfly agent " + reward, jobs, 1500);
}

// Hashes the first ten blocks of every rank and the last three, operation by operation.
u64 hash_of(const Program& program) {
  u64 hash = program.ranks;
  const auto add = [&](u64 value) { hash = mix64(hash ^ value) + 0x9e3779b97f4a7c15ull; };
  Block block;
  for (u32 rank = 0; rank < program.ranks; rank++) {
    const u64 blocks = program.blocks(rank);
    add(blocks);
    for (u64 k = 0; k < blocks; k = k == 9 ? std::max<u64>(k + 1, blocks - 3) : k + 1) {
      block.clear();
      program.block(rank, k, block);
      for (const Op& op : block.ops) add(op.size), add(u64{op.peer} << 32 | u32(op.tag)), add(u64(op.kind));
      for (const Dependency& d : block.dependencies) add(u64{d.before} << 32 | d.after << 1 | d.on_start);
    }
  }
  return hash;
}

// Tries numbers of ranks until the motif accepts one.
void hash_motif(const std::string& name, const MotifSpec& motif) {
  for (const u32 ranks : {64u, 27u, 32u, 16u, 240u}) try {
      const Params params("motif." + name, motif.params, {}, 0);
      found.emplace_back("motif " + name, hash_of(*motif.build(params, ranks, 1)));
      return;
    } catch (const ConfigError&) {
    }
}

const std::pair<const char*, u64> kRecorded[] = {
#include "recorded.inc"
};

TEST(recorded_results_of_all_registered_components) {
  found.clear();
  for (const auto& [name, topology] : registry<TopologySpec>())
    if (!of_tests(name)) trace_topology(name, topology.small);
  // Patterns of three-dimensional grids.
  for (const std::string& pattern : names_on<TrafficSpec>("hyperx"))
    trace("box " + pattern,
          config(hyperx_section({4, 4, 4}, 1), sc19(), {"minimal_adaptive", {}}, {pattern, {{"load", 0.5}}}));
  for (const std::string& block : registered_names<ObservationSpec>())
    if (!of_tests(block)) trace_block(block);
  for (const std::string& reward : registered_names<RewardSpec>())
    if (!of_tests(reward)) trace_reward(reward);
  for (const auto& [name, motif] : registry<MotifSpec>())
    if (!of_tests(name)) hash_motif(name, motif);

  CHECK_EQ(changed_hashes(found, kRecorded), "");
}

}  // namespace recorded_test
