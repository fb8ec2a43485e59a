// The schedule engine: ranks run their programs, and messages go through the network (network_interface.cpp).
#pragma once

#include "simcore/workload.hpp"
#include "stage/stage.hpp"

namespace flitgym::workload {

void shape_workload(const Network& network, State& state, Shaper& make);
void start_workload(const Network& network, State& state);

// Everything that is due at the hosts of a partition up to a time in ps. May be interrupted between two events.
void host_events(Frame& f, u64 until);
bool no_host_events(const State& s);  // nothing is due at any host, ever
u64 next_host_event(const State& s);  // ps, of the earliest; all ones: none

void push_event(Hosts& hosts, u64 when, HostAction action, u32 id);
void put_event(Hosts& hosts, const HostEvent& event);  // one whose order is known

// Number of the partition that simulates a rank.
inline u32 partition_of_rank(const Network& net, u32 rank) {
  return net.partition_of(net.terminal_router[net.workload->rank_terminal[rank]]);
}

// network_interface.cpp
u32 new_message(Hosts& hosts);
void free_message(Hosts& hosts, u32 id);
void hand_over(Frame& f, u32 message);  // the present transfer of a message goes to its NIC
// Bytes of a job that a NIC was given (when: ps of the event), or that their receiver has.
void count_outstanding(Frame& f, u32 job, u64 when, i64 bytes);
void settle_outstanding(State& s);                                  // as a window of cycles ends
u32 wire_packets(const Workload& w, u64 bytes, Transfer transfer);  // of a transfer of a message of so many bytes
void fill_from_outbox(Frame& f, u32 terminal);                      // packets into the NIC's buffer while there is room
void packet_delivered(Frame& f, u32 packet);                        // its tail has reached its terminal

inline bool from_destination(Transfer t) { return t == Transfer::kFetch || t == Transfer::kAcknowledge; }
inline bool carries_data(Transfer t) { return t == Transfer::kEager || t == Transfer::kData; }
inline Transfer transfer_of(const Message& m) { return static_cast<Transfer>(m.transfer); }
inline u32 sender(const Message& m) { return from_destination(transfer_of(m)) ? m.destination : m.source; }
inline u32 receiver(const Message& m) { return from_destination(transfer_of(m)) ? m.source : m.destination; }

// What the ranks that have not finished wait for, the first `most` of them, a line each.
std::string waiting_report(const Network& network, const State& state, u32 most);

}  // namespace flitgym::workload
