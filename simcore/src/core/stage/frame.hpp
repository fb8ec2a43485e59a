#pragma once

#include "simcore/state.hpp"

namespace flitgym {

// One cycle of one partition. A frame changes only routers and terminals of its partition. Events for other partitions
// go onto delay lines.
struct Frame {
  const Network& net;
  State& s;
  Workspace& w;
  const Cycle now;
  const u32 k = 0;  // number of the partition
  Partition& part = partition(s, k);
  const PartitionRange& range = net.ranges[k];
  u64* const active = s.active_routers.data() + range.first_word;             // bit per router with a request
  u16* const sensed = net.sensed.kept() ? net.sensed.memory.of(s) : nullptr;  // Network::sensed; null: not kept
  u32* const resting = net.resting.kept() ? net.resting.of(s) : nullptr;      // Network::resting; null: not kept
  Hosts& hosts() const { return s.hosts[k]; }                                 // with a workload
};

// A plain run has no watched packet, no accounts of the jobs that use a channel and no traffic classes.
inline bool plain(const Frame& f) { return f.s.watched.empty() && f.net.accounted_jobs == 0 && !f.net.classes; }

}  // namespace flitgym
