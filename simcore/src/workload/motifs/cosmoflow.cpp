// CosmoFlow: training with 5.16 ms of computation before each allreduce (SC'22: Allreduce of SST ember with 140,750
// doubles).
#include "workload/motifs/repeated_collective.hpp"

namespace flitgym::workload::motifs::cosmoflow {

namespace {

std::vector<ParamSpec> params() {
  auto specs = repeated_collective_params(1126000, 2, 5160000, "size of the vector");
  specs.push_back(
      choice("algorithm", "tree", {"tree", "recursive_doubling", "ring", "binomial"}, "algorithm of the allreduce"));
  return specs;
}

std::shared_ptr<const Program> build(const Params& given, u32 ranks, double scale) {
  return repeated_collective(given, ranks ? ranks : 528, scale, Collective::kAllreduce, given.text("algorithm"));
}

const Register<MotifSpec> registration{{
    .name = "cosmoflow",
    .summary = "training: a long computation before each allreduce",
    .params = params(),
    .build = build,
}};

}  // namespace

}  // namespace flitgym::workload::motifs::cosmoflow
