// A program in which every iteration is one block, the same in all iterations.
#pragma once

#include "simcore/workload/script.hpp"

namespace flitgym::workload {

struct Loop : Program {
  u64 iterations = 1;

  virtual void iteration(u32 rank, Script& script) const = 0;

  u64 blocks(u32) const override { return iterations; }
  void block(u32 rank, u64, Block& out) const override {
    Script script(out);
    iteration(rank, script);
  }
  u64 repeats(u32, u64 index) const override { return iterations - index; }
  std::string where(u32, u64 index, u32) const override { return "iteration " + std::to_string(index); }
};

}  // namespace flitgym::workload
