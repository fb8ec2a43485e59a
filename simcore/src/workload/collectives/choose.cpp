// Choice of the algorithm by message size and number of ranks, for `algorithm=auto`.
//
// The limits are MPICH's defaults, MPIR_CVAR_*_MSG_SIZE in src/mpi/coll. Thakur, Rabenseifner and Gropp (IJHPCA 19(1),
// 2005) describe them. Two rules differ from MPICH. Long bcasts and reduces use the double tree. MPICH combines a
// scatter or gather with an allgather or reduce_scatter there. Allreduces of 524,288 bytes and more use the ring. MPICH
// uses the ring from this size on for the allgather, which is half of an allreduce.
#include "workload/collectives/collectives.hpp"

namespace flitgym::workload {

namespace {

// Which numbers of ranks a rule is for.
using Ranks = bool (*)(u32 ranks);
constexpr Ranks kAny = [](u32) { return true; }, kFew = [](u32 ranks) { return ranks < 8; },
                kMany = [](u32 ranks) { return ranks >= 8; },
                kPower = [](u32 ranks) { return std::has_single_bit(ranks); };

struct Rule {
  Collective collective;
  Ranks fits;
  u64 most;  // largest message, in bytes; for an allgather the sum of all shares
  Algorithm algorithm;
};

constexpr u64 kAnySize = ~u64{0};

// The first rule that fits decides.
constexpr Rule kRules[] = {
    {Collective::kBarrier, kAny, kAnySize, Algorithm::kDissemination},
    {Collective::kBcast, kFew, kAnySize, Algorithm::kBinomial},
    {Collective::kBcast, kAny, 12287, Algorithm::kBinomial},
    {Collective::kBcast, kAny, kAnySize, Algorithm::kDoubleTree},
    {Collective::kReduce, kAny, 2048, Algorithm::kBinomial},
    {Collective::kReduce, kAny, kAnySize, Algorithm::kDoubleTree},
    {Collective::kAllreduce, kAny, 2048, Algorithm::kRecursiveDoubling},
    {Collective::kAllreduce, kAny, 524287, Algorithm::kHalvingDoubling},
    {Collective::kAllreduce, kAny, kAnySize, Algorithm::kRing},
    {Collective::kAllgather, kPower, 524287, Algorithm::kHalvingDoubling},
    {Collective::kAllgather, kAny, 81919, Algorithm::kDissemination},
    {Collective::kAllgather, kAny, kAnySize, Algorithm::kRing},
    {Collective::kReduceScatter, kAny, 524287, Algorithm::kHalvingDoubling},
    {Collective::kReduceScatter, kAny, kAnySize, Algorithm::kPairwise},
    {Collective::kAlltoall, kMany, 256, Algorithm::kBruck},
    {Collective::kAlltoall, kAny, 32768, Algorithm::kLinear},
    {Collective::kAlltoall, kAny, kAnySize, Algorithm::kPairwise},
};

}  // namespace

Algorithm chosen(Collective collective, u64 bytes, u32 ranks) {
  const u64 size = collective == Collective::kAllgather ? bytes * ranks : bytes;
  for (const Rule& rule : kRules)
    if (rule.collective == collective && rule.fits(ranks) && size <= rule.most) return rule.algorithm;
  return algorithms(collective).front();
}

}  // namespace flitgym::workload
