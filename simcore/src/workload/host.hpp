// What a message costs the hosts at its two ends.
//
// LogGOPS (Hoefler, Schneider, Lumsdaine, HPDC 2010; event rules as in LogGOPSim): the sender's processor works o +
// (s-1) O, its NIC is taken for g + (s-1) G, the receiver's processor works o + (s-1) max(O, G) when the message is
// there. On a simulated network, L and G are what the network makes of them.
//
// MPI: the library and NIC of the workload-interference study's simulator (SST firefly; values of
// SPEAR-UIC/q-adaptive_sst, branch df_interference_rl, platform_df1056Params.py): every call has a cost of entry and of
// return, a short message is copied, a large one registers its memory (the sender once, the receiver when it posts and
// again when it fetches), matching costs per entry looked at. The library makes progress while a rank is in it, so what
// arrives during a computation waits for its end. A NIC answers a fetch by itself.
#pragma once

#include "simcore/workload.hpp"

namespace flitgym::workload {

inline u64 beyond_first(u64 bytes) { return bytes > 0 ? bytes - 1 : 0; }

inline bool is_eager(const HostModel& h, u64 bytes) { return bytes <= h.eager_bytes; }

inline u64 registration(const HostModel& h, u64 bytes) {
  return h.registration + bytes / h.page_bytes * h.registration_page;
}

// Processor time of a send before the message is with the NIC.
inline u64 send_work(const HostModel& h, u64 bytes) {
  if (h.kind == HostKind::kLogGops) return h.overhead + beyond_first(bytes) * h.overhead_per_byte;
  return h.call + h.send_setup + (is_eager(h, bytes) ? bytes * h.send_copy_per_byte : registration(h, bytes));
}

// Of a receive, before it looks for its message.
inline u64 receive_work(const HostModel& h, u64 bytes) {
  return h.kind == HostKind::kLogGops ? 0 : h.call + (is_eager(h, bytes) ? 0 : registration(h, bytes));
}

// Of a message (or a request, without its bytes) that has arrived, before it looks for its receive.
inline u64 arrival_work(const HostModel& h, u64 bytes) {
  if (h.kind == HostKind::kMpi) return h.receive_setup;
  const u64 per_byte = h.network || h.overhead_per_byte > h.gap_per_byte ? h.overhead_per_byte : h.gap_per_byte;
  return h.overhead + beyond_first(bytes) * per_byte;
}

// Of a message and a receive that have found each other after `looked_at` entries of a queue.
inline u64 match_work(const HostModel& h, u64 bytes, u32 looked_at) {
  return h.kind == HostKind::kMpi
             ? looked_at * h.match + (is_eager(h, bytes) ? bytes * h.receive_copy_per_byte : registration(h, bytes))
             : 0;
}

// Of a call that returns.
inline u64 return_work(const HostModel& h) { return h.kind == HostKind::kMpi ? h.finish : 0; }

// How long a NIC is taken (LogGOPS).
inline u64 nic_work(const HostModel& h, u64 bytes) {
  if (h.kind == HostKind::kMpi) return 0;
  return h.gap + (h.network ? 0 : beyond_first(bytes) * h.gap_per_byte);
}

}  // namespace flitgym::workload
