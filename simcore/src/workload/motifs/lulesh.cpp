// LULESH as in SC'22 (emberlulesh.cc). An iteration has a small bcast and a small reduce over the binary tree, and an
// exchange with all 26 neighbours of a 3-D grid. One sweep across a 2-D grid of the same ranks follows, from corner (0,
// 0).
#include "simcore/workload/motif.hpp"
#include "workload/collectives/collectives.hpp"
#include "workload/motifs/process_grid.hpp"

namespace flitgym::workload::motifs::lulesh {

// In the order of the motif: faces, edges, corners.
// clang-format off
constexpr i32 kNeighbors[26][3] = {
    {-1, 0, 0},  {1, 0, 0},   {0, -1, 0},   {0, 1, 0},   {0, 0, -1}, {0, 0, 1},
    {-1, -1, 0}, {0, -1, -1}, {1, -1, 0},   {0, -1, 1},  {-1, 0, 1}, {1, 0, 1},
    {-1, 0, -1}, {1, 0, -1},  {-1, 1, 0},   {0, 1, 1},   {1, 1, 0},  {0, 1, -1},
    {-1, -1, 1}, {1, -1, 1},  {-1, -1, -1}, {1, -1, -1}, {-1, 1, 1}, {1, 1, 1}, {-1, 1, -1}, {1, 1, -1}};
// clang-format on

struct Lulesh : GridLoop {
  ProcessGrid plane;
  u64 collective_bytes = 0, bytes = 0, sweep_bytes = 0;
  u32 slices = 0;

  void iteration(u32 rank, u64, Script& script) const override {
    const Communicator all = world(ranks, rank);
    bcast(script, all, 0, collective_bytes, Algorithm::kTree, kCollectiveTags);
    script.compute(compute_ns);
    reduce(script, all, 0, collective_bytes, Algorithm::kTree, 2 * kCollectiveTags);
    script.compute(compute_ns);

    std::vector<u32> neighbors;
    for (const auto& n : kNeighbors)
      if (const u32 other = grid.neighbor(rank, {n[0], n[1], n[2]}); other != kNone) neighbors.push_back(other);
    std::vector<Script::Request> requests;
    for (const u32 other : neighbors) requests.push_back(script.ireceive(other, bytes));
    for (const u32 other : neighbors) requests.push_back(script.isend(other, bytes));
    script.wait_all(requests);
    script.compute(compute_ns);

    sweep(script, plane, rank, 1, {slices, sweep_bytes, sweep_bytes, 0}, 1000);
    script.compute(compute_ns);
  }
};

std::shared_ptr<const Program> build(const Params& params, u32 ranks, double scale) {
  auto program = on_grid<Lulesh>("lulesh", params, ranks, scale, 512, 3, [](u32 n) { return balanced_sizes(n, 3); });
  program->plane = process_grid("lulesh", params, program->ranks, 512, 2, near_square, "sweep_grid");
  program->collective_bytes = static_cast<u64>(params.integer("collective_bytes"));
  program->bytes = static_cast<u64>(params.integer("bytes"));
  program->sweep_bytes = static_cast<u64>(params.integer("sweep_bytes"));
  program->slices = params.count("slices");
  return program;
}

const Register<MotifSpec> registration{{
    .name = "lulesh",
    .summary = "bcast, reduce, 26 neighbours of a 3-D grid, a sweep across a 2-D grid",
    .params =
        {
            grid_param("px, py, pz of the exchange; empty = as equal as the prime factors allow (512: 8 x 8 x 8)"),
            integer_list("sweep_grid", {}, 1, 1 << 24, "ranks",
                         "px, py of the sweep; empty = closest to a square, with px <= py (512: 16 x 32)"),
            integer("collective_bytes", 240, 0, 1ll << 40, "B", "size of the bcast and of the reduce (30 doubles)"),
            integer(
                "bytes", 74814, 0, 1ll << 40, "B",
                "size of a message to one of the 26 neighbours (290,279,024 B / 3,880 messages of a 6 x 6 x 6 run)"),
            integer("sweep_bytes", 7457, 0, 1ll << 40, "B",
                    "size of a message of the sweep (299,785,872 B / (402 messages * 100 slices) of a 12 x 18 run)"),
            integer("slices", 100, 0, 1 << 24, "", "number of slices of the sweep"),
            integer("iterations", 12, 1, 1 << 30, "", "number of iterations"),
            integer("compute_ns", 0, 0, 1ll << 50, "ns", "computation after each of the four phases"),
        },
    .build = build,
    .cubic = true,
}};

}  // namespace flitgym::workload::motifs::lulesh
