// Programs for tests: stored blocks, and registered motifs.
#pragma once

#include <functional>

#include "simcore/registry.hpp"
#include "workload/collectives/collectives.hpp"

namespace testing {

using namespace flitgym;

inline std::shared_ptr<const Program> motif(const std::string& name, u32 ranks = 0, const Values& values = {},
                                            double scale = 1) {
  const auto found = registry<MotifSpec>().find(name);
  if (found == registry<MotifSpec>().end()) throw ConfigError("no motif " + name);
  return found->second.build(Params("motif." + name, found->second.params, values, 0), ranks, scale);
}

inline Block block_of(const Program& program, u32 rank, u64 index = 0) {
  Block block;
  program.block(rank, index, block);
  return block;
}

// A program that stores the blocks of every rank.
struct Written : Program {
  std::vector<std::vector<Block>> of;
  explicit Written(u32 count) : of(count) { ranks = count; }
  u64 blocks(u32 rank) const override { return of[rank].size(); }
  void block(u32 rank, u64 index, Block& out) const override { out = of[rank][index]; }
  std::string where(u32, u64, u32 op) const override { return "line " + std::to_string(op + 1); }
};

// A program of one block per rank.
inline Written written(u32 ranks, const std::function<void(workload::Script&, const workload::Communicator&)>& body) {
  Written program(ranks);
  for (u32 rank = 0; rank < ranks; rank++) {
    program.of[rank].resize(1);
    workload::Script script(program.of[rank][0]);
    body(script, workload::world(ranks, rank));
  }
  return program;
}

}  // namespace testing
