// Programs for tests: stored blocks, and registered motifs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "simcore/error.hpp"
#include "simcore/registry.hpp"
#include "workload/collectives/collectives.hpp"

namespace testing {

using namespace flitgym;

inline std::shared_ptr<const Program> motif(const std::string& name, u32 ranks, const Values& values = {},
                                            double scale = 1) {
  const auto found = registry<MotifSpec>().find(name);
  if (found == registry<MotifSpec>().end()) throw ConfigError("no motif " + name);
  return found->second.build(Params("motif." + name, found->second.params, values, 0), ranks, scale);
}

// A program with one stored block per rank.
struct Scripted : Program {
  std::vector<Block> of;
  u64 blocks(u32) const override { return 1; }
  void block(u32 rank, u64, Block& out) const override { out = of[rank]; }
};

inline Scripted written(u32 ranks, const std::function<void(workload::Script&, const workload::Communicator&)>& body) {
  Scripted program;
  program.ranks = ranks;
  program.of.resize(ranks);
  for (u32 rank = 0; rank < ranks; rank++) {
    workload::Script script(program.of[rank]);
    body(script, workload::world(ranks, rank));
  }
  return program;
}

}  // namespace testing
