// Channels: the data is cut, and each part takes another order of the ranks. In the order of a channel, the next node
// is at a fixed distance, forward or backward. Distances that are prime to the number of nodes give rings through all
// nodes. Two such rings share no edge between nodes until all distances are used. The rank of a node that sends to the
// next node differs between channels, as NCCL's rings use different NICs.
#include "simcore/error.hpp"
#include "workload/collectives/families.hpp"

namespace flitgym::workload::collectives {

namespace channels {

// Distances that are prime to `nodes`: 1, -1, then the next ones.
u32 distance(u32 nodes, u32 channel) {
  std::vector<u32> all;
  for (u32 d = 1; 2 * d <= nodes || d == 1; d++)
    if (std::gcd(d, nodes) == 1) {
      all.push_back(d % nodes);
      if (nodes > 2) all.push_back(nodes - d);
      if (all.size() > channel) break;
    }
  return all[channel % all.size()];
}

}  // namespace channels

u32 chunk_count(u64 bytes, u64 chunk_bytes) {
  constexpr u64 kMost = 1 << 15;  // keeps the operations of a rank's collective in memory
  if (chunk_bytes == 0 || bytes <= chunk_bytes) return 1;
  const u64 count = (bytes + chunk_bytes - 1) / chunk_bytes;
  if (count > kMost)
    throw ConfigError("chunk_bytes: ", chunk_bytes, " B cut a message of ", bytes, " B into ", count,
                      " chunks, at most ", kMost, " are possible; use larger chunks");
  return static_cast<u32>(count);
}

ChannelOrder channel_order(const Communicator& comm, u32 channel) {
  const u32 size = comm.size(), each = comm.ranks_per_node, nodes = nodes_of(comm);
  const u32 distance = channels::distance(nodes, channel);
  ChannelOrder order{{{}, 0, 0, 1, 0, each}, {}};
  for (u32 q = 0; q < size; q++) {
    const u32 node = static_cast<u32>(u64{q / each} * distance % nodes), place = node * each + (q + channel) % each;
    order.place_of.push_back(place);
    order.comm.ranks.push_back(comm.rank(place));
    if (place == comm.me) order.comm.me = q;
  }
  return order;
}

}  // namespace flitgym::workload::collectives
