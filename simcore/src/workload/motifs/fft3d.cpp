// FFT3D: a pencil-decomposed n x n x n real-to-complex transform and its inverse (SST ember, emberfft3d.cc). Rank = row
// + npRow * column. An iteration has compute, alltoallv in the column communicator, compute, alltoallv in the row
// communicator, compute, barrier, then compute, alltoallv in the row, compute, alltoallv in the column, twice
// the compute, barrier. The barrier is the tree over all ranks.
#include "simcore/workload/motif.hpp"
#include "workload/collectives/collectives.hpp"
#include "workload/motifs/process_grid.hpp"

namespace flitgym::workload::motifs::fft3d {

struct Fft3d : Loop {
  u32 n = 0;
  ProcessGrid grid;  // sizes npRow, npCol
  Algorithm algorithm = Algorithm::kPairwise;
  u64 compute_ns = 0;

  // Bytes between two ranks of the same column (forward) or row: the complex doubles of their common pencil. The first
  // dimension has only n/2 + 1 values because the input is real. It is distributed by row, and the last dimension by
  // column. The second dimension is distributed by row before the first transposition and by column after the second.
  u64 along_column(u32 from_row, u32 to_row, u32 column) const {
    return 16 * part(n / 2 + 1, rows(), to_row) * part(n, rows(), from_row) * part(n, columns(), column);
  }
  u64 along_row(u32 row, u32 from_column, u32 to_column) const {
    return 16 * part(n / 2 + 1, rows(), row) * part(n, columns(), to_column) * part(n, columns(), from_column);
  }
  u32 rows() const { return grid.sizes[0]; }
  u32 columns() const { return grid.sizes[1]; }

  void iteration(u32 rank, u64, Script& script) const override {
    const u32 row = grid.coordinate(rank, 0), column = grid.coordinate(rank, 1);
    const Communicator of_column{{}, row, column * rows(), 1, rows()}, of_row{{}, column, row, rows(), columns()};
    const Communicator all = world(ranks, rank);
    const auto exchange_in_row = [&](i32 tag) {
      alltoallv(
          script, of_row, [&](u32 k) { return along_row(row, column, k); },
          [&](u32 k) { return along_row(row, k, column); }, algorithm, tag);
    };

    script.compute(compute_ns);
    alltoallv(
        script, of_column, [&](u32 k) { return along_column(row, k, column); },
        [&](u32 k) { return along_column(k, row, column); }, algorithm, 0);
    script.compute(compute_ns);
    exchange_in_row(kCollectiveTags);
    script.compute(compute_ns);
    barrier(script, all, Algorithm::kTree, 2 * kCollectiveTags);

    script.compute(compute_ns);
    exchange_in_row(3 * kCollectiveTags);
    script.compute(compute_ns);
    alltoallv(
        script, of_column, [&](u32 k) { return along_column(k, row, column); },
        [&](u32 k) { return along_column(row, k, column); }, algorithm, 4 * kCollectiveTags);
    script.compute(2 * compute_ns);  // the two remaining transforms
    barrier(script, all, Algorithm::kTree, 5 * kCollectiveTags);
  }
};

std::shared_ptr<const Program> build(const Params& params, u32 ranks, double scale) {
  auto program = std::make_shared<Fft3d>();
  program->grid = process_grid("fft3d", params, ranks, 528, 2, near_square);
  program->ranks = ranks;
  program->iterations = scaled(params.count("iterations"), scale);
  program->n = params.count("n");
  program->algorithm = algorithm_named(params.text("algorithm"));
  const u64 n = program->n;
  program->compute_ns =
      static_cast<u64>(std::min(1e18, params.real("ns_per_element") * static_cast<double>(n * (n * n / ranks))));
  return program;
}

const Register<MotifSpec> registration{{
    .name = "fft3d",
    .summary = "FFT of a cube and its inverse: alltoallv in columns and rows of ranks",
    .params =
        {
            grid_param(
                "npRow (ranks of a column communicator), npCol; empty = closest to a square, with npRow <= npCol "
                "(528: 22 x 24, 140: 10 x 14)"),
            integer("n", 400, 1, 1 << 16, "elements", "side of the cube"),
            integer("iterations", 8, 1, 1 << 30, "", "number of iterations"),
            real("ns_per_element", 1, 0, 1e9, "ns",
                 "computation per element; a stage has n * floor(n * n / ranks) elements, the last one twice as many"),
            choice("algorithm", "pairwise", {"pairwise", "linear"},
                   "algorithm of the alltoallv: size - 1 blocking steps, or all messages at once"),
        },
    .build = build,
}};

}  // namespace flitgym::workload::motifs::fft3d
