// Collective operations as messages. Each function appends the part of one rank to its script.
//
// If both ends of a pair send to each other, the receive is posted before the blocking send. Otherwise two rendezvous
// messages would wait for each other forever. The message of step k has tag + k, so that a message that overtakes
// another in the network does not match its receive. A call uses tags from `tag` to below tag + 2 * size, at most
// kCollectiveTags.
#pragma once

#include <functional>

#include "workload/motifs/script.hpp"

namespace flitgym::workload {

enum class Collective : u8 { kBarrier, kBcast, kReduce, kAllreduce, kAllgather, kReduceScatter, kAlltoall };

enum class Algorithm : u8 {
  kTree,      // binary tree with children 2i+1 and 2i+2 (firefly's funcSM/collectiveTree.cc); up, down or both
  kBinomial,  // binomial tree, the farthest child first
  // Partners at distance 1, 2, 4, ... Ranks beyond a power of two send their data before the steps and receive the
  // result after them.
  kRecursiveDoubling,
  kRing,  // neighbours only, one part of the data per step
  // Sends to me + 1, me + 2, me + 4, ..., for any number of ranks (Hensgen, Finkel, Manber 1988; Bruck et al. 1997).
  kDissemination,
  kPairwise,  // size - 1 blocking steps; step c receives from me - c and sends to me + c (firefly's
              // funcSM/alltoallv.cc)
  kLinear,    // all messages at once
};

// Distance of the tag bases of two collectives, so that their messages cannot be confused.
inline constexpr i32 kCollectiveTags = 1 << 20;

const std::vector<Algorithm>& algorithms(Collective collective);  // valid algorithms, the default first
const std::vector<std::string>& collective_names();               // in the order of the enum: "barrier", ...
const std::vector<std::string>& algorithm_names();                // "tree", ...
const std::string& name(Collective collective);
const std::string& name(Algorithm algorithm);
Collective collective_named(const std::string& text);  // both throw ConfigError
Algorithm algorithm_named(const std::string& text);

// Size of part `index` when `bytes` are cut into `parts`. Sizes differ by at most one byte.
inline u64 part(u64 bytes, u32 parts, u32 index) { return bytes / parts + (index < bytes % parts); }

using Bytes = std::function<u64(u32)>;  // bytes by position in the communicator

// `bytes` is the size of a message.
void barrier(Script& script, const Communicator& comm, Algorithm algorithm, i32 tag, u64 bytes = 0);
void bcast(Script& script, const Communicator& comm, u32 root, u64 bytes, Algorithm algorithm, i32 tag);
void reduce(Script& script, const Communicator& comm, u32 root, u64 bytes, Algorithm algorithm, i32 tag);
void allreduce(Script& script, const Communicator& comm, u64 bytes, Algorithm algorithm, i32 tag);
// `bytes` is the share of one rank.
void allgather(Script& script, const Communicator& comm, u64 bytes, Algorithm algorithm, i32 tag);
// `bytes` is the size of the whole vector.
void reduce_scatter(Script& script, const Communicator& comm, u64 bytes, Algorithm algorithm, i32 tag);
void alltoallv(Script& script, const Communicator& comm, const Bytes& to, const Bytes& from, Algorithm algorithm,
               i32 tag);
// `bytes` is the size per pair.
void alltoall(Script& script, const Communicator& comm, u64 bytes, Algorithm algorithm, i32 tag);

// Any of them. A root is the first rank.
void collective(Script& script, const Communicator& comm, Collective which, u64 bytes, Algorithm algorithm, i32 tag);

// All ranks of a job.
Communicator world(u32 ranks, u32 rank);

}  // namespace flitgym::workload
