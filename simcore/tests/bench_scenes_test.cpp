// The scenes of the benchmark: their networks build, and their names are unique. Results of other commits are compared
// by these names.
#include <set>

#include "../bench/scenes.hpp"
#include "simcore/simulation.hpp"
#include "test.hpp"

namespace bench_scenes_test {

using namespace flitgym;

// Builds the small scenes. Building a large scene would only take longer.
DEEP_TEST(scenes_of_the_benchmark_build) {
  std::set<std::string> names;
  for (const bench::Scene& scene : bench::scenes()) {
    CHECK_FOR(names.insert(scene.name).second, scene.name);
    CHECK_FOR(scene.groups && scene.cycles > 0, scene.name);
    const Config config = bench::config_of(scene);
    if (count_terminals(config.topology) > 9999) continue;
    const Simulation sim(config);
  }
  CHECK(names.size() > 30);
}

}  // namespace bench_scenes_test
