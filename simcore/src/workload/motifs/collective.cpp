// Motifs that repeat a computation and one collective of all ranks.
//
//   collective  any collective with any of its algorithms, to study the building blocks of motifs
//   dl          training with an allreduce of the gradients per step, as in SC'22 (Allreduce of SST ember): 144,000
//               doubles, back to back
//   cosmoflow   the same with 140,750 doubles, after 5.16 ms of computation
#include "simcore/workload/motif.hpp"
#include "workload/collectives/collectives.hpp"

namespace flitgym::workload::motifs::collective {

struct RepeatedCollective : Loop {
  Collective which = Collective::kAllreduce;
  Algorithm algorithm = Algorithm::kTree;
  u64 bytes = 0, compute_ns = 0;
  Pipelining pipelining;
  u32 ranks_per_node = 1;

  void iteration(u32 rank, u64, Script& script) const override {
    script.compute(compute_ns);
    Communicator all = world(ranks, rank);
    all.ranks_per_node = ranks_per_node;
    workload::collective(script, all, which, bytes, algorithm, 0, pipelining);
  }
};

std::vector<ParamSpec> repeated_collective_params(i64 bytes, i64 iterations, i64 compute_ns, const std::string& what) {
  return {
      integer("bytes", bytes, 0, 1ll << 40, "B", what),
      integer("iterations", iterations, 1, 1 << 30, "", "number of iterations"),
      integer("compute_ns", compute_ns, 0, 1ll << 50, "ns", "computation before each collective"),
  };
}

std::shared_ptr<RepeatedCollective> repeated_collective(const Params& params, u32 ranks, double scale, Collective which,
                                                        Algorithm algorithm) {
  auto program = repeated<RepeatedCollective>(params, ranks, scale);
  program->which = which;
  program->algorithm = algorithm;
  program->bytes = static_cast<u64>(params.integer("bytes"));
  program->compute_ns = static_cast<u64>(params.integer("compute_ns"));
  return program;
}

// "barrier: tree, dissemination; bcast: ..."
std::string every_algorithm() {
  std::string text;
  for (const std::string& which : collective_names())
    text += (text.empty() ? "" : "; ") + which + ": " + algorithms_of(collective_named(which));
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
  const std::string where = "motif.collective.algorithm";
  const std::string& text = given.text("algorithm");
  const Algorithm algorithm = text.empty() ? algorithms(which).front() : algorithm_named(text, where);
  if (algorithm != Algorithm::kAuto) check_algorithm(where, which, algorithm);
  auto program = repeated_collective(given, ranks ? ranks : 16, scale, which, algorithm);
  program->pipelining = {static_cast<u64>(given.integer("chunk_bytes")), given.count("channels")};
  program->ranks_per_node = given.count("ranks_per_node");
  if (program->ranks % program->ranks_per_node != 0)
    throw ConfigError("motif.collective.ranks_per_node: ", program->ranks, " ranks do not make up whole nodes of ",
                      program->ranks_per_node, " ranks; use a divisor of ", program->ranks);
  return program;
}

const Register<MotifSpec> registration{{
    .name = "collective",
    .summary = "one collective repeated, by any of its algorithms",
    .params = params(),
    .build = build,
}};

std::vector<ParamSpec> training_params(i64 bytes, i64 iterations, i64 compute_ns) {
  auto specs = repeated_collective_params(bytes, iterations, compute_ns, "size of the vector");
  specs.push_back(
      choice("algorithm", "tree", {"tree", "recursive_doubling", "ring", "binomial"}, "algorithm of the allreduce"));
  return specs;
}

std::shared_ptr<const Program> build_training(const Params& given, u32 ranks, double scale) {
  return repeated_collective(given, ranks ? ranks : 528, scale, Collective::kAllreduce,
                             algorithm_named(given.text("algorithm")));
}

const Register<MotifSpec> dl{{
    .name = "dl",
    .summary = "allreduces back to back, as in data-parallel training",
    .params = training_params(1152000, 8, 0),
    .build = build_training,
}};
const Register<MotifSpec> cosmoflow{{
    .name = "cosmoflow",
    .summary = "training: a long computation before each allreduce",
    .params = training_params(1126000, 2, 5160000),
    .build = build_training,
}};

}  // namespace flitgym::workload::motifs::collective
