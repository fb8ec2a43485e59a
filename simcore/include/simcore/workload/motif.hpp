// Helper functions of the motifs.
#pragma once

#include "simcore/registry.hpp"
#include "simcore/workload/script.hpp"

namespace flitgym::workload {

// Multiplies a number of iterations by `scale`; at least one remains. The result is at most 2^30 x 10^6, which fits in
// 64 bits.
inline u64 scaled(u32 iterations, double scale) {
  return std::max<u64>(1, static_cast<u64>(std::llround(iterations * scale)));
}

// A program in which every iteration is one block, with the same number of messages in all iterations.
struct Loop : Program {
  u64 iterations = 1;

  virtual void iteration(u32 rank, u64 index, Script& script) const = 0;

  u64 blocks(u32) const override { return iterations; }
  void block(u32 rank, u64 index, Block& out) const override {
    Script script(out);
    iteration(rank, index, script);
  }
  u64 repeats(u32, u64 index) const override { return iterations - index; }
  std::string where(u32, u64 index, u32) const override { return "iteration " + std::to_string(index); }
};

// A program of the given type. Sets its ranks, and its iterations from the parameter of this name.
template <class T>
std::shared_ptr<T> repeated(const Params& params, u32 ranks, double scale) {
  auto program = std::make_shared<T>();
  program->ranks = ranks;
  program->iterations = scaled(params.count("iterations"), scale);
  return program;
}

}  // namespace flitgym::workload
