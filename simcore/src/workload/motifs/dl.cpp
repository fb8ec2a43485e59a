// Training with an allreduce of the gradients per step, as in SC'22 (Allreduce of SST ember).
//
//   dl         144,000 doubles, back to back
//   cosmoflow  140,750 doubles, after 5.16 ms of computation
#include "workload/motifs/repeated_collective.hpp"

namespace flitgym::workload::motifs::dl {

std::vector<ParamSpec> params(i64 bytes, i64 iterations, i64 compute_ns) {
  auto specs = repeated_collective_params(bytes, iterations, compute_ns, "size of the vector");
  specs.push_back(
      choice("algorithm", "tree", {"tree", "recursive_doubling", "ring", "binomial"}, "algorithm of the allreduce"));
  return specs;
}

std::shared_ptr<const Program> build(const Params& given, u32 ranks, double scale) {
  return repeated_collective(given, ranks ? ranks : 528, scale, Collective::kAllreduce, given.text("algorithm"));
}

const Register<MotifSpec> dl{{
    .name = "dl",
    .summary = "allreduces back to back, as in data-parallel training",
    .params = params(1152000, 8, 0),
    .build = build,
}};
const Register<MotifSpec> cosmoflow{{
    .name = "cosmoflow",
    .summary = "training: a long computation before each allreduce",
    .params = params(1126000, 2, 5160000),
    .build = build,
}};

}  // namespace flitgym::workload::motifs::dl
