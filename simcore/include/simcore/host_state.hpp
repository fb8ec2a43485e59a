// State of the hosts of a workload: ranks, operations, messages, and sums over jobs (src/workload).
#pragma once

#include "simcore/types.hpp"

namespace flitgym {

struct Rank {
  u64 block;              // present block of its program
  u64 started, finished;  // ps
  // Time computed so far, and start of the computation in progress (valid while `calculating` > 0), ps.
  u64 calc, calc_since;
  u64 bytes_sent, bytes_received;
  u32 calculating;                  // computations in progress
  u32 ops, left;                    // operations of the block, and unfinished operations
  u32 first_op, first_edge;         // position in Hosts::ops and Hosts::edges of its partition
  u32 op_class, edge_class;         // log2 of the room reserved in Hosts::ops and Hosts::edges
  u32 posted, last_posted;          // list of receives that wait for a message, in order; kNone
  u32 unexpected, last_unexpected;  // list of messages that wait for a receive
  u32 done;                         // 1: the program has ended
};

struct ActiveOp {
  u64 size;  // as in Op
  u32 peer;  // rank of the workload, or kAnySource
  i32 tag;
  u32 waits;              // number of operations that this operation waits for
  u32 first_edge, edges;  // operations that wait for this operation, in Hosts::edges
  u32 rank;
  u32 next;       // next operation in the list of posted receives
  u8 kind;        // OpKind
  u8 collective;  // 1: part of a collective; only with traffic classes
  u8 cpu, nic;
  u16 running;
  u16 early;  // without a network: 1 + processor whose successors are released before this operation ends; 0: none
  u32 index;  // position in its block
};
static_assert(sizeof(ActiveOp) == 48);

// An eager message is one transfer. A large message has four: a request, the fetch that answers it, the data, and an
// acknowledgement.
// A flow (Program::flow) has no receive, so it ends when its last packet has arrived.
enum class Transfer : u8 { kEager, kRequest, kFetch, kData, kAcknowledge, kFlow };

// A message. The sender keeps it until all packets are in the network, the receiver from the first packet on.
struct Message {
  u64 bytes = 0, begun = 0;         // begun: start of the send, ps
  u64 served = 0;                   // without a simulated network: time at which the receiver has handled it, ps
  u32 source = 0, destination = 0;  // ranks of the workload
  i32 tag = 0;
  // In Hosts::ops of its source and of its destination; kNone: none, or finished. The receiver of a flow keeps the
  // position of its FlowArrival in receive_op.
  u32 send_op = kNone, receive_op = kNone;
  u32 packets = 0;   // of the present transfer; sender: not yet in the network; receiver: not yet received
  Cycle handed = 0;  // time at which the NIC got the present transfer
  u32 next = kNone;  // next message in its list: an outbox, incoming messages of a pair, or unexpected messages
  u32 number = 0;    // number of the present transfer; see Pair
  u8 transfer = 0, collective = 0, cpu = 0, nic = 0;  // cpu, nic: those of the send, also at the receiver
};
static_assert(sizeof(Message) == 64);

struct PacketPayload {  // data of the message for its receiver, and the packet's share of the message
  u64 bytes, begun;     // as in Message
  u32 number;
  i32 tag;
  u32 send_op, receive_op;  // of a flow, receive_op is the number of the packet
  u32 own_bytes;
  u8 transfer, cpu, nic, reserved;
};
static_assert(sizeof(PacketPayload) == 40);

// Ends of a packet, if several ranks share a NIC.
struct PacketRanks {
  u32 sender, receiver;  // ranks of the workload
};

// Port of a rank at the intra-node link (src/core/hosts/node_link.cpp).
struct NodePort {
  u64 out_free = 0, in_free = 0;           // time from which each direction is free, ps
  u64 bytes_sent = 0, bytes_received = 0;  // of messages within the node, also from the rank to itself
  u64 messages_sent = 0, messages_received = 0;
};
static_assert(sizeof(NodePort) == 48);

// Transfers from one rank to another are numbered in the order in which the NIC got them. The receiver handles them in
// that order, whatever paths their packets took. Fetches and flows are numbered separately and handled at once.
struct Pair {
  u32 sender, receiver;  // ranks; kNone: a free entry of the table
  u32 sent, fetches;     // at the sender: numbers assigned up to now
  u32 handed_on;         // at the receiver: transfers handled up to now
  u32 incoming;          // at the receiver: first message in the list of messages that have begun to arrive; kNone
};

struct Outbox {  // transfers of a NIC that still have packets to inject
  u32 first, last;
  u32 next_flits;  // size of the next packet if it has found no room; otherwise 0
};

// kLinkHead, kLinkTail: the first and the last byte of a transfer reach the receiver's port of the intra-node link.
// kFlow: a rank sends its next flow. kSubmit: a job enters the queue of the scheduler.
enum class HostAction : u32 {
  kStartRank,
  kReady,
  kBegin,
  kDone,
  kHandOver,
  kArrive,
  kMatch,
  kLinkHead,
  kLinkTail,
  kFlow,
  kSubmit
};
struct HostEvent {
  u64 when, order;  // ps; order breaks ties
  u32 action, id;   // rank, operation, message or job
};

// LogGOPS: the queue of a processor or of one direction of an interface, sorted by `order`. The front entry has a host
// event at the time at which the resource becomes free. The next entry gets its event after this event.
struct HostQueue {
  u64 order = ~u64{0};         // order of the front entry
  u32 front = kNone;           // operation or message of the front entry, kNone: none
  u32 waiting = kNone;         // root of a pairing heap of the other entries, in Hosts::waiting
  u32 came = 0, reserved = 0;  // entries so far; among entries with equal order, the earlier one goes first
};
struct HostWaiting {
  u64 order;
  u32 number;          // breaks ties
  u32 action, id;      // as in HostEvent
  u32 child, sibling;  // of the pairing heap
  u32 reserved;
};
static_assert(sizeof(HostQueue) == 24 && sizeof(HostWaiting) == 32);

struct HostTotals {
  u64 order = 0;  // events so far
  u64 now = 0;    // time of the last event, ps
  u64 blocks_done = 0;
  u32 ranks_done = 0, messages_open = 0;  // messages_open: entries of the pool in use
  u32 pairs = 0;                          // entries of the table in use
  u32 news = 0;  // 1: a job was submitted or a rank has ended, and the scheduler has not seen it
};

struct JobTotals {
  u64 messages_sent = 0, messages_received = 0, bytes_sent = 0, bytes_received = 0;
  u64 packets = 0, flits = 0, hops = 0, nonminimal = 0;
  u64 latency = 0, latency_max = 0;                  // of packets, cycles
  u64 message_latency = 0, message_latency_max = 0;  // ps
  // Bytes handed to NICs and not yet received. The first partition has the sums over all partitions.
  u64 outstanding = 0, outstanding_peak = 0;
  u64 finished = 0;  // ps
  u32 ranks_done = 0, reserved = 0;
  // Adds another partition's totals. The larger of two maxima or times counts. One partition has all outstanding peaks.
  void operator+=(const JobTotals& o) {
    messages_sent += o.messages_sent, messages_received += o.messages_received;
    bytes_sent += o.bytes_sent, bytes_received += o.bytes_received;
    packets += o.packets, flits += o.flits, hops += o.hops, nonminimal += o.nonminimal;
    latency += o.latency, latency_max = std::max(latency_max, o.latency_max);
    message_latency += o.message_latency;
    message_latency_max = std::max(message_latency_max, o.message_latency_max);
    outstanding += o.outstanding, outstanding_peak += o.outstanding_peak;
    finished = std::max(finished, o.finished);
    ranks_done += o.ranks_done;
  }
};

// With several partitions: a change of JobTotals::outstanding within a partition window.
struct OutstandingChange {
  u64 when;  // ps; 0: a packet has arrived, which counts before the host events of the cycle
  i64 bytes;
  Cycle cycle;
  u32 job;
};
static_assert(sizeof(OutstandingChange) == 24);

// Packets of a flow that have arrived (src/core/hosts/flows.cpp).
struct FlowArrival {
  u32 end = 0;          // one more than the highest number of an arrived packet
  u32 missing = kNone;  // first of the ranges of packets below `end` that have not arrived, in order
  u32 late = 0;         // packets that arrived after a packet with a higher number
  u32 distance = 0;     // largest difference of these two numbers
  u32 held = 0;         // most packets that waited at the receiver for a lower number
  u32 reserved = 0;
};
struct MissingRange {
  u32 from, end, next;
};
struct FlowRecord {  // of a complete flow
  u64 begun, done;   // ps
  u64 bytes;
  u32 source, destination;  // terminals
  i32 kind;
  u32 packets, late, distance, held;
  u32 job;
};
static_assert(sizeof(FlowRecord) == 56);

// Data of a channel that the account of jobs touches for every flit (src/core/hosts/blame.hpp).
struct ChannelAccount {
  Cycle sending_until;  // end of the present transmission
  u32 job;              // job of the last flit
  Cycle stall_charged;  // cycle up to which the present stall is accounted
};

struct JobPoint {  // one interval of the time series of a job
  u64 packets = 0, bytes_received = 0, bytes_sent = 0, hops = 0, latency = 0;
  void operator+=(const JobPoint& o) {
    packets += o.packets, bytes_received += o.bytes_received, bytes_sent += o.bytes_sent;
    hops += o.hops, latency += o.latency;
  }
};

// The flows that a partition's terminals receive.
#define FLITGYM_FLOWS(X)                                                      \
  X(std::vector<FlowRecord>, complete)  /* in the order of their ends */      \
  X(std::vector<FlowArrival>, arrivals) /* [pool] of flows that arrive now */ \
  X(std::vector<u32>, free_arrivals)    /* entries not in use */              \
  X(std::vector<MissingRange>, missing) /* [pool] */                          \
  X(std::vector<u32>, free_missing)     /* entries not in use */

struct alignas(64) Flows {
  FLITGYM_FLOWS(FLITGYM_DECLARE)
};

}  // namespace flitgym
