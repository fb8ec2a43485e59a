// Collective operations as the messages they are made of: each function appends one rank's part to its script.
//
// Where both ends of a pair send to each other the receive is posted before the send blocks, or two large messages
// would wait for each other for ever. The message of step k carries tag + k, so that one that overtakes another on the
// network is not taken for it; a call uses the tags from `tag` to below tag + 2 * size, and at most kCollectiveTags of
// them.
#pragma once

#include <functional>

#include "workload/motifs/script.hpp"

namespace flitgym::workload {

enum class Collective : u8 { kBarrier, kBcast, kReduce, kAllreduce, kAllgather, kReduceScatter, kAlltoall };

enum class Algorithm : u8 {
  kTree,      // binary tree, children 2i+1 and 2i+2 (firefly's funcSM/collectiveTree.cc): up, down or both
  kBinomial,  // binomial tree, the farthest child first
  // partners at distance 1, 2, 4, ...; what exceeds a power of two is folded in before and served after
  kRecursiveDoubling,
  kRing,  // neighbours only, one part of the data per step
  // to me + 1, me + 2, me + 4, ...: any number of ranks (Hensgen, Finkel, Manber 1988; Bruck et al. 1997)
  kDissemination,
  kPairwise,  // size - 1 blocking steps: in step c from me - c, to me + c (firefly's funcSM/alltoallv.cc)
  kLinear,    // everything at once
};

// distance of the tag bases of two collectives that may not be mixed up
inline constexpr i32 kCollectiveTags = 1 << 20;

const std::vector<Algorithm>& algorithms(Collective collective);  // those it can be done with, the usual one first
const std::vector<std::string>& collective_names();               // in the order of the enum: "barrier", ...
const std::vector<std::string>& algorithm_names();                // "tree", ...
const std::string& name(Collective collective);
const std::string& name(Algorithm algorithm);
Collective collective_named(const std::string& text);  // both throw ConfigError
Algorithm algorithm_named(const std::string& text);

// Part `index` of `bytes` in `parts`: they differ by a byte at most and add up.
inline u64 part(u64 bytes, u32 parts, u32 index) { return bytes / parts + (index < bytes % parts); }

using Bytes = std::function<u64(u32)>;  // of the place in the communicator

// bytes of a message
void barrier(Script& script, const Communicator& comm, Algorithm algorithm, i32 tag, u64 bytes = 0);
void bcast(Script& script, const Communicator& comm, u32 root, u64 bytes, Algorithm algorithm, i32 tag);
void reduce(Script& script, const Communicator& comm, u32 root, u64 bytes, Algorithm algorithm, i32 tag);
void allreduce(Script& script, const Communicator& comm, u64 bytes, Algorithm algorithm, i32 tag);
// bytes of one rank
void allgather(Script& script, const Communicator& comm, u64 bytes, Algorithm algorithm, i32 tag);
// bytes of the vector
void reduce_scatter(Script& script, const Communicator& comm, u64 bytes, Algorithm algorithm, i32 tag);
void alltoallv(Script& script, const Communicator& comm, const Bytes& to, const Bytes& from, Algorithm algorithm,
               i32 tag);
// bytes of one pair
void alltoall(Script& script, const Communicator& comm, u64 bytes, Algorithm algorithm, i32 tag);

// Any of them, from the first rank where there is a root.
void collective(Script& script, const Communicator& comm, Collective which, u64 bytes, Algorithm algorithm, i32 tag);

// All the ranks of a job.
Communicator world(u32 ranks, u32 rank);

}  // namespace flitgym::workload
