// Costs of a message at the hosts of its two ends.
//
// LogGOPS (Hoefler, Schneider, Lumsdaine, HPDC 2010; event rules as in LogGOPSim). For a message of s bytes, the
// processor of the sender works o + (s-1) O, and its NIC is busy for g + (s-1) G. When the message has arrived, the
// processor of the receiver works o + (s-1) max(O, G). With a simulated network, L and G result from the network.
//
// MPI: the library and NIC in the simulator of the workload-interference study (SST firefly; values of
// SPEAR-UIC/q-adaptive_sst, branch df_interference_rl, platform_df1056Params.py). Every call has a cost of entry and of
// return. An eager message is copied. A rendezvous message registers its memory: once at the sender, and twice at the
// receiver, when it posts the receive and when it fetches the data. Matching has a cost per entry searched. The library
// makes progress only while a rank is inside a call, so messages that arrive during a computation wait for its end. A
// NIC answers a fetch without its host.
#pragma once

#include "simcore/workload.hpp"

namespace flitgym::workload {

inline u64 beyond_first(u64 bytes) { return bytes > 0 ? bytes - 1 : 0; }

inline bool is_eager(const HostModel& h, u64 bytes) { return bytes <= h.eager_bytes; }

inline u64 registration(const HostModel& h, u64 bytes) {
  return h.registration + bytes / h.page_bytes * h.registration_page;
}

// Processor time of a send until the message is at the NIC.
inline u64 send_work(const HostModel& h, u64 bytes) {
  if (h.kind == HostKind::kLogGops) return h.overhead + beyond_first(bytes) * h.overhead_per_byte;
  return h.call + h.send_setup + (is_eager(h, bytes) ? bytes * h.send_copy_per_byte : registration(h, bytes));
}

// Processor time of a receive before it searches for its message.
inline u64 receive_work(const HostModel& h, u64 bytes) {
  return h.kind == HostKind::kLogGops ? 0 : h.call + (is_eager(h, bytes) ? 0 : registration(h, bytes));
}

// Processor time of an arrived message before the search for its receive. `bytes` is 0 for the request of a rendezvous.
inline u64 arrival_work(const HostModel& h, u64 bytes) {
  if (h.kind == HostKind::kMpi) return h.receive_setup;
  const u64 per_byte = h.network || h.overhead_per_byte > h.gap_per_byte ? h.overhead_per_byte : h.gap_per_byte;
  return h.overhead + beyond_first(bytes) * per_byte;
}

// Processor time of a match after `looked_at` queue entries were searched.
inline u64 match_work(const HostModel& h, u64 bytes, u32 looked_at) {
  return h.kind == HostKind::kMpi
             ? looked_at * h.match + (is_eager(h, bytes) ? bytes * h.receive_copy_per_byte : registration(h, bytes))
             : 0;
}

// Processor time to return from a call.
inline u64 return_work(const HostModel& h) { return h.kind == HostKind::kMpi ? h.finish : 0; }

// Time for which a NIC is busy (LogGOPS).
inline u64 nic_work(const HostModel& h, u64 bytes) {
  if (h.kind == HostKind::kMpi) return 0;
  return h.gap + (h.network ? 0 : beyond_first(bytes) * h.gap_per_byte);
}

}  // namespace flitgym::workload
