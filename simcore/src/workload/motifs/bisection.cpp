// Random bisections, as in measurements of effective bisection bandwidth (Hoefler, Schneider, Lumsdaine, "Multistage
// switches are not crossbars", Cluster 2008, and pattern `bisect` of ORCS). In every iteration the ranks are put in a
// random order, and each rank at an even position sends to the next one. No rank sends or receives twice, so messages
// wait only in the network.
#include "simcore/workload/motif.hpp"
#include "workload/collectives/collectives.hpp"
#include "workload/motifs/permutation.hpp"

namespace flitgym::workload::motifs::bisection {

struct Bisection : Loop {
  u64 bytes = 0, seed = 0;
  bool both = false;

  u64 repeats(u32, u64) const override { return 1; }  // a rank sends in some iterations and receives in others
  void iteration(u32 rank, u64 index, Script& script) const override {
    const KeyedPermutation order(ranks, ranks + index + std::rotl(seed, 32));
    barrier(script, world(ranks, rank), Algorithm::kDissemination, kCollectiveTags);
    const u32 place = order(rank);
    if ((place ^ 1) >= ranks) return;  // one rank is idle if their number is odd
    const u32 partner = order.inverse(place ^ 1);
    std::vector<Script::Request> requests;
    if (both || place % 2 == 1) requests.push_back(script.ireceive(partner, bytes));
    if (both || place % 2 == 0) requests.push_back(script.isend(partner, bytes));
    script.wait_all(requests);
  }
};

std::shared_ptr<const Program> build(const Params& params, u32 ranks, double scale) {
  auto program = repeated<Bisection>(params, ranks ? ranks : 16, scale);
  program->bytes = static_cast<u64>(params.integer("bytes"));
  program->seed = params.seed("permutation_seed");
  program->both = params.boolean("both");
  return program;
}

const Register<MotifSpec> registration{{
    .name = "bisection",
    .summary =
        "in every iteration, after a barrier, one half of the ranks sends to the other half, in new random pairs",
    .params =
        {
            integer("bytes", 1048576, 0, 1ll << 40, "B", "size of one message"),
            integer("iterations", 100, 1, 1 << 30, "", "number of patterns"),
            flag("both", false, "the partner sends as well"),
            seed_of("the pairs of every iteration", "permutation_seed"),
        },
    .build = build,
}};

}  // namespace flitgym::workload::motifs::bisection
