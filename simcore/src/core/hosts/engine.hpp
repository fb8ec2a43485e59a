// The schedule engine runs the programs of the ranks. network_interface.cpp moves their messages through the network.
#pragma once

#include "core/stage/stage.hpp"
#include "simcore/workload.hpp"

namespace flitgym::workload {

void shape_workload(const Network& network, State& state, Shaper& make);
void start_workload(const Network& network, State& state);

// Processes all host events of a partition up to a time in ps. May be interrupted between two events.
void host_events(Frame& f, u64 until);
inline constexpr u64 kNoHostEvent = ~u64{0};
u64 next_host_event(const State& s);  // time of the earliest event in ps, or kNoHostEvent

// Cycles simulated so far, and cycle of the end of simulated time. Without a network only hosts have a time, in 64
// bits.
u64 present(const Network& network, const State& state);
u64 end_of_time(const Network& network);

void push_event(Hosts& hosts, u64 when, HostAction action, u32 id);
void put_event(Hosts& hosts, const HostEvent& event);  // an event whose order is given

// The terminal of a rank, kNone: the scheduler has not placed it yet. The lowest rank with a NIC.
inline u32 terminal_of(const Workload& w, const State& s, u32 rank) {
  return w.scheduled() ? w.scheduler.terminal.of(s)[rank] : w.rank_terminal[rank];
}
inline u32 rank_at(const Workload& w, const State& s, u32 terminal) {
  return w.scheduled() ? w.scheduler.rank.of(s)[terminal] : w.terminal_rank[terminal];
}
// Index of the partition that simulates a terminal.
inline u32 partition_of_terminal(const Network& net, u32 terminal) {
  return net.partition_of(net.terminal_router[terminal]);
}
// Starts a rank, at `when` or by the skew later.
void start_rank(const Network& net, State& s, u32 rank, u64 when);

// Takes an unused entry of a pool, which grows if there is none.
template <class Entry>
u32 take(std::vector<Entry>& pool, std::vector<u32>& unused) {
  u32 id = static_cast<u32>(pool.size());
  if (unused.empty()) return pool.emplace_back(), id;
  id = unused.back();
  unused.pop_back();
  return id;
}

// Adds an entry of a pool at the end of a list.
template <class Entry>
void append(std::vector<Entry>& pool, u32& first, u32& last, u32 id) {
  pool[id].next = kNone;
  (first == kNone ? first : pool[last].next) = id;
  last = id;
}

// network_interface.cpp
u32 new_message(Hosts& hosts);
void free_message(Hosts& hosts, u32 id);
void hand_over(Frame& f, u32 message);  // the current transfer of a message goes to its NIC
// Counts bytes of a job: positive when a NIC gets them to send, negative when the receiver has got them. `when` is the
// time of the event in ps.
void count_outstanding(Frame& f, u32 job, u64 when, i64 bytes);
// Count the data of a message: it goes into the network, and it has arrived at `when`. `order` is the `when` of
// count_outstanding().
void count_sent(Frame& f, const Message& m);
void count_received(Frame& f, const Message& m, u64 when, u64 order);
void settle_outstanding(State& s);                                  // call at the end of a partition window
u32 wire_packets(const Workload& w, u64 bytes, Transfer transfer);  // number of packets of a transfer
void fill_from_outbox(Frame& f, u32 terminal);  // moves packets to the NIC's buffer while there is space
void packet_delivered(Frame& f, u32 packet);    // the packet's tail has reached its terminal

// Flows (flows.cpp): packet `number` of a flow has arrived; all have arrived at `when`.
void flow_packet(Frame& f, Message& m, u32 number);
void flow_complete(Frame& f, u32 message, u64 when);

void hand_on(Frame& f, u32 message, u64 when, bool by_packet);  // the receiver has all bytes of the present transfer
JobPoint* job_point(Frame& f, u32 job);  // the present interval of a job's time series; null without a series

// Transfers between two ranks of a node (node_link.cpp). HostAction explains the events.
void enter_link(Frame& f, u32 message);
void link_head(Frame& f, u32 message);
void link_tail(Frame& f, u32 message);
void count_within_node(Frame& f, u32 message, bool received);

inline bool from_destination(Transfer t) { return t == Transfer::kFetch || t == Transfer::kAcknowledge; }
inline bool carries_data(Transfer t) { return t == Transfer::kEager || t == Transfer::kData || t == Transfer::kFlow; }
inline bool unordered(Transfer t) { return t == Transfer::kFetch || t == Transfer::kFlow; }  // see Pair
// Bytes that a transfer moves, with its header.
inline u64 wire_bytes(const Workload& w, u64 bytes, Transfer transfer) {
  return w.header_bytes[static_cast<u8>(transfer)] + (carries_data(transfer) ? bytes : 0);
}
inline Transfer transfer_of(const Message& m) { return static_cast<Transfer>(m.transfer); }
inline u32 sender(const Message& m) { return from_destination(transfer_of(m)) ? m.destination : m.source; }
inline u32 receiver(const Message& m) { return from_destination(transfer_of(m)) ? m.source : m.destination; }

// message_matrix.cpp: bytes and times of messages between each pair of ranks of a job, with `workload.message_matrix`.
// Declares the memories `message_*`. Throws ConfigError if a job has too many ranks for a table of all pairs.
MessageMatrix declare_message_matrix(Network& net, const std::vector<Job>& jobs);
// A rank calls its send; the last byte has arrived at `when` in ps. Messages of zero bytes, as in barriers, do not
// count.
void message_begun(const Workload& w, State& s, const Message& m);
void message_complete(const Workload& w, State& s, const Message& m, u64 when);

// scheduler.cpp: declares the memories of the scheduler. Throws ConfigError if it cannot schedule the jobs.
Scheduler declare_scheduler(const Params& params, Network& net, const Workload& w);
void schedule(const Network& net, State& s);  // call after host events, at the end of a partition window

// Reports the operations for which unfinished ranks wait, one line each for the first `most` ranks.
std::string waiting_report(const Network& network, const State& state, u32 most);

}  // namespace flitgym::workload
