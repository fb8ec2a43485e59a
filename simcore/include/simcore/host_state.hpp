// What the hosts of a workload keep in the State: what a rank does, its messages, and sums over jobs (src/workload).
#pragma once

#include "simcore/types.hpp"

namespace flitgym {

struct Rank {
  u64 block;              // of its program
  u64 started, finished;  // ps
  u64 calc, calc_since;   // time in which it computed; since when, while `calculating` > 0
  u64 bytes_sent, bytes_received;
  u32 calculating;                  // computations that run now
  u32 ops, left;                    // operations of the block, and those that have not finished
  u32 first_op, first_edge;         // in Hosts::ops and Hosts::edges of its partition
  u32 op_class, edge_class;         // log2 of the room it has there
  u32 posted, last_posted;          // receives that wait for a message, in order; kNone
  u32 unexpected, last_unexpected;  // messages that wait for a receive
  u32 done;                         // the program has ended
};

struct ActiveOp {
  u64 size;  // as in Op
  u32 peer;  // rank of the workload, or kAnySource
  i32 tag;
  u32 waits;              // for so many others
  u32 first_edge, edges;  // those that wait for it
  u32 rank;
  u32 next;  // behind it in the list of posted receives
  u16 kind;  // OpKind
  u8 cpu, nic;
  u16 running, reserved;
  u32 index;  // in its block
};
static_assert(sizeof(ActiveOp) == 48);

// An eager message is one transfer; a large one is a request, an answer that fetches it, the data, and an
// acknowledgement.
enum class Transfer : u8 { kEager, kRequest, kFetch, kData, kAcknowledge };

// kept by whoever has it: its sender until all is in the network, its receiver from the first packet on
struct Message {
  u64 bytes, begun;         // begun: ps, when its send began
  u64 served;               // ps, when its receiver will be done with it (without a network)
  u32 source, destination;  // ranks of the workload
  i32 tag;
  u32 send_op, receive_op;  // in Hosts::ops of its source, of its destination; kNone when there is none (any more)
  // of the present transfer: at its sender that have not entered, at its receiver not left the network
  u32 packets;
  Cycle handed;                     // when the NIC was given the present transfer
  u32 next;                         // in an outbox, among what comes in from a rank, or among the unexpected
  u32 number;                       // of the present transfer: see Pair
  u8 transfer, reserved, cpu, nic;  // cpu, nic: of the send; those of the same numbers at the receiver take it
};
static_assert(sizeof(Message) == 64);

struct PacketPayload {  // what its receiver must know of the message, and what this packet carries of it
  u64 bytes, begun;     // as in Message
  u32 number;
  i32 tag;
  u32 send_op, receive_op;
  u32 own_bytes;
  u8 transfer, cpu, nic, reserved;
};
static_assert(sizeof(PacketPayload) == 40);

// Transfers from one rank to another are numbered in the order in which the NIC was given them, and go on in that
// order, whatever ways their packets took. Fetches have numbers of their own and go past that order.
struct Pair {
  u32 sender, receiver;  // ranks; kNone: a free place of the table
  u32 sent, fetches;     // at the sender: numbers given so far
  u32 handed_on;         // at the receiver: so many have gone on
  u32 incoming;          // the same: first of those of which some packets, or all, are there; kNone
};

struct Outbox {  // of a NIC: transfers that still have packets to inject
  u32 first, last;
  u32 next_flits;  // of the packet that goes next, once it has been looked at and found no room; else 0
};

enum class HostAction : u32 { kStartRank, kReady, kBegin, kDone, kHandOver, kArrive, kMatch };
struct HostEvent {
  u64 when, order;  // ps; order breaks ties
  u32 action, id;   // rank, operation or message
};

// LogGOPS: what has to wait for a processor, or for one direction of an interface, waits in its queue by order. The one
// in front is among the host events, for when the resource is free; the others are asked when it has gone on.
struct HostQueue {
  u64 order = ~u64{0};         // of the one in front
  u32 front = kNone;           // its operation or message, kNone: nobody
  u32 waiting = kNone;         // root of a pairing heap of the others, in Hosts::waiting
  u32 came = 0, reserved = 0;  // so many have come to wait: the first of equal orders goes first
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
  u64 now = 0;    // ps, of the last event
  u64 blocks_done = 0;
  u32 ranks_done = 0, messages_open = 0;  // open: entries of the pool in use
  u32 pairs = 0, reserved = 0;            // in the table
};

struct JobTotals {
  u64 messages_sent = 0, messages_received = 0, bytes_sent = 0, bytes_received = 0;
  u64 packets = 0, flits = 0, hops = 0, nonminimal = 0;
  u64 latency = 0, latency_max = 0;                  // of packets, cycles
  u64 message_latency = 0, message_latency_max = 0;  // ps
  // bytes handed to NICs and not yet received: of all partitions, in the first
  u64 outstanding = 0, outstanding_peak = 0;
  u64 finished = 0;  // ps
  u32 ranks_done = 0, reserved = 0;
};

// With several partitions, how the bytes outstanding change within a window.
struct OutstandingChange {
  u64 when;  // ps; 0: by a packet that has arrived, before the hosts' turn
  i64 bytes;
  Cycle cycle;
  u32 job;
};
static_assert(sizeof(OutstandingChange) == 24);

// What the account of jobs touches with every flit on a channel (src/workload/blame.hpp).
struct ChannelAccount {  // 16 bytes: four ports of a router in a cache line
  Cycle sending_until;   // what is on the channel is off it
  Cycle busy;            // cycles that it has carried flits in the window, until then
  u32 job;               // whose flits those on it and the last before them are
  u32 flits;             // of them, in the window, that are not in job_flits yet
};  // busy and flits mean nothing while no window is open
static_assert(sizeof(ChannelAccount) == 16);

struct JobPoint {  // one interval of the time series of a job
  u64 packets = 0, bytes_received = 0, bytes_sent = 0, hops = 0, latency = 0;
};

}  // namespace flitgym
