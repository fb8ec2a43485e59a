// The scenes of the benchmark: fixed configurations with fixed names. A name keeps its meaning, because it identifies a
// scene in the results of other commits.
#pragma once

#include <string>
#include <vector>

#include "simcore/params.hpp"

namespace flitgym::bench {

struct Scene {
  std::string name;
  Values router;
  std::string routing, traffic;
  double load;
  u32 warmup, cycles;
  Section topology = {"dragonfly", {}};  // its defaults: 1,056 terminals
  i64 packet_flits_max = 0;
  std::vector<Section> jobs = {};  // motifs, instead of a traffic pattern
  Values failures = {};
  std::string policy = {};  // file in agents/policies, with routing=policy
};

std::vector<Scene> scenes();
Scene scene_named(const std::string& name);  // throws ConfigError
Config config_of(const Scene& scene);

}  // namespace flitgym::bench
