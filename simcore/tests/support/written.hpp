// A program from explicit blocks.
#pragma once

#include <string>
#include <vector>

#include "simcore/program.hpp"

namespace testing {

using namespace flitgym;

// A program that stores the blocks of every rank.
struct Written : Program {
  std::vector<std::vector<Block>> of;
  explicit Written(u32 count) : of(count) { ranks = count; }
  u64 blocks(u32 rank) const override { return of[rank].size(); }
  void block(u32 rank, u64 index, Block& out) const override { out = of[rank][index]; }
  std::string where(u32, u64, u32 op) const override { return "line " + std::to_string(op + 1); }
};

}  // namespace testing
