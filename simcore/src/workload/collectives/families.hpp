// The algorithms of the collectives, one file per family. collectives.cpp calls them.
#pragma once

#include "workload/collectives/collectives.hpp"

namespace flitgym::workload::collectives {

// Posts the receive, sends (blocking), and waits for the receive.
inline void exchange(Script& script, u32 to, u64 send_bytes, u32 from, u64 receive_bytes, i32 tag) {
  const auto request = script.ireceive(from, receive_bytes, tag);
  script.send(to, send_bytes, tag);
  script.wait(request);
}

// channels.cpp: number of chunks of a message; at least one. Throws ConfigError if there are too many.
u32 chunk_count(u64 bytes, u64 chunk_bytes);

enum class Pass : u8 { kUp, kDown, kUpAndDown };

// trees.cpp: binary, binomial, flat and double trees.
void tree(Script& script, const Communicator& comm, u32 root, u64 bytes, Algorithm algorithm, Pass pass, i32 tag,
          u64 chunk_bytes);
void double_tree(Script& script, const Communicator& comm, u32 root, u64 bytes, Pass pass, i32 tag, u64 chunk_bytes);

// rings.cpp: `steps` steps around the ring. `first` is the part sent in the first step. Each later step sends the part
// received in the step before.
void ring(Script& script, const Communicator& comm, u32 first, u32 steps, const Bytes& bytes, i32 tag, u64 chunk_bytes);
inline void ring_allgather(Script& script, const Communicator& comm, const Bytes& share, i32 tag, u64 chunk_bytes) {
  ring(script, comm, comm.me, comm.size() - 1, share, tag, chunk_bytes);
}
// Part i starts from rank i + 1 and reaches rank i in the last step, with the shares of all ranks.
inline void ring_reduce_scatter(Script& script, const Communicator& comm, const Bytes& part_of, i32 tag,
                                u64 chunk_bytes) {
  ring(script, comm, (comm.me + comm.size() - 1) % comm.size(), comm.size() - 1, part_of, tag, chunk_bytes);
}
void ring_allreduce(Script& script, const Communicator& comm, u64 bytes, i32 tag, u64 chunk_bytes);

// doubling.cpp: partners at distances that are powers of two.
void recursive_doubling(Script& script, const Communicator& comm, u64 bytes, i32 tag);
void dissemination(Script& script, const Communicator& comm, const Bytes& bytes_at_distance, i32 tag);
void dissemination_allgather(Script& script, const Communicator& comm, const Bytes& share, i32 tag);
void halving_doubling_allreduce(Script& script, const Communicator& comm, u64 bytes, i32 tag);
void halving_reduce_scatter(Script& script, const Communicator& comm, const Bytes& part_of, i32 tag);
void doubling_allgather(Script& script, const Communicator& comm, const Bytes& share, i32 tag);

// alltoalls.cpp
void pairwise(Script& script, const Communicator& comm, const Bytes& to, const Bytes& from, i32 tag);
void linear(Script& script, const Communicator& comm, const Bytes& to, const Bytes& from, i32 tag);
void bruck(Script& script, const Communicator& comm, const PairBytes& bytes, i32 tag);

// hierarchical.cpp: first within a node, then across nodes, or in the reverse order.
void hierarchical_barrier(Script& script, const Communicator& comm, u64 bytes, i32 tag);
void hierarchical_tree(Script& script, const Communicator& comm, u32 root, u64 bytes, Pass pass, i32 tag,
                       u64 chunk_bytes);
void hierarchical_allreduce(Script& script, const Communicator& comm, u64 bytes, i32 tag, u64 chunk_bytes);
void hierarchical_allgather(Script& script, const Communicator& comm, const Bytes& share, i32 tag, u64 chunk_bytes);
void hierarchical_reduce_scatter(Script& script, const Communicator& comm, const Bytes& part_of, i32 tag,
                                 u64 chunk_bytes);
void hierarchical_alltoall(Script& script, const Communicator& comm, const PairBytes& bytes, i32 tag);

// channels.cpp, too. The ranks in the order of one channel. `place_of[q]` is the place of position q in `comm`.
struct ChannelOrder {
  Communicator comm;
  std::vector<u32> place_of;
};
ChannelOrder channel_order(const Communicator& comm, u32 channel);

// Throws ConfigError unless whole nodes make up the communicator.
u32 nodes_of(const Communicator& comm);

}  // namespace flitgym::workload::collectives
