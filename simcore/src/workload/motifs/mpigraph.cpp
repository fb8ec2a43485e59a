// mpiGraph (LLNL, mpiGraph.c) measures the bandwidth of every pair of ranks while all ranks send. Rounds are k = 1, 2,
// ..., ranks - 1. In round k every rank sends a window of messages to rank + k and receives one from rank - k (modulo
// the number of ranks). A barrier before each round separates the messages of the rounds.
#include "simcore/workload/motif.hpp"
#include "workload/collectives/collectives.hpp"

namespace flitgym::workload::motifs::mpigraph {

struct MpiGraph : Program {
  u64 bytes = 0, iterations = 1;
  u32 window = 1, step = 1;
  bool synchronise = true;

  u64 rounds() const { return ranks > 1 ? (ranks - 2) / step + 1 : 0; }
  u32 shift(u64 index) const { return 1 + static_cast<u32>(index % rounds()) * step; }

  u64 blocks(u32) const override { return rounds() * iterations; }
  void block(u32 rank, u64 index, Block& out) const override {
    Script script(out);
    const u32 k = shift(index), to = static_cast<u32>((u64{rank} + k) % ranks),
              from = static_cast<u32>((u64{rank} + ranks - k) % ranks);
    if (synchronise) barrier(script, world(ranks, rank), Algorithm::kDissemination, kCollectiveTags);
    std::vector<Script::Request> requests;
    for (u32 m = 0; m < window; m++) requests.push_back(script.ireceive(from, bytes));
    for (u32 m = 0; m < window; m++) requests.push_back(script.isend(to, bytes));
    script.wait_all(requests);
  }
  u64 repeats(u32, u64 index) const override { return blocks(0) - index; }
  std::string where(u32, u64 index, u32) const override { return "shift by " + std::to_string(shift(index)); }
};

std::shared_ptr<const Program> build(const Params& params, u32 ranks, double scale) {
  auto program = repeated<MpiGraph>(params, ranks ? ranks : 28, scale);
  program->bytes = static_cast<u64>(params.integer("bytes"));
  program->window = params.count("window");
  program->step = params.count("shift_step");
  program->synchronise = params.boolean("barrier");
  return program;
}

const Register<MotifSpec> registration{{
    .name = "mpigraph",
    .summary = "bandwidth of every pair: every rank sends to rank + k, for k = 1 to ranks - 1",
    .params =
        {
            integer("bytes", 1048576, 0, 1ll << 40, "B", "size of one message"),
            integer("window", 1, 1, 1 << 16, "", "number of messages to the same rank at a time"),
            integer("shift_step", 1, 1, 1 << 24, "", "increment of k; above 1 only a sample of the pairs is measured"),
            integer("iterations", 1, 1, 1 << 30, "", "repetitions of all rounds"),
            flag("barrier", true, "barrier of zero-byte messages before each round; without it fast ranks run ahead"),
        },
    .build = build,
}};

}  // namespace flitgym::workload::motifs::mpigraph
