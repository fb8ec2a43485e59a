// The scenes of the benchmark: their names stay what results of other commits are compared by, and goals are set for them.
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "../bench/scenes.hpp"
#include "simcore/simulation.hpp"
#include "test.hpp"

using namespace flitgym;

namespace {

std::set<std::string> scene_names() {
  std::set<std::string> names;
  for (const bench::Scene& scene : bench::scenes()) CHECK_FOR(names.insert(scene.name).second, scene.name);
  return names;
}

}  // namespace

// Small ones in full; building a large one would only take longer.
TEST(scenes_of_the_benchmark_build) {
  for (const bench::Scene& scene : bench::scenes()) {
    CHECK_FOR(scene.groups, scene.name);
    CHECK_FOR(scene.cycles > 0, scene.name);
    const bool large = std::regex_search(scene.name, std::regex("[0-9]{5,}"));
    if (large) continue;
    const Simulation sim(bench::config_of(scene));
    std::smatch named;
    if (std::regex_search(scene.name, named, std::regex("_([0-9]+)_terminals|^hyperx_([0-9]+)_|^torus_([0-9]+)_")))
      for (std::size_t k = 1; k < named.size(); k++)
        if (named[k].matched) CHECK_EQ(std::to_string(sim.network().terminals), named[k].str());
  }
}

TEST(scenes_of_the_benchmark_have_names_of_their_own) { CHECK(scene_names().size() > 30); }

// Every name in simcore/bench/goals.py, of a goal or of a list, is a scene's.
TEST(goals_of_the_benchmark_are_scenes) {
  std::ifstream file(FLITGYM_BENCH_DIR "/goals.py");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::set<std::string> names = scene_names();
  const std::regex quoted("\"([a-z]+[0-9a-z]*_[0-9a-z_.]+)\"");
  u32 found = 0;
  for (std::sregex_iterator match(text.begin(), text.end(), quoted), end; match != end; ++match) {
    const std::string name = (*match)[1];
    if (name.ends_with("yardstick") || name.ends_with("json")) continue;  // results/before.json, a key of its rows
    CHECK_FOR(names.count(name), name);
    found++;
  }
  CHECK(found >= 16);  // nine goals, seven scenes over threads
}
