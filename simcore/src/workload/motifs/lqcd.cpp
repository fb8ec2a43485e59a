// LQCD: the gathers of a staggered conjugate gradient on a 4-D lattice (SST ember, emberlqcd.cc, after MILC). Each of
// two parities gathers first and third (Naik) neighbours, from the + directions x, y, z, t and from the - directions t,
// z, y, x. Receives are posted before the blocking sends of each gather. Then it waits for the + gathers, computes,
// waits for the - gathers, and computes. Two allreduces of one double follow, with a computation between them. The grid
// is not periodic, as in the motif.
#include "simcore/workload/motif.hpp"
#include "workload/collectives/collectives.hpp"
#include "workload/motifs/process_grid.hpp"

namespace flitgym::workload::motifs::lqcd {

constexpr u32 kParities = 2;
constexpr u64 kVectorBytes = 48;  // three complex doubles per site

struct Lqcd : GridLoop {
  std::vector<u32> local;  // sites of a rank in each dimension

  // Sites of one parity on `planes` planes across dimension d, rounded down.
  u64 bytes(u32 d, u64 planes) const {
    u64 sites = planes;
    for (u32 k = 0; k < 4; k++)
      if (k != d) sites *= local[k];
    return kVectorBytes * (sites / kParities);
  }

  void gather(u32 rank, i32 direction, u64 planes, Script& script, std::vector<Script::Request>& requests) const {
    std::vector<u32> order{0, 1, 2, 3};
    if (direction < 0) std::reverse(order.begin(), order.end());
    for (const u32 d : order)
      if (const u32 other = grid.neighbor(rank, d, direction); other != kNone)
        requests.push_back(script.ireceive(other, bytes(d, planes), tag(planes)));
    for (const u32 d : order)
      if (const u32 other = grid.neighbor(rank, d, direction); other != kNone)
        script.send(other, bytes(d, planes), tag(planes));
  }
  // The motif uses one tag for both and distinguishes them by size.
  static i32 tag(u64 planes) { return static_cast<i32>(planes) - 1; }

  void iteration(u32 rank, u64, Script& script) const override {
    for (u32 parity = 0; parity < kParities; parity++) {
      std::vector<Script::Request> positive, negative;
      gather(rank, 1, 1, script, positive);
      gather(rank, 1, 2, script, positive);  // the first of the three planes was already received
      gather(rank, -1, 1, script, negative);
      gather(rank, -1, 2, script, negative);
      script.wait_all(positive);
      script.compute(compute_ns);
      script.wait_all(negative);
      script.compute(compute_ns);
    }
    const Communicator all = world(ranks, rank);
    allreduce(script, all, 8, Algorithm::kTree, kCollectiveTags);
    script.compute(compute_ns);
    allreduce(script, all, 8, Algorithm::kTree, 2 * kCollectiveTags);
  }
};

// Layout of MILC. The prime factors are taken from the largest down. Each factor divides the dimension with the most
// remaining sites among those divisible by it. Ties go to the first dimension that is already divided, else to the
// first.
std::vector<u32> hyper_prime(u32 ranks, std::vector<u32> sites) {
  std::vector<u32> factors = prime_factors(ranks), cuts(4, 1);
  for (; !factors.empty(); factors.pop_back()) {
    const u32 prime = factors.back();
    u32 most = 0, best = kNone;
    for (const u32 s : sites)
      if (s % prime == 0) most = std::max(most, s);
    for (u32 d = 0; d < 4; d++)
      if (sites[d] == most && (best == kNone || (cuts[d] > 1 && cuts[best] == 1))) best = d;
    if (best == kNone)
      throw ConfigError("motif.lqcd.lattice: no remaining dimension is divisible by the factor ", prime, " of ", ranks,
                        " ranks");
    sites[best] /= prime;
    cuts[best] *= prime;
  }
  return cuts;
}

std::shared_ptr<const Program> build(const Params& params, u32 ranks, double scale) {
  auto program = on_grid<Lqcd>("lqcd", params, ranks, scale, 528, 4, nullptr);
  program->local = params.counts("lattice");
  if (program->local.size() != 4)
    throw ConfigError("motif.lqcd.lattice: expected four sizes, got ", program->local.size());
  if (program->grid.sizes.empty()) program->grid.sizes = hyper_prime(program->ranks, program->local);
  for (u32 d = 0; d < 4; d++) {
    if (program->local[d] % program->grid.sizes[d] != 0)
      throw ConfigError("motif.lqcd.grid: ", program->grid.sizes[d], " does not divide the ", program->local[d],
                        " sites of the lattice in dimension ", d);
    program->local[d] /= program->grid.sizes[d];
  }
  return program;
}

const Register<MotifSpec> registration{{
    .name = "lqcd",
    .summary = "gathers on a 4-D lattice in both directions, then two small allreduces",
    .params =
        {
            integer_list("lattice", {132, 132, 132, 132}, 1, 1 << 16, "sites",
                         "size of the whole lattice in x, y, z, t"),
            grid_param(
                "px, py, pz, pt; empty = the largest prime factor to the longest dimension first (528: 11 x 3 x 4 "
                "x 4, 256: 4 x 4 x 4 x 4)"),
            integer("iterations", 1, 1, 1 << 30, "", "number of iterations"),
            integer("compute_ns", 1, 0, 1ll << 50, "ns", "computation in each of the five segments"),
        },
    .build = build,
}};

}  // namespace flitgym::workload::motifs::lqcd
