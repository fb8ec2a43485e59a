// UR: in every iteration another random permutation of the ranks (SC'22: emberrandomgen.cc of SST ember, key = ranks +
// iteration). Each rank has one isend, one ireceive and a wait for both. A rank that is its own partner sends to itself
// inside its host. The study's code leaves such messages out (one in 588 with 528 ranks). The permutations differ from
// those of the study, which shuffles an array of all ranks with a separate generator. Here a permutation takes a few
// steps per rank.
#include "simcore/workload/motif.hpp"
#include "workload/motifs/permutation.hpp"

namespace flitgym::workload::motifs::ur {

struct UniformRandom : Loop {
  u64 bytes = 0, compute_ns = 0, seed = 0;

  void iteration(u32 rank, u64 index, Script& script) const override {
    script.compute(compute_ns);
    const KeyedPermutation partner(ranks, ranks + index + std::rotl(seed, 32));
    const auto sent = script.isend(partner(rank), bytes), received = script.ireceive(partner.inverse(rank), bytes);
    script.wait_all({sent, received});
  }
};

std::shared_ptr<const Program> build(const Params& params, u32 ranks, double scale) {
  auto program = repeated<UniformRandom>(params, ranks ? ranks : 528, scale);
  program->bytes = static_cast<u64>(params.integer("bytes"));
  program->compute_ns = static_cast<u64>(params.integer("compute_ns"));
  program->seed = params.seed("permutation_seed");
  return program;
}

const Register<MotifSpec> registration{{
    .name = "ur",
    .summary = "in every iteration a message to the partner in a new random permutation",
    .params =
        {
            integer("bytes", 3072, 0, 1ll << 40, "B", "size of one message"),
            integer("iterations", 7200, 1, 1 << 30, "", "number of iterations"),
            integer("compute_ns", 0, 0, 1ll << 50, "ns", "computation before each message"),
            seed_of("the permutations", "permutation_seed"),
        },
    .build = build,
}};

}  // namespace flitgym::workload::motifs::ur
