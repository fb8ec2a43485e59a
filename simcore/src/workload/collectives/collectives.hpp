// Collective operations as messages. Each function appends the part of one rank to its script.
//
// If both ends of a pair send to each other, the receive is posted before the blocking send. Otherwise two rendezvous
// messages would wait for each other forever. The message of step k has tag + k, so that a message that overtakes
// another in the network does not match its receive. A call uses tags from `tag` to below tag + 2 * size, at most
// kCollectiveTags. Channels share the kCollectiveTags tags of a call.
#pragma once

#include <functional>

#include "simcore/workload/script.hpp"

namespace flitgym::workload {

enum class Collective : u8 { kBarrier, kBcast, kReduce, kAllreduce, kAllgather, kReduceScatter, kAlltoall };

enum class Algorithm : u8 {
  // Binary tree with children 2i+1 and 2i+2 (firefly's funcSM/collectiveTree.cc); up, down or both.
  kTree,
  // Binomial tree, the farthest child first.
  kBinomial,
  // Partners at distance 1, 2, 4, ... Ranks beyond a power of two send their data before the steps and receive the
  // result after them.
  kRecursiveDoubling,
  // Neighbours only, one part of the data per step.
  kRing,
  // Sends to me + 1, me + 2, me + 4, ..., for any number of ranks (Hensgen, Finkel, Manber 1988; Bruck et al. 1997).
  kDissemination,
  // size - 1 blocking steps. Step c receives from me - c and sends to me + c (firefly's funcSM/alltoallv.cc).
  kPairwise,
  // All messages at once.
  kLinear,
  // Recursive halving scatters the sum, and recursive doubling gathers it. A reduce_scatter is the first half, an
  // allgather the second. Source: Rabenseifner, ICCS 2004; Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005.
  kHalvingDoubling,
  // Two binary trees with half of the data each. An inner rank of one tree is a leaf of the other. Source: Sanders,
  // Speck, Traeff, Parallel Computing 35(12), 2009.
  kDoubleTree,
  // An alltoall in log2(size) steps (Bruck et al., TPDS 8(11), 1997). A block moves once per set bit of its distance.
  kBruck,
  // Within nodes of `ranks_per_node` ranks, and across nodes along rails. A rail has one rank per node.
  kHierarchical,
  // The choice of the table in choose.cpp.
  kAuto,
};

// Ways to keep more than one message of a rank on its way.
struct Pipelining {
  // Rings and trees cut their messages into chunks of this size. 0: whole messages.
  u64 chunk_bytes = 0;
  // Parts of the data. Each part takes another order of the ranks, and so other links.
  u32 channels = 1;
};
inline constexpr u32 kMostChannels = 32;

// Distance of the tag bases of two collectives, so that their messages cannot be confused.
inline constexpr i32 kCollectiveTags = 1 << 20;

const std::vector<Algorithm>& algorithms(Collective collective);  // valid algorithms, the default first
std::string algorithms_of(Collective collective);                 // their names: "tree, dissemination, ..."
// Throws ConfigError "where: ..." if the collective has no such algorithm.
void check_algorithm(const std::string& where, Collective collective, Algorithm algorithm);
const std::vector<std::string>& collective_names();  // in the order of the enum: "barrier", ...
const std::vector<std::string>& algorithm_names();   // "tree", ...
const std::string& name(Collective collective);
const std::string& name(Algorithm algorithm);
Collective collective_named(const std::string& text);  // both throw ConfigError
Algorithm algorithm_named(const std::string& text, const std::string& where = "algorithm");

// The algorithm that `auto` stands for. `bytes` has the meaning that collective() gives it.
Algorithm chosen(Collective collective, u64 bytes, u32 ranks);

// Size of part `index` when `bytes` are cut into `parts`. Sizes differ by at most one byte.
inline u64 part(u64 bytes, u32 parts, u32 index) { return bytes / parts + (index < bytes % parts); }

using Bytes = std::function<u64(u32)>;                   // bytes by position in the communicator
using PairBytes = std::function<u64(u32 from, u32 to)>;  // bytes by two positions

// `bytes` is the size of a message.
void barrier(Script& script, const Communicator& comm, Algorithm algorithm, i32 tag, u64 bytes = 0);
void bcast(Script& script, const Communicator& comm, u32 root, u64 bytes, Algorithm algorithm, i32 tag,
           u64 chunk_bytes = 0);
void reduce(Script& script, const Communicator& comm, u32 root, u64 bytes, Algorithm algorithm, i32 tag,
            u64 chunk_bytes = 0);
void allreduce(Script& script, const Communicator& comm, u64 bytes, Algorithm algorithm, i32 tag, u64 chunk_bytes = 0);
// `share` is the share of each rank.
void allgatherv(Script& script, const Communicator& comm, const Bytes& share, Algorithm algorithm, i32 tag,
                u64 chunk_bytes = 0);
// Messages between the ends of each pair only, so `to` and `from` give the sizes of one rank. Pairwise and linear.
void alltoallv(Script& script, const Communicator& comm, const Bytes& to, const Bytes& from, Algorithm algorithm,
               i32 tag);
// Every algorithm. Bruck's and the hierarchical one carry blocks of other pairs.
void alltoallv(Script& script, const Communicator& comm, const PairBytes& bytes, Algorithm algorithm, i32 tag);

// Any of them. A root is the first rank. `bytes` is the whole vector, or the share of a rank (allgather), of a pair
// (alltoall), or of a message (barrier). Throws ConfigError if the collective has no such algorithm.
void collective(Script& script, const Communicator& comm, Collective which, u64 bytes, Algorithm algorithm, i32 tag,
                const Pipelining& pipelining = {});

Communicator world(u32 ranks, u32 rank);

}  // namespace flitgym::workload
