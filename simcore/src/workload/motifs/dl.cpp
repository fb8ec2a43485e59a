// DL: the gradients of a network, allreduced back to back (SC'22: SST ember's Allreduce with 144,000 doubles).
#include "workload/motifs/repeated_collective.hpp"

namespace flitgym::workload::motifs::dl {

namespace {

std::vector<ParamSpec> params() {
  auto specs = repeated_collective_params(1152000, 8, 0, "of the vector");
  specs.push_back(choice("algorithm", "tree", {"tree", "recursive_doubling", "ring", "binomial"}, "of the allreduce"));
  return specs;
}

std::shared_ptr<const Program> build(const Params& given, u32 ranks, double scale) {
  return repeated_collective(given, ranks ? ranks : 528, scale, Collective::kAllreduce, given.text("algorithm"));
}

const Register<MotifSpec> registration{{
    .name = "dl",
    .summary = "allreduce after allreduce, as data-parallel training does",
    .params = params(),
    .build = build,
}};

}  // namespace

}  // namespace flitgym::workload::motifs::dl
