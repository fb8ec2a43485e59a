// Choice of the algorithm by message size and number of ranks, for `algorithm=auto`.
//
// The limits are MPICH's defaults, MPIR_CVAR_*_MSG_SIZE in src/mpi/coll. Thakur, Rabenseifner and Gropp (IJHPCA 19(1),
// 2005) describe them. Two rules differ from MPICH. Long bcasts and reduces use the double tree. MPICH combines a
// scatter or gather with an allgather or reduce_scatter there. Allreduces of 524,288 bytes and more use the ring. MPICH
// uses the ring from this size on for the allgather, which is half of an allreduce.
#include <bit>

#include "workload/collectives/collectives.hpp"

namespace flitgym::workload {

namespace {

enum class Ranks : u8 { kAny, kFew, kMany, kPower };  // kFew: below 8; kPower: a power of two

struct Rule {
  Collective collective;
  Ranks ranks;
  u64 most;  // largest message, in bytes; for an allgather the sum of all shares
  Algorithm algorithm;
};

constexpr u64 kAnySize = ~u64{0};

// The first rule that fits decides.
constexpr Rule kRules[] = {
    {Collective::kBarrier, Ranks::kAny, kAnySize, Algorithm::kDissemination},
    {Collective::kBcast, Ranks::kFew, kAnySize, Algorithm::kBinomial},
    {Collective::kBcast, Ranks::kAny, 12287, Algorithm::kBinomial},
    {Collective::kBcast, Ranks::kAny, kAnySize, Algorithm::kDoubleTree},
    {Collective::kReduce, Ranks::kAny, 2048, Algorithm::kBinomial},
    {Collective::kReduce, Ranks::kAny, kAnySize, Algorithm::kDoubleTree},
    {Collective::kAllreduce, Ranks::kAny, 2048, Algorithm::kRecursiveDoubling},
    {Collective::kAllreduce, Ranks::kAny, 524287, Algorithm::kHalvingDoubling},
    {Collective::kAllreduce, Ranks::kAny, kAnySize, Algorithm::kRing},
    {Collective::kAllgather, Ranks::kPower, 524287, Algorithm::kHalvingDoubling},
    {Collective::kAllgather, Ranks::kAny, 81919, Algorithm::kDissemination},
    {Collective::kAllgather, Ranks::kAny, kAnySize, Algorithm::kRing},
    {Collective::kReduceScatter, Ranks::kAny, 524287, Algorithm::kHalvingDoubling},
    {Collective::kReduceScatter, Ranks::kAny, kAnySize, Algorithm::kPairwise},
    {Collective::kAlltoall, Ranks::kMany, 256, Algorithm::kBruck},
    {Collective::kAlltoall, Ranks::kAny, 32768, Algorithm::kLinear},
    {Collective::kAlltoall, Ranks::kAny, kAnySize, Algorithm::kPairwise},
};

bool fits(Ranks rule, u32 ranks) {
  switch (rule) {
    case Ranks::kAny: return true;
    case Ranks::kFew: return ranks < 8;
    case Ranks::kMany: return ranks >= 8;
    case Ranks::kPower: return std::has_single_bit(ranks);
  }
  return false;
}

}  // namespace

Algorithm chosen(Collective collective, u64 bytes, u32 ranks) {
  const u64 size = collective == Collective::kAllgather ? bytes * ranks : bytes;
  for (const Rule& rule : kRules)
    if (rule.collective == collective && fits(rule.ranks, ranks) && size <= rule.most) return rule.algorithm;
  return algorithms(collective).front();
}

}  // namespace flitgym::workload
