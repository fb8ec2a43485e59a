// Any collective with any of its algorithms, to study the building blocks of motifs.
#include "workload/motifs/repeated_collective.hpp"

namespace flitgym::workload::motifs::collective {

namespace {

std::vector<ParamSpec> params() {
  auto specs =
      repeated_collective_params(8, 1, 0,
                                 "size of the vector (bcast, reduce, allreduce, reduce_scatter), of one rank's "
                                 "share (allgather), of one pair (alltoall), of one message (barrier)");
  specs.push_back(choice("collective", "allreduce", collective_names(), "operation to repeat"));
  specs.push_back(choice(
      "algorithm", "", {},
      "algorithm of the collective; empty = the first one listed. barrier: tree, dissemination, binomial, linear; "
      "bcast, reduce: tree, binomial, linear; allreduce: tree, recursive_doubling, ring, binomial; allgather: ring, "
      "dissemination, linear; reduce_scatter: ring, pairwise; alltoall: pairwise, linear"));
  return specs;
}

std::shared_ptr<const Program> build(const Params& given, u32 ranks, double scale) {
  const Collective which = collective_named(given.text("collective"));
  const auto& valid = algorithms(which);
  const std::string& algorithm = given.text("algorithm").empty() ? name(valid.front()) : given.text("algorithm");
  std::vector<std::string> words;
  for (const Algorithm a : valid) words.push_back(name(a));
  if (std::find(words.begin(), words.end(), algorithm) == words.end())
    throw ConfigError("motif.collective.algorithm: '" + algorithm + "' does not exist for " + name(which) +
                      did_you_mean(algorithm, words) + "; valid values: " + join(words));
  return repeated_collective(given, ranks ? ranks : 16, scale, which, algorithm);
}

const Register<MotifSpec> registration{{
    .name = "collective",
    .summary = "one collective repeated, by any of its algorithms",
    .params = params(),
    .build = build,
}};

}  // namespace

}  // namespace flitgym::workload::motifs::collective
