// Repeats a computation and one collective of all ranks. Base of the motifs dl, cosmoflow and collective.
#pragma once

#include "simcore/workload/motif.hpp"
#include "workload/collectives/collectives.hpp"

namespace flitgym::workload {

struct RepeatedCollective : Loop {
  Collective which = Collective::kAllreduce;
  Algorithm algorithm = Algorithm::kTree;
  u64 bytes = 0, compute_ns = 0;
  Pipelining pipelining;
  u32 ranks_per_node = 1;

  void iteration(u32 rank, Script& script) const override {
    script.compute(compute_ns);
    Communicator all = world(ranks, rank);
    all.ranks_per_node = ranks_per_node;
    collective(script, all, which, bytes, algorithm, 0, pipelining);
  }
};

inline std::vector<ParamSpec> repeated_collective_params(i64 bytes, i64 iterations, i64 compute_ns,
                                                         const std::string& what) {
  return {
      integer("bytes", bytes, 0, 1ll << 40, "B", what),
      integer("iterations", iterations, 1, 1 << 30, "", "number of iterations"),
      integer("compute_ns", compute_ns, 0, 1ll << 50, "ns", "computation before each collective"),
  };
}

inline std::shared_ptr<RepeatedCollective> repeated_collective(const Params& params, u32 ranks, double scale,
                                                               Collective which, const std::string& algorithm) {
  auto program = repeated<RepeatedCollective>(params, ranks, scale);
  program->which = which;
  program->algorithm = algorithm_named(algorithm);
  program->bytes = static_cast<u64>(params.integer("bytes"));
  program->compute_ns = static_cast<u64>(params.integer("compute_ns"));
  return program;
}

}  // namespace flitgym::workload
