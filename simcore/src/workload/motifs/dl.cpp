// DL: allreduces of the gradients of a neural network, back to back (SC'22: Allreduce of SST ember with 144,000
// doubles).
#include "workload/motifs/repeated_collective.hpp"

namespace flitgym::workload::motifs::dl {

namespace {

std::vector<ParamSpec> params() {
  auto specs = repeated_collective_params(1152000, 8, 0, "size of the vector");
  specs.push_back(
      choice("algorithm", "tree", {"tree", "recursive_doubling", "ring", "binomial"}, "algorithm of the allreduce"));
  return specs;
}

std::shared_ptr<const Program> build(const Params& given, u32 ranks, double scale) {
  return repeated_collective(given, ranks ? ranks : 528, scale, Collective::kAllreduce, given.text("algorithm"));
}

const Register<MotifSpec> registration{{
    .name = "dl",
    .summary = "allreduces back to back, as in data-parallel training",
    .params = params(),
    .build = build,
}};

}  // namespace

}  // namespace flitgym::workload::motifs::dl
