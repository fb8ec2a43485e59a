// Any collective with any of its algorithms, to study the building blocks of motifs.
#include "workload/motifs/repeated_collective.hpp"

namespace flitgym::workload::motifs::collective {

// "barrier: tree, dissemination; bcast: ..."
std::string every_algorithm() {
  std::string text;
  for (const std::string& which : collective_names()) {
    std::vector<std::string> words;
    for (const Algorithm a : algorithms(collective_named(which))) words.push_back(name(a));
    text += (text.empty() ? "" : "; ") + which + ": " + join(words);
  }
  return text;
}

std::vector<ParamSpec> params() {
  auto specs =
      repeated_collective_params(8, 1, 0,
                                 "size of the vector (bcast, reduce, allreduce, reduce_scatter), of one rank's "
                                 "share (allgather), of one pair (alltoall), of one message (barrier)");
  specs.push_back(choice("collective", "allreduce", collective_names(), "operation to repeat"));
  specs.push_back(choice("algorithm", "", {},
                         "algorithm of the collective; empty = the first one listed; auto = by bytes and ranks, as "
                         "MPI libraries choose. " +
                             every_algorithm()));
  specs.push_back(integer("chunk_bytes", 0, 0, 1ll << 40, "B",
                          "size of the chunks into which rings and trees cut their messages, so that several steps "
                          "overlap; 0 = whole messages"));
  specs.push_back(integer("channels", 1, 1, kMostChannels, "",
                          "parts of the data that are sent at the same time, each in another order of the ranks"));
  specs.push_back(integer("ranks_per_node", 1, 1, 1 << 20, "",
                          "successive ranks that share a node, for algorithm=hierarchical and for channels"));
  return specs;
}

std::shared_ptr<const Program> build(const Params& given, u32 ranks, double scale) {
  const Collective which = collective_named(given.text("collective"));
  const auto& valid = algorithms(which);
  const std::string& algorithm = given.text("algorithm").empty() ? name(valid.front()) : given.text("algorithm");
  std::vector<std::string> words;
  for (const Algorithm a : valid) words.push_back(name(a));
  words.push_back(name(Algorithm::kAuto));
  if (std::find(words.begin(), words.end(), algorithm) == words.end())
    throw ConfigError("motif.collective.algorithm: '" + algorithm + "' does not exist for " + name(which) +
                      did_you_mean(algorithm, words) + "; valid values: " + join(words));
  auto program = repeated_collective(given, ranks ? ranks : 16, scale, which, algorithm);
  program->pipelining = {static_cast<u64>(given.integer("chunk_bytes")), given.count("channels")};
  program->ranks_per_node = given.count("ranks_per_node");
  if (program->ranks % program->ranks_per_node != 0)
    throw ConfigError("motif.collective.ranks_per_node: " + std::to_string(program->ranks) +
                      " ranks do not make up whole nodes of " + std::to_string(program->ranks_per_node) +
                      " ranks; use a divisor of " + std::to_string(program->ranks));
  return program;
}

const Register<MotifSpec> registration{{
    .name = "collective",
    .summary = "one collective repeated, by any of its algorithms",
    .params = params(),
    .build = build,
}};

}  // namespace flitgym::workload::motifs::collective
