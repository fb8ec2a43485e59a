// Kkt3d: the halo exchange of a sparse matrix-vector product. The matrix is the KKT matrix of an optimal control
// problem with a 3-D elliptic equation on a grid of N^3 points, controlled on its six faces. The nlpkkt matrices of the
// SuiteSparse collection are of this kind (Schenk, Waechter, Weiser, "Inertia-revealing preconditioning for large-scale
// nonconvex constrained optimization", SIAM J. Sci. Comput. 31, 2008).
//
//        y (states)   u (controls)   p (adjoints)
//   y    diagonal                    A^T            A: 27 points of the grid, those that are inside it
//   u                 diagonal       B^T            B: 9 points of a face
//   p    A            B              diagonal
//
// The stencils of A and B are inferred from the sizes: 2 N^3 + 6 N^2 rows and 2 (3N-2)^3 + 12 (3N-2)^2 + 2 N^3 + 6 N^2
// entries. With N = 240 these are the 27,993,600 rows and 2 x 401,232,976 - 27,993,600 entries of nlpkkt240. The order
// of its unknowns is not known. Here it is y, u, p.
//
// Ranks own contiguous rows, in equal numbers as far as possible. A rank receives from each other rank the vector
// values for which its rows have entries, each value once.
#include "simcore/workload/motif.hpp"

namespace flitgym::workload::motifs::kkt3d {

struct Message {
  u32 peer;
  u64 bytes;
};

struct Kkt3d : Loop {
  std::vector<std::vector<Message>> receives, sends;  // [ranks]
  u64 compute_ns = 0;

  void iteration(u32 rank, u64, Script& script) const override {
    script.compute(compute_ns);
    std::vector<Script::Request> requests;
    for (const Message& m : receives[rank]) requests.push_back(script.ireceive(m.peer, m.bytes));
    for (const Message& m : sends[rank]) requests.push_back(script.isend(m.peer, m.bytes));
    script.wait_all(requests);
  }
};

// Finds the columns that have entries in given rows of the matrix.
class Columns {
 public:
  explicit Columns(u64 size) : n_(static_cast<i64>(size)) {}

  u64 rows() const { return static_cast<u64>(2 * n_ * n_ * n_ + 6 * n_ * n_); }

  // Returns disjoint intervals [begin, end) in ascending order.
  std::vector<std::pair<i64, i64>> of_rows(i64 begin, i64 end) {
    found_.clear();
    const i64 cube = n_ * n_ * n_, controls = 6 * n_ * n_;
    for (i64 row = begin; row < end;) {
      // Takes the rows up to the end of their grid line.
      const i64 section = row < cube ? 0 : row < cube + controls ? cube : cube + controls;
      const i64 at = row - section, line = at / n_, first = at % n_, last = std::min(n_ - 1, first + (end - 1 - row));
      if (section == cube) control_line(line, first, last);
      else grid_line(section == 0 ? cube + controls : 0, line % n_, line / n_, first, last, section != 0);
      row += last - first + 1;
      worked(32);
    }
    std::sort(found_.begin(), found_.end());
    std::size_t kept = 0;
    for (const auto& [from, to] : found_) {
      if (kept > 0 && from <= found_[kept - 1].second) found_[kept - 1].second = std::max(found_[kept - 1].second, to);
      else found_[kept++] = {from, to};
    }
    found_.resize(kept);
    return found_;
  }

 private:
  bool inside(i64 c) const { return c >= 0 && c < n_; }
  void add(i64 section, i64 line, i64 first, i64 last) {
    first = std::max<i64>(first, 0);
    last = std::min(last, n_ - 1);
    found_.push_back({section + line * n_ + first, section + line * n_ + last + 1});
  }

  // Rows (first .. last, y, z) of A^T, or of A and B.
  void grid_line(i64 section, i64 y, i64 z, i64 first, i64 last, bool controlled) {
    for (i64 w = z - 1; w <= z + 1; w++)
      for (i64 v = y - 1; v <= y + 1; v++)
        if (inside(v) && inside(w)) add(section, v + n_ * w, first - 1, last + 1);
    if (!controlled) return;
    const i64 u = n_ * n_ * n_;
    const auto face = [&](i64 f, i64 b, i64 from, i64 to) {
      for (i64 c = b - 1; c <= b + 1; c++)
        if (inside(c)) add(u + f * n_ * n_, c, from, to);
    };
    if (first == 0) face(0, z, y - 1, y + 1);
    if (last == n_ - 1) face(1, z, y - 1, y + 1);
    if (y == 0) face(2, z, first - 1, last + 1);
    if (y == n_ - 1) face(3, z, first - 1, last + 1);
    if (z == 0) face(4, y, first - 1, last + 1);
    if (z == n_ - 1) face(5, y, first - 1, last + 1);
  }

  // Rows of B^T: faces x = 0, x = N-1 over (y, z), y = 0, y = N-1 over (x, z), z = 0, z = N-1 over (x, y). The first
  // coordinate runs fastest.
  void control_line(i64 line, i64 first, i64 last) {
    const i64 p = n_ * n_ * n_ + 6 * n_ * n_, face = line / n_, b = line % n_, edge = face % 2 ? n_ - 1 : 0;
    for (i64 c = b - 1; c <= b + 1; c++) {
      if (!inside(c)) continue;
      if (face / 2 == 0)
        for (i64 y = std::max<i64>(first - 1, 0); y <= std::min(last + 1, n_ - 1); y++) add(p, y + n_ * c, edge, edge);
      else if (face / 2 == 1) add(p, edge + n_ * c, first - 1, last + 1);
      else add(p, c + n_ * edge, first - 1, last + 1);
    }
  }

  const i64 n_;
  std::vector<std::pair<i64, i64>> found_;
};

std::shared_ptr<const Program> build(const Params& params, u32 ranks, double scale) {
  auto program = repeated<Kkt3d>(params, ranks ? ranks : 64, scale);
  program->compute_ns = static_cast<u64>(params.integer("compute_ns"));
  const u64 value = static_cast<u64>(params.integer("bytes_per_value"));
  Columns columns(params.count("n"));
  const u64 rows = columns.rows(), all = program->ranks;
  if (all > rows)
    throw ConfigError("motif.kkt3d.n: the matrix has ", rows, " rows, fewer than the ", all, " ranks; increase n");
  // The first rows % ranks ranks have one row more.
  const u64 each = rows / all, more = rows % all;
  const auto begin = [&](u64 rank) { return rank * each + std::min(rank, more); };
  const auto owner = [&](u64 row) {
    return row < more * (each + 1) ? row / (each + 1) : more + (row - more * (each + 1)) / each;
  };
  program->receives.resize(all);
  program->sends.resize(all);
  for (u32 rank = 0; rank < all; rank++) {
    std::map<u32, u64> needed;
    for (auto [from, to] : columns.of_rows(static_cast<i64>(begin(rank)), static_cast<i64>(begin(rank + 1))))
      while (from < to) {
        const u64 from_rank = owner(static_cast<u64>(from));
        const i64 until = std::min(to, static_cast<i64>(begin(from_rank + 1)));
        if (from_rank != rank) needed[static_cast<u32>(from_rank)] += static_cast<u64>(until - from) * value;
        from = until;
        worked(16);
      }
    for (const auto& [peer, bytes] : needed) {
      program->receives[rank].push_back({peer, bytes});
      program->sends[peer].push_back({rank, bytes});
    }
  }
  return program;
}

const Register<MotifSpec> registration{{
    .name = "kkt3d",
    .summary = "halo exchange of a matrix-vector product with a 3-D KKT matrix, contiguous rows per rank (n = 240: "
               "nlpkkt240)",
    .params =
        {
            integer("n", 40, 2, 2000, "points", "side of the grid; the matrix has 2 n^3 + 6 n^2 rows"),
            integer("bytes_per_value", 8, 1, 1 << 20, "B", "size of a vector value"),
            integer("iterations", 10, 1, 1 << 30, "", "number of iterations"),
            integer("compute_ns", 0, 0, 1ll << 50, "ns", "computation before each exchange"),
        },
    .build = build,
}};

}  // namespace flitgym::workload::motifs::kkt3d
