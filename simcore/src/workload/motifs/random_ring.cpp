// The random ring of GPCNeT (Chunduri et al., "GPCNeT: Designing a Benchmark Suite for Inducing and Measuring
// Contention in HPC Networks", SC 2019; netbench/GPCNET, random_ring.c). In every iteration the ranks form another
// random ring, and each rank exchanges `window` messages with both neighbours. GPCNeT measures the latency of 8 bytes,
// and the bandwidth of 8 messages of 128 KiB with a barrier. It keeps a ring for 200 (latency) or 8 iterations.
#include "simcore/workload/motif.hpp"
#include "workload/collectives/collectives.hpp"
#include "workload/motifs/permutation.hpp"

namespace flitgym::workload::motifs::random_ring {

struct RandomRing : Loop {
  u64 bytes = 0, seed = 0;
  u32 window = 1;
  bool synchronise = false;

  void iteration(u32 rank, u64 index, Script& script) const override {
    const KeyedPermutation order(ranks, ranks + index + std::rotl(seed, 32));
    const u32 place = order(rank), left = order.inverse(place ? place - 1 : ranks - 1),
              right = order.inverse(place + 1 < ranks ? place + 1 : 0);
    if (synchronise) barrier(script, world(ranks, rank), Algorithm::kDissemination, kCollectiveTags);
    std::vector<Script::Request> requests;
    for (u32 m = 0; m < window; m++)
      for (const u32 peer : {left, right}) requests.push_back(script.ireceive(peer, bytes));
    for (u32 m = 0; m < window; m++)
      for (const u32 peer : {left, right}) requests.push_back(script.isend(peer, bytes));
    script.wait_all(requests);
  }
};

std::shared_ptr<const Program> build(const Params& params, u32 ranks, double scale) {
  auto program = repeated<RandomRing>(params, ranks ? ranks : 16, scale);
  program->bytes = static_cast<u64>(params.integer("bytes"));
  program->window = params.count("window");
  program->synchronise = params.boolean("barrier");
  program->seed = params.seed("ring_seed");
  return program;
}

const Register<MotifSpec> registration{{
    .name = "random_ring",
    .summary = "in every iteration the ranks exchange messages with both neighbours in a new random ring (GPCNeT)",
    .params =
        {
            integer("bytes", 8, 0, 1ll << 40, "B", "size of one message"),
            integer("window", 1, 1, 1 << 16, "", "number of messages to each neighbour at a time"),
            integer("iterations", 100, 1, 1 << 30, "", "number of rings"),
            flag("barrier", false, "barrier of zero-byte messages before each ring; without it fast ranks run ahead"),
            seed_of("the rings", "ring_seed"),
        },
    .build = build,
}};

}  // namespace flitgym::workload::motifs::random_ring
