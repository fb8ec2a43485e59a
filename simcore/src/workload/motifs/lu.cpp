// LU: wavefronts of the NAS benchmark on a 2-D grid (SST ember, embernaslu.cc). A sweep starts at corner (0, 0) and has
// nz / nzblock steps: receive from x-, receive from y-, compute, send to x+, send to y+, all blocking. A second sweep
// returns from the opposite corner.
#include "simcore/workload/motif.hpp"
#include "workload/motifs/process_grid.hpp"

namespace flitgym::workload::motifs::lu {

struct Lu : GridLoop {
  u32 steps = 0;
  u64 x_bytes = 0, y_bytes = 0;

  void iteration(u32 rank, u64, Script& script) const override {
    for (const i32 direction : {1, -1})
      sweep(script, grid, rank, direction, {steps, x_bytes, y_bytes, compute_ns}, direction > 0 ? 1000 : 3000);
  }
};

std::shared_ptr<const Program> build(const Params& params, u32 ranks, double scale) {
  auto program = on_grid<Lu>("lu", params, ranks, scale, 528, 2, near_square);
  const u32 nz = params.count("nz"), block = params.count("nzblock");
  if (nz % block != 0) throw ConfigError("motif.lu.nzblock: ", block, " does not divide nz = ", nz);
  program->steps = nz / block;
  program->x_bytes = u64{params.count("nx")} * block;  // the motif counts bytes, not doubles
  program->y_bytes = u64{params.count("ny")} * block;
  return program;
}

const Register<MotifSpec> registration{{
    .name = "lu",
    .summary = "wavefronts across a 2-D grid and back",
    .params =
        {
            grid_param("px, py; empty = closest to a square, with px <= py (528: 22 x 24, 140: 10 x 14)"),
            integer("nx", 1500, 1, 1 << 24, "", "grid points; a message in x has nx * nzblock bytes"),
            integer("ny", 1500, 1, 1 << 24, "", "grid points; a message in y has ny * nzblock bytes"),
            integer("nz", 1500, 1, 1 << 24, "", "grid points; a sweep has nz / nzblock steps"),
            integer("nzblock", 10, 1, 1 << 24, "", "planes per step; must divide nz"),
            integer("iterations", 3, 1, 1 << 30, "", "number of iterations, of two sweeps each"),
            integer("compute_ns", 1, 0, 1ll << 50, "ns", "computation in each step"),
        },
    .build = build,
}};

}  // namespace flitgym::workload::motifs::lu
