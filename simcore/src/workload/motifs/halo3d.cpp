// Halo3D: exchanges the faces of a 3-D grid in x, then y, then z (SST ember, emberhalo3d.cc). In each dimension it
// posts two receives, makes two blocking sends, and waits for the receives.
#include "simcore/workload/motif.hpp"
#include "workload/collectives/collectives.hpp"
#include "workload/motifs/process_grid.hpp"

namespace flitgym::workload::motifs::halo3d {

struct Halo3d : GridLoop {
  u64 bytes = 0;
  bool reduce = false;

  void iteration(u32 rank, u64, Script& script) const override {
    script.compute(compute_ns);
    for (u32 d = 0; d < 3; d++) {
      // In a periodic dimension of two ranks, both messages have the same endpoints, so the tag is the direction of
      // travel.
      const u32 down = grid.neighbor(rank, d, -1), up = grid.neighbor(rank, d, 1);
      std::vector<Script::Request> requests;
      if (down != kNone) requests.push_back(script.ireceive(down, bytes, 1));
      if (up != kNone) requests.push_back(script.ireceive(up, bytes, 0));
      if (down != kNone) script.send(down, bytes, 0);
      if (up != kNone) script.send(up, bytes, 1);
      script.wait_all(requests);
    }
    if (reduce) allreduce(script, world(ranks, rank), 8, Algorithm::kTree, kCollectiveTags);
  }
};

// Factors of the ranks with the least variance (the last of equal ones), in the arithmetic of emberhalo3d.cc: unsigned
// 32-bit integers and a mean that is rounded down. As there, the number of ranks itself is a factor only in the initial
// triple.
std::vector<u32> least_variance(u32 ranks) {
  const auto variance = [](u32 a, u32 b, u32 c) {
    const u32 mean = (a + b + c) / 3;
    return (a * a + b * b + c * c) / 3 - mean * mean;
  };
  std::vector<u32> divisors;  // in ascending order, without the number itself
  for (u32 i = 1; i < ranks; i++, worked())
    if (ranks % i == 0) divisors.push_back(i);
  std::vector<u32> best{ranks, 1, 1};
  u32 least = variance(ranks, 1, 1);
  for (const u32 i : divisors) {
    for (const u32 j : divisors) {
      if (ranks / i % j != 0) continue;
      const u32 k = ranks / i / j, v = variance(i, j, k);
      if (k == ranks || v > least) continue;
      best = {i, j, k};
      least = v;
    }
  }
  return best;
}

std::shared_ptr<const Program> build(const Params& params, u32 ranks, double scale) {
  auto program = on_grid<Halo3d>("halo3d", params, ranks, scale, 528, 3, least_variance);
  program->grid.periodic = params.boolean("periodic");
  program->bytes = static_cast<u64>(params.integer("bytes"));
  program->reduce = params.boolean("reduce");
  return program;
}

const Register<MotifSpec> registration{{
    .name = "halo3d",
    .summary = "exchange of the faces of a 3-D grid, one dimension after the other",
    .params =
        {
            grid_param("px, py, pz; empty = the factors of the ranks with the least variance (528: 11 x 8 x 6)"),
            integer("bytes", 576000, 0, 1ll << 40, "B", "size of one face"),
            integer("iterations", 30, 1, 1 << 30, "", "number of iterations"),
            integer("compute_ns", 0, 0, 1ll << 50, "ns", "computation before each exchange"),
            flag("periodic", false, "opposite sides of the grid are neighbours"),
            flag("reduce", false, "end each iteration with an allreduce of 8 B over the binary tree"),
        },
    .build = build,
}};

}  // namespace flitgym::workload::motifs::halo3d
