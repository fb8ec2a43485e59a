#pragma once

#include "simcore/state.hpp"

namespace flitgym {

// One cycle of one partition. A frame changes only routers and terminals of its partition. Events for other partitions
// go onto delay lines.
struct Frame {
  Frame(const Network& network, State& state, Workspace& workspace, Cycle cycle, u32 k_ = 0)
      : net(network), s(state), w(workspace), part(partition(state, k_)), range(network.ranges[k_]), k(k_),
        active(state.active_routers.data() + range.first_word),
        sensed(network.sensed.kept() ? network.sensed.memory.of(state) : nullptr),
        resting(network.resting.kept() ? network.resting.of(state) : nullptr), now(cycle) {}
  const Network& net;
  State& s;
  Workspace& w;
  Partition& part;
  const PartitionRange& range;
  const u32 k;         // number of the partition
  u64* const active;   // bit per router of the partition with a request
  u16* const sensed;   // Network::sensed; null: not kept
  u32* const resting;  // Network::resting; null: not kept
  const Cycle now;
  Hosts& hosts() const { return s.hosts[k]; }  // with a workload
};

// A plain run has no watched packet, no accounts of the jobs that use a channel and no traffic classes.
inline bool plain(const Frame& f) { return f.s.watched.empty() && f.net.accounted_jobs == 0 && !f.net.classes; }

}  // namespace flitgym
