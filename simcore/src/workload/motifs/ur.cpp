// UR: every iteration another random permutation of the ranks (SC'22: SST ember's emberrandomgen.cc, key = ranks +
// iteration), one isend, one ireceive and a wait for both. A rank that is its own partner sends to itself, inside its
// host (the study's code leaves these out: one message in 588 of 528 ranks). The permutations are not those of the
// study, which shuffles an array of all ranks with a generator of its own: these take a few steps per rank.
#include "workload/motifs/motif.hpp"
#include "workload/motifs/permutation.hpp"

namespace flitgym::workload::motifs::ur {

namespace {

struct UniformRandom : Program {
  u64 iterations = 1, bytes = 0, compute_ns = 0, seed = 0;

  KeyedPermutation permutation(u64 index) const { return {ranks, ranks + index + (seed << 32)}; }

  u64 blocks(u32) const override { return iterations; }
  void block(u32 rank, u64 index, Block& out) const override {
    Script script(out);
    script.compute(compute_ns);
    const KeyedPermutation p = permutation(index);
    const auto sent = script.isend(p(rank), bytes), received = script.ireceive(p.inverse(rank), bytes);
    script.wait_all({sent, received});
  }
  u64 repeats(u32, u64 index) const override { return iterations - index; }
  std::string where(u32, u64 index, u32) const override { return "iteration " + std::to_string(index); }
};

std::shared_ptr<const Program> build(const Params& params, u32 ranks, double scale) {
  auto program = std::make_shared<UniformRandom>();
  program->ranks = ranks ? ranks : 528;
  program->iterations = scaled(params.count("iterations"), scale);
  program->bytes = static_cast<u64>(params.integer("bytes"));
  program->compute_ns = static_cast<u64>(params.integer("compute_ns"));
  program->seed = static_cast<u64>(params.integer("permutation_seed"));
  return program;
}

const Register<MotifSpec> registration{{
    .name = "ur",
    .summary = "every iteration a message to the partner in a new random permutation",
    .params =
        {
            integer("bytes", 3072, 0, 1ll << 40, "B", "of one message"),
            integer("iterations", 7200, 1, 1 << 30, "", ""),
            integer("compute_ns", 0, 0, 1ll << 50, "ns", "before each message"),
            integer("permutation_seed", 0, 0, 1ll << 31, "", "of the permutations, apart from the run's seed"),
        },
    .build = build,
}};

}  // namespace

}  // namespace flitgym::workload::motifs::ur
