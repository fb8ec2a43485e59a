// Stencil5D: exchanges the faces of a 5-D grid in two waves (SST ember as extended for SC'22, emberstencilNd.cc). It
// posts receives from all + neighbours and sends to each of them (blocking). It does the same with the - neighbours,
// and then waits for the receives. A + neighbour accepts a rendezvous message only after its own + sends, so the first
// wave starts at the far corner. On a periodic grid it would deadlock, so the grid is not periodic.
#include "simcore/workload/motif.hpp"
#include "workload/collectives/collectives.hpp"
#include "workload/motifs/process_grid.hpp"

namespace flitgym::workload::motifs::stencil5d {

constexpr u32 kDimensions = 5;

struct Stencil5d : GridLoop {
  u64 bytes = 0;
  bool reduce = false;

  void iteration(u32 rank, u64, Script& script) const override {
    script.compute(compute_ns);
    std::vector<Script::Request> requests;
    for (const i32 direction : {1, -1}) {
      std::vector<u32> neighbors;
      for (u32 d = 0; d < kDimensions; d++)
        if (const u32 other = grid.neighbor(rank, d, direction); other != kNone) neighbors.push_back(other);
      for (const u32 other : neighbors) requests.push_back(script.ireceive(other, bytes));
      for (const u32 other : neighbors) script.send(other, bytes);
    }
    script.wait_all(requests);
    if (reduce) allreduce(script, world(ranks, rank), 8, Algorithm::kTree, kCollectiveTags);
  }
};

std::shared_ptr<const Program> build(const Params& params, u32 ranks, double scale) {
  auto program = on_grid<Stencil5d>("stencil5d", params, ranks, scale, 528, kDimensions,
                                    [](u32 n) { return balanced_sizes(n, kDimensions); });
  program->bytes = static_cast<u64>(params.integer("bytes"));
  program->reduce = params.boolean("reduce");
  return program;
}

const Register<MotifSpec> registration{{
    .name = "stencil5d",
    .summary = "exchange of the faces of a 5-D grid: all + neighbours, then all - neighbours",
    .params =
        {
            grid_param("five sizes; empty = as equal as the prime factors allow (528: 2 x 2 x 3 x 4 x 11, 243: 3 x 3 x "
                       "3 x 3 x 3)"),
            integer("bytes", 2800000, 0, 1ll << 40, "B", "size of one face"),
            integer("iterations", 1, 1, 1 << 30, "", "number of iterations"),
            integer("compute_ns", 0, 0, 1ll << 50, "ns", "computation before each exchange"),
            flag("reduce", false, "end each iteration with an allreduce of 8 B over the binary tree"),
        },
    .build = build,
}};

}  // namespace flitgym::workload::motifs::stencil5d
