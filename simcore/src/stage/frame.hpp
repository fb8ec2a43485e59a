// What the stages of a cycle work in.
#pragma once

#include "simcore/state.hpp"

namespace flitgym {

// One cycle of one partition. Routers and terminals are its own; what leaves it goes onto delay lines.
struct Frame {
  Frame(const Network& network, State& state, Workspace& workspace, Cycle cycle, u32 k_ = 0)
      : net(network), s(state), w(workspace), part(partition(state, k_)), range(network.ranges[k_]), k(k_), active(state.active_routers.data() + range.first_word), now(cycle) {}
  const Network& net;
  State& s;
  Workspace& w;
  Partition& part;
  const PartitionRange& range;
  const u32 k;        // number of the partition
  u64* const active;  // bit per router of the partition with a request
  const Cycle now;
};

}  // namespace flitgym
