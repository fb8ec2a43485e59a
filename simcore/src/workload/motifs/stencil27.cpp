// Stencil27 (SC'19): a 27-point stencil on a 3-D grid. An iteration has a computation, an exchange with up to 26
// neighbours, and a dissemination collective of all ranks. Either of the last two may be left out. A cubic subdomain of
// n x n x n doubles sends 8 n^2 bytes across a face, 8 n across an edge and 8 across a corner. Inside the grid this
// adds up to 48 n^2 + 96 n + 64.
#include "simcore/workload/motif.hpp"
#include "workload/collectives/collectives.hpp"
#include "workload/motifs/process_grid.hpp"

namespace flitgym::workload::motifs::stencil27 {

struct Stencil27 : GridLoop {
  u64 bytes[4] = {};  // to a neighbour that differs in this number of dimensions
  u64 collective_bytes = 0;
  bool halo = true, collective = true;

  void iteration(u32 rank, u64, Script& script) const override {
    script.compute(compute_ns);
    if (halo) exchange(rank, script);
    if (collective) barrier(script, world(ranks, rank), Algorithm::kDissemination, kCollectiveTags, collective_bytes);
  }

  // Ends when all messages have arrived, regardless of the sends. The tag of a message is its direction of travel,
  // because in a small periodic grid the same neighbour appears on several sides.
  void exchange(u32 rank, Script& script) const {
    struct Side {
      u32 neighbor;
      u64 bytes;
      i32 direction;
    };
    std::vector<Side> sides;
    for (i32 direction = 0; direction < 27; direction++) {
      const std::vector<i32> steps{direction % 3 - 1, direction / 3 % 3 - 1, direction / 9 - 1};
      const u32 other = grid.neighbor(rank, steps);
      if (other != kNone) sides.push_back({other, bytes[3 - std::count(steps.begin(), steps.end(), 0)], direction});
    }
    std::vector<Script::Request> receives;
    for (const Side& side : sides) receives.push_back(script.ireceive(side.neighbor, side.bytes, 26 - side.direction));
    for (const Side& side : sides) script.isend(side.neighbor, side.bytes, side.direction);
    script.wait_all(receives);
  }
};

std::shared_ptr<const Program> build(const Params& params, u32 ranks, double scale) {
  auto program =
      on_grid<Stencil27>("stencil27", params, ranks, scale, 4096, 3, [](u32 n) { return balanced_sizes(n, 3); });
  program->grid.periodic = params.boolean("periodic");
  program->halo = params.text("phase") != "collective";
  program->collective = params.text("phase") != "halo";
  const u64 n = params.count("n");
  u64 size = 8 * n * n;
  for (const u32 differ : {1u, 2u, 3u}) {
    const char* key[] = {"", "face_bytes", "edge_bytes", "corner_bytes"};
    const auto given = static_cast<u64>(params.integer(key[differ]));
    program->bytes[differ] = given ? given : size;
    size /= n;
  }
  program->collective_bytes = static_cast<u64>(params.integer("collective_bytes"));
  return program;
}

const Register<MotifSpec> registration{{
    .name = "stencil27",
    .summary = "exchange with 26 neighbours of a 3-D grid, then a dissemination collective",
    .params =
        {
            grid_param("px, py, pz; empty = as equal as the prime factors allow (4096: 16 x 16 x 16)"),
            flag("periodic", false, "opposite sides of the grid are neighbours"),
            choice("phase", "both", {"collective", "halo", "both"}, "parts of an iteration besides its computation"),
            integer("iterations", 4, 1, 1 << 30, "", "number of iterations"),
            integer("n", 45, 1, 1 << 20, "cells",
                    "side of a rank's cubic subdomain (45: 101,584 B per iteration, closest to 100 kB)"),
            integer("face_bytes", 0, 0, 1ll << 40, "B", "size of a message across a face; 0 = 8 n^2"),
            integer("edge_bytes", 0, 0, 1ll << 40, "B", "size of a message across an edge; 0 = 8 n"),
            integer("corner_bytes", 0, 0, 1ll << 40, "B", "size of a message across a corner; 0 = 8"),
            integer("collective_bytes", 8, 0, 1ll << 40, "B", "size of a message of the collective"),
            integer("compute_ns", 0, 0, 1ll << 50, "ns", "computation before each exchange"),
        },
    .build = build,
}};

}  // namespace flitgym::workload::motifs::stencil27
