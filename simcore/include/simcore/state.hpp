// State: everything that changes in a run. It consists of flat arrays of plain structs with integer ids and without
// pointers, so a copy of the arrays is a copy of the simulation. FLITGYM_STATE below is the list of fields. It
// generates their declarations, and the code that saves them, hashes them and shows them to Python. A routing,
// observation or reward declares its data separately (memory.hpp).
#pragma once

#include <functional>
#include <span>
#include <type_traits>

#include "simcore/control_state.hpp"
#include "simcore/delay_line.hpp"
#include "simcore/host_state.hpp"
#include "simcore/network.hpp"
#include "simcore/program.hpp"
#include "simcore/wheel.hpp"

namespace flitgym {

// A flit in a buffer or on a channel: packet id and three flags.
using Flit = u32;
inline constexpr Flit kHead = 1, kTail = 2, kWatched = 4;
inline constexpr u32 kFlitShift = 3;
inline u32 packet_of(Flit flit) { return flit >> kFlitShift; }

// Position of a packet on a path of two legs (Valiant).
enum Phase : u8 { kUndecided = 0, kMinimal = 1, kToIntermediate = 2, kFromIntermediate = 3 };

struct Packet {             // 32 bytes that every hop reads
  u32 source, destination;  // terminals
  u32 sequence;             // number of packets that the source generated before; source and sequence name a packet
  Cycle generated;          // time by the generation clock of its source
  Cycle injected;           // time at which its NIC accepted it
  u16 flits;
  u8 hops;  // router-to-router channels traversed
  Phase phase;
  u8 nonminimal;  // 1: has taken or takes a non-minimal path
  u8 job;         // number of the job in a workload
  u8 marked;      // 1: it met a long queue (congestion control)
  u8 traffic_class;
  // For packets that keep together (src/core/stage/train.hpp): cycle in which the tail reaches the buffer that the head
  // is in now.
  Cycle tail;
};
static_assert(sizeof(Packet) == 32);

struct PacketDetail {  // 16 bytes that only learning routings touch
  // Arrival of the head in the present input buffer. A routing may set it to the time of its decision.
  Cycle arrived;
  u32 reward;   // cycles from the `arrived` of the previous router to the head's arrival in this input buffer
  float value;  // estimate of this router for the upstream router, in ns; negative: none is sent
  u32 row;      // row of the upstream router's table that the estimate updates
};
static_assert(sizeof(PacketDetail) == 16);

// Reserved values of 16-bit VC numbers.
inline constexpr u16 kNoVc = 0xffff, kNotParked = 0xfffe;

// A buffer stores a queue of packets and a count of flits. The flits of a packet pass through it in order, so single
// flits are not stored. `next` links the packets. A packet may extend over several buffers. Other packets can queue
// behind it only where its tail is, in the buffer farthest upstream. One entry of `next` per packet is therefore
// enough.
//
// Four records of a VC fill a cache line. Data that few hops touch have arrays of their own (served, owners).
struct InputVc {
  Flit front, back;  // first and last packet (id and watched flag), kNone if empty
  u16 count;         // flits in this buffer
  u16 sent;          // flits of the front packet that have left
  u16 out_port;      // router-local output port of the front packet, valid while routed
  u16 out_vc;        // its output VC, kNoVc while it has no route
  bool routed() const { return out_vc != kNoVc; }
};
static_assert(sizeof(InputVc) == 16);

struct OutputVc {
  Flit front, back;  // queue of packets (routers with output buffers, NICs), as in InputVc
  u16 count;
  u16 sent;
  u16 credits;  // free downstream slots, in flits
  u16 parked;  // first input VC in the list of input VCs that wait for room here, by its number in the router, or kNoVc
};
static_assert(sizeof(OutputVc) == 16);

// Flits for which this output VC of a router has room: in its queue, and downstream if the switch takes the credits.
inline u32 room(const RouterParams& r, const OutputVc& out) {
  const u32 credits = r.output_depth == 0 || r.charged_at_switch ? out.credits : 65535u;
  return (r.output_depth == 0 ? credits : std::min(credits, r.output_depth)) - out.count;
}

// One cache line with all data of a port that a passing flit touches, as output and as crossbar input.
struct alignas(64) Port {
  u64 flits;                // flits sent on the channel since the window began
  u64 window_flits;         // `flits` at the end of the window
  u64 stall;                // cycles in the window without credit for waiting flits
  Cycle busy_until;         // end of the transmission on the channel
  u32 waiting_vcs;          // bit per VC whose queue is not empty
  u32 queued;               // flits in those queues
  u32 load;                 // queued flits + flits sent and not yet credited
  Cycle stalled_since;      // valid while stalled
  Cycle input_busy_until;   // crossbar, from this port
  Cycle output_busy_until;  // crossbar, to this port
  u16 next_vc;              // round robin: first VC to consider for sending
  u16 next_request;         // round robin: first bit of the request mask to consider
  u16 awake;                // 1: a send is scheduled
  u16 stalled;              // 1: has flits to send and no credit
  u32 flits_before;         // flits sent before the window began, modulo 2^32; 0 without Network::keeps_flits
};
static_assert(sizeof(Port) == 64);

// A round is the group of packets that a source generates at one tick of its clock (Network::round_size).
struct Terminal {
  u64 next_tick;     // time of the next generation, cycles in 32.32 fixed point
  Cycle tick;        // time of the tick of the present round; with on_off: end of the present burst or pause
  u32 sequence;      // packets accepted so far
  u32 round, index;  // rounds begun; accepted packets of the present round
  u32 left;          // packets of the present round that are not yet accepted
  u32 step;          // present step of the load (Network::load_steps)
};
static_assert(sizeof(Terminal) == 32);

struct FlitEvent {
  u32 vc;  // input VC; VCs of terminals start at router_ports << vc_shift
  Flit flit;
};
struct CreditEvent {
  u32 vc;          // output VC
  u16 flits, job;  // slots that became free, and the account (account_of) of the flits that left them
};
struct FeedbackEvent {
  u32 port, row;  // upstream output port, and row of its router's table
  float target;   // ns
};

struct Totals {
  Cycle now = 0;
  u32 collected = 0;                                 // 1 between collect() and apply()
  u64 moves = 0;                                     // flits switched or sent since cycle 0, for the watchdog
  u64 packets_in_network = 0, flits_in_network = 0;  // accepted by a NIC and not yet delivered
  u64 flits_accepted = 0, flits_ejected = 0;         // since cycle 0
  u32 sources_stopped = 0, frozen = 0;               // 1: generation has stopped; learning has stopped
  u32 backlogged = 0;                                // terminals that wait for room in their NIC
  u32 epoch = 0;                                     // index of the present graph in Network::graphs
};

// Log-linear histogram: exact below 128 cycles, then 64 bins per octave.
inline constexpr u32 kHistogramBins = 128 + 64 * 25;

struct Window {  // measurements since begin_window()
  u64 open = 0, begin = 0, end = 0;
  u64 generated = 0, accepted = 0;  // packets
  double missed = 0;                // packets not generated because of a full NIC (source_backlog=lost)
  u64 delivered = 0, flits = 0, flit_hops = 0;
  u64 hops = 0, nonminimal = 0;                 // sums over packets delivered
  u64 latency_nic = 0, latency_generation = 0;  // sums, cycles
  u64 max_nic = 0, max_generation = 0;
};

struct SeriesPoint {  // one interval
  u64 packets = 0, flits = 0, hops = 0, latency = 0;
  void operator+=(const SeriesPoint& o) {
    packets += o.packets, flits += o.flits, hops += o.hops, latency += o.latency;
  }
};

struct LearningTotals {
  u64 decisions = 0;       // decisions since cycle 0, recorded or not
  u64 recorded = 0;        // decisions with a record
  u64 transitions = 0;     // transitions written to the ring
  double epsilon = 0;      // probability of a random slot (policy)
  double temperature = 0;  // of the softmax from which a slot is drawn; 0: the best slot (policy)
};

// Packets of a terminal that were delivered or given up.
struct Delivered {
  double packets = 0, moment = 0;  // number of these packets; sum of the cycles of their delivery or abandonment
  // Number of packets that were due when the source stopped; no further packets become due. Infinite while it runs.
  double most_due = std::numeric_limits<double>::infinity();
};

// With several partitions: packets delivered within a partition window.
struct Delivery {
  double packets;
  u32 terminal;  // source
  Cycle cycle;
};
static_assert(sizeof(Delivery) == 16);

// A decision without a transition yet: its reward is not known, or the feedback is still on its way to the router.
struct OpenDecision {
  u64 number;          // number of decisions before it in this network, recorded or not
  u64 next;            // number of the packet's next decision; ~0 if the packet was delivered without one
  Cycle decided, due;  // due: cycle in which the feedback is back at the router
  u32 router;
  u32 previous;  // earlier open decision of the same packet, kNone
  float reward, log_probability;
  u16 action, done;
  u32 job;
};
static_assert(sizeof(OpenDecision) == 48);

// X(type, name) with the meaning of each array. Arrays of the FIXED lists keep their sizes from cycle 0 on, so NumPy
// views of them stay valid. Arrays of the GROWING lists change their sizes during a run. Pools and queues grow with the
// packets in the network, and time series grow with time.

// Data that routers share: sums, pools of ids and events in flight. Each partition has its own, so that threads do not
// contend (src/core/partition.cpp). Time and flags (open, sources_stopped, frozen, epoch) are the same in all
// partitions.
#define FLITGYM_PARTITION_FIXED(X)                                                                  \
  X(Totals, totals)                         /* scalars */                                           \
  X(Window, window)                         /* sums over the measurement window */                  \
  X(std::vector<u32>, histogram_nic)        /* [bins] packet latency from NIC acceptance, cycles */ \
  X(std::vector<u32>, histogram_generation) /* [bins] packet latency from generation, cycles */     \
  X(LearningTotals, learning)               /* scalars of the learning seam */

#define FLITGYM_PARTITION_GROWING(X)                                                                                  \
  X(std::vector<SeriesPoint>, series)          /* time series from cycle 0 */                                         \
  X(std::vector<u32>, free_packets)            /* ids not in use */                                                   \
  X(std::vector<u32>, route_list)              /* input VCs whose head requests a route in the next cycle */          \
  X(DelayLines<FlitEvent>, flit_lines)         /* flits on channels */                                                \
  X(DelayLines<CreditEvent>, credit_lines)     /* credits on channels */                                              \
  X(DelayLines<FeedbackEvent>, feedback_lines) /* learning feedback on channels */                                    \
  X(Wheel<u32>, ports_due)                     /* output ports that may send */                                       \
  X(Wheel<FlitEvent>, tails_due)               /* packets that keep together, by arrival of the tail at a terminal */ \
  X(Wheel<u32>, sources_due)                   /* terminals whose generation clock ticks */                           \
  X(Wheel<u32>, routes_due)                    /* heads inside the router pipeline */                                 \
  X(std::vector<FeedbackEvent>, feedback_received) /* of this cycle, with routing=external */                         \
  X(std::vector<u32>, free_decisions)              /* entries of the pool of open decisions not in use */             \
  X(std::vector<Delivery>, deliveries) /* since the present partition window began; with a learning seam */           \
  X(Wheel<u32>, news) /* decisions with known reward, by the cycle in which the feedback reaches their router */

#define FLITGYM_PARTITION(X) FLITGYM_PARTITION_FIXED(X) FLITGYM_PARTITION_GROWING(X)

// Threads must not share a cache line.
struct alignas(64) Partition {
  FLITGYM_PARTITION(FLITGYM_DECLARE)
  template <class Visit>
  void each_lines(Visit&& visit) {
    visit(flit_lines), visit(credit_lines), visit(feedback_lines);
  }
};

// The hosts of a partition's terminals: their events, operations and messages, and sums. Empty without a workload.
#define FLITGYM_HOSTS(X)                                                                                               \
  X(HostTotals, totals)                  /* scalars */                                                                 \
  X(std::vector<JobTotals>, job_totals)  /* [jobs] */                                                                  \
  X(std::vector<u32>, job_histogram)     /* [jobs, bins] packet latency, cycles */                                     \
  X(std::vector<u32>, message_histogram) /* [jobs, bins] message latency, ns */                                        \
  X(std::vector<u32>, free_ops) /* [32] by power of two: first free piece of `ops` of that size; kNone if none. Pieces \
                                   are linked by `next`. */                                                            \
  X(std::vector<u32>, free_edges)    /* [32] the same for `edges`. The first entry of a piece is the link. */          \
  X(std::vector<HostEvent>, events)  /* binary heap, earliest first */                                                 \
  X(std::vector<ActiveOp>, ops)      /* operations of the present blocks, in pieces of powers of two */                \
  X(std::vector<u32>, edges)         /* successors of each operation; top bit: released at its start, not its end */   \
  X(std::vector<Message>, messages)  /* [pool] */                                                                      \
  X(std::vector<u32>, free_messages) /* ids not in use */                                                              \
  X(std::vector<Pair>, pairs) /* hash table by sender and receiver, at most half full (network_interface.cpp) */       \
  X(std::vector<HostWaiting>, waiting)           /* [pool] of host_queues (LogGOPS) */                                 \
  X(std::vector<u32>, free_waiting)              /* entries of that pool not in use */                                 \
  X(std::vector<JobPoint>, job_series)           /* [intervals, jobs] from cycle 0 */                                  \
  X(std::vector<OutstandingChange>, outstanding) /* since the present partition window began */

struct alignas(64) Hosts {
  FLITGYM_HOSTS(FLITGYM_DECLARE)
};

using Memories = std::vector<Memory>;

#define FLITGYM_STATE_FIXED(X)                                                                                        \
  X(Array<InputVc>, input_vcs)   /* [router_ports << vc_shift] */                                                     \
  X(Array<OutputVc>, output_vcs) /* [port_count << vc_shift] */                                                       \
  X(Array<u32>, served)    /* [input VCs] key of the arbiter; the smallest is served first. Least recently served:    \
                                    stamp of the last grant. Age: time at which the front packet was generated. */    \
  X(Array<u16>, park_next) /* [input VCs] next input VC in the list of the same output VC, by its number in the       \
                                    router; kNoVc: the last one, kNotParked: in no list */                            \
  X(Array<u32>, owners)    /* [input_vcs.size()] input VC whose packet holds this output VC of a router, kNone */     \
  X(std::vector<Cycle>, owned_since)   /* [as owners] cycle in which the owner won this VC; only with separate VC     \
                                          allocation */                                                               \
  X(Array<Port>, ports)                /* [port_count] */                                                             \
  X(Array<u64>, requests)              /* [router_ports, request_words] bit per input VC that requests this output */ \
  X(std::vector<u64>, outputs_asked)   /* [routers, asked_words] bit per output with a request */                     \
  X(Array<u64>, active_routers)        /* bit per router with a request; a partition's words begin a cache line */    \
  X(std::vector<u32>, stamps)          /* [routers] next stamp of least-recently-served arbitration */                \
  X(Array<Terminal>, terminals)        /* [terminals] */                                                              \
  X(std::vector<u32>, series_interval) /* [1] cycles, 0 = off */

#define FLITGYM_STATE_GROWING(X)                                                               \
  X(Partition, part)                 /* the first partition; most networks have no other */    \
  X(std::vector<Partition>, further) /* [Network::partitions() - 1] the other partitions */    \
  X(Memories, memory)                /* [Network::memories] data of components (memory.hpp) */ \
  X(Array<Packet>, packets)          /* [pool] by packet id */                                 \
  X(Array<PacketDetail>, details)    /* [pool] */                                              \
  X(Array<Flit>, next)               /* [pool] the packet behind this one in its queue */      \
  X(std::vector<u32>, watched)       /* [source, sequence] pairs of watched packets */

// State of a workload; empty without one.
#define FLITGYM_STATE_WORKLOAD_FIXED(X)                                                                                \
  X(std::vector<Rank>, ranks)                  /* [ranks] */                                                           \
  X(std::vector<u64>, cpu_free)                /* [ranks, cpus] time from which the processor is free, ps */           \
  X(std::vector<u64>, nic_free)                /* [ranks, nics, 2] the same for sending and receiving (LogGOPS) */     \
  X(std::vector<Outbox>, outboxes)             /* [terminals, traffic classes] */                                      \
  X(std::vector<ChannelAccount>, job_channels) /* [router_ports] */                                                    \
  X(std::vector<u64>, job_flits)               /* [router_ports, jobs] flits sent on the channel in the window */      \
  X(std::vector<u32>, job_queued) /* [router_ports << vc_shift, jobs] packets in this input VC, and in the NIC that    \
                                     feeds it */                                                                       \
  X(std::vector<u32>,                                                                                                  \
    job_waiting) /* [router_ports, jobs] unsent packets whose output is this port, or queued behind such a packet */   \
  X(std::vector<u16>, job_downstream) /* [router_ports << vc_shift, jobs] downstream slots that the job holds */       \
  X(std::vector<u64>, job_stall)      /* [router_ports, jobs] cycles without credit while the job had packets there */ \
  X(std::vector<u64>, wait_blame)     /* [router_ports, jobs, jobs] packet-cycles of waiting while flits of the        \
                                         other job were sent, up to the end of the present flit */                     \
  X(std::vector<double>, stall_blame) /* [router_ports, jobs, jobs] packet-cycles of stalls behind the other's flits   \
                                       */

#define FLITGYM_STATE_WORKLOAD_GROWING(X)              \
  X(std::vector<Hosts>, hosts)      /* [partitions] */ \
  X(Array<PacketPayload>, payloads) /* [pool] by packet id */

// State of LogGOPS hosts; empty with other hosts.
#define FLITGYM_STATE_LOGGOPS(X) \
  X(std::vector<HostQueue>, host_queues) /* [ranks, cpus + 2 nics] processors, interfaces (send, receive) */

// State of flows; empty without them.
#define FLITGYM_STATE_FLOWS(X) X(std::vector<Flows>, flows) /* [partitions] */

// State of nodes with several ranks; empty with one rank per node.
#define FLITGYM_STATE_NODES_FIXED(X) X(std::vector<NodePort>, node_ports) /* [ranks] */
#define FLITGYM_STATE_NODES_GROWING(X) \
  X(std::vector<PacketRanks>, packet_ranks) /* [pool] by packet id; empty if every rank has its own NIC */

// State of the learning seam (learning.hpp); empty without one. A transition is a decision with its reward and the next
// observation. Transition n is in row n mod capacity of the ring. Next observation and mask are 0 if the packet has no
// next decision, or if the reward is not computed there (RewardSpec::at_next_decision).
#define FLITGYM_STATE_LEARNING_FIXED(X)                                                                        \
  X(AlignedFloats, weights)                    /* weights of the policy's network */                           \
  X(std::vector<float>, ring_observation)      /* [capacity, width] */                                         \
  X(std::vector<float>, ring_next_observation) /* [capacity, width] at the packet's next decision, or 0 */     \
  X(std::vector<u8>, ring_mask)                /* [capacity, slots] */                                         \
  X(std::vector<u8>, ring_next_mask)           /* [capacity, slots] */                                         \
  X(std::vector<i64>, ring_action)             /* [capacity] chosen slot */                                    \
  X(std::vector<float>, ring_reward)           /* [capacity] */                                                \
  X(std::vector<u8>, ring_done)                /* [capacity] 1: delivered */                                   \
  X(std::vector<float>, ring_log_probability)  /* [capacity] of the action at the time of the decision */      \
  X(std::vector<u64>, ring_decision)           /* [capacity] number of the decision */                         \
  X(std::vector<u64>, ring_next_decision)      /* [capacity] number of the packet's next decision, ~0: none */ \
  X(std::vector<u32>, ring_router)             /* [capacity] router of the decision */                         \
  X(std::vector<u32>, ring_decided)            /* [capacity] cycle of the decision */                          \
  X(std::vector<u32>, ring_job)                /* [capacity] job of the packet */                              \
  X(std::vector<Delivered>, delivered_from)    /* [terminals] by source */

#define FLITGYM_STATE_LEARNING_GROWING(X)                          \
  X(std::vector<OpenDecision>, open_decisions) /* [pool] */        \
  X(std::vector<float>, open_observation)      /* [pool, width] */ \
  X(std::vector<float>, open_next_observation) /* [pool, width] */ \
  X(std::vector<u8>, open_mask)                /* [pool, slots] */ \
  X(std::vector<u8>, open_next_mask)           /* [pool, slots] */ \
  X(std::vector<u32>, last_decision)           /* [packet pool] latest open decision of the packet, kNone */

// State of a congestion control; empty without one.
#define FLITGYM_STATE_CONTROL_FIXED(X)                                 \
  X(Array<SenderFlow>, sender_flows) /* [terminals, Control::flows] */ \
  X(std::vector<Cycle>, next_try)    /* [terminals] cycle of the next try of a source that waits for time, kNone */
#define FLITGYM_STATE_CONTROL_GROWING(X) X(std::vector<Acknowledgements>, acknowledgements) /* [partitions] */

// clang-format off
#define FLITGYM_STATE(X)                                               \
  FLITGYM_STATE_FIXED(X) FLITGYM_STATE_GROWING(X)                       \
  FLITGYM_STATE_WORKLOAD_FIXED(X) FLITGYM_STATE_WORKLOAD_GROWING(X)     \
  FLITGYM_STATE_LOGGOPS(X) FLITGYM_STATE_FLOWS(X)                       \
  FLITGYM_STATE_NODES_FIXED(X) FLITGYM_STATE_NODES_GROWING(X)           \
  FLITGYM_STATE_LEARNING_FIXED(X) FLITGYM_STATE_LEARNING_GROWING(X)     \
  FLITGYM_STATE_CONTROL_FIXED(X) FLITGYM_STATE_CONTROL_GROWING(X)
// clang-format on

struct State {
  FLITGYM_STATE(FLITGYM_DECLARE)
};

// Time, flags, and sums over all partitions.
Totals totals(const State& s);
HostTotals host_totals(const State& s);  // all 0 without a workload

inline Partition& partition(State& s, u32 k) { return k == 0 ? s.part : s.further[k - 1]; }
inline const Partition& partition(const State& s, u32 k) { return k == 0 ? s.part : s.further[k - 1]; }

inline const float* LearnedTable::values(const State& s, u32 router, u32 at, float* space) const {
  const Memory& m = s.memory[memory];
  return m.sparse.empty() ? row(s, router, at) : m.values(router, at, space);
}
inline float& LearnedTable::entry(State& s, u32 router, u32 at, u32 column) const {
  Memory& m = s.memory[memory];
  return m.sparse.empty() ? row(s, router, at)[column] : m.entry(router, at, column);
}
inline const void* LearnedTable::place(const State& s, u32 router, u32 at) const {
  const Memory& m = s.memory[memory];
  if (m.sparse.empty()) return row(s, router, at);
  return m.sparse.data() + std::size_t{router} * rows + at;
}

// The decisions that an agent makes in one cycle (learning.hpp).
struct Decisions {
  u32 count = 0;
  // Sized once, because views of them may exist.
  std::vector<float> observation;             // [count, width]
  std::vector<u8> mask;                       // [count, slots] 1: the slot has a candidate; these slots come first
  std::vector<u32> request;                   // [count] index in the batch
  std::vector<u32> slot_count;                // [count]
  std::vector<u16> ports, classes;            // [count, slots]
  std::vector<u32> chosen;                    // [count]
  std::vector<double> weights;                // [count, slots, 2] watched packets: weight, and ns of the path
  std::vector<float> log_probability;         // [count] of the choice; NaN: not known
  std::vector<float> gathered, rows, scores;  // scratch memory of the neural network
  std::vector<u32> lists;                     // the same
};

// The requests of a cycle: the packet in front of an input VC needs an output port and a VC class. The arrays are
// parallel, and `count` entries are valid. collect() fills them, and a routing or an agent completes them. Small
// numbers have 16 bits, because a store through an 8-bit type may alias any object, so the compiler would reload every
// pointer.
struct Batch {
  u32 count = 0;
  Cycle now = 0;
  std::vector<u32> input_vc, packet, router;
  std::vector<u16> in_port, in_vc;       // router-local
  std::vector<u16> out_port, out_class;  // the decision
  // The candidates of request i are entries offsets[i] .. offsets[i+1]-1. Entries after the last one are old.
  std::vector<u32> offsets;
  std::vector<u16> candidate_port, candidate_class;
  Decisions decisions;  // the decisions of a learning seam
  std::string log;      // text about watched packets
};

// Buffers that are reused from cycle to cycle. Most are scratch memory. The batch must survive between collect() and
// apply(). After an interruption, `routes`, `at_hosts`, `at_routing`, `answered` and `acknowledgements` must survive as
// well.
struct alignas(64) Workspace {
  Batch batch;
  Block block;  // block that a rank enters
  std::vector<u32> degrees;
  std::vector<u32> ids, routes;
  std::vector<u32> again;  // [router ports] input VCs whose next packet comes to the front; one per granted output
  std::vector<FlitEvent> tails;
  std::vector<Acknowledgement> acknowledgements;  // that have come back in this cycle
  std::vector<u32> answered;                      // delivered packets that become acknowledgements in this cycle
  bool verify_choices = false;  // verify before they are applied, because the state or a table came from a user
  struct Starting {             // an operation whose start lets other operations start
    u32 op, edge;
  };
  std::vector<Starting> starting;
  // An interrupted cycle continues at its host events (at_hosts) or at its decisions (at_routing).
  bool at_hosts = false, at_routing = false;
};

// Gives arrays their first size, or only counts the memory for it.
class Shaper {
 public:
  explicit Shaper(bool only_counts) : only_counts_(only_counts) {}
  template <class T, class A>
  void operator()(std::vector<T, A>& array, std::size_t size, const T& value) {
    bytes_ += std::is_same_v<A, ArrayAllocator<T>> ? array_bytes(size * sizeof(T)) : size * sizeof(T);
    if (only_counts_) return;
    array.assign(size, value);
    worked(size * sizeof(T) / 4);
  }
  template <class T>
  void operator()(Wheel<T>& wheel, u32 longest) {
    bytes_ += std::size_t{longest} * 2 * sizeof(u32);
    if (!only_counts_) wheel.reset(longest);
  }
  bool only_counts() const { return only_counts_; }
  void count(u64 bytes) { bytes_ += bytes; }
  u64 bytes() const { return bytes_; }

 private:
  const bool only_counts_;
  u64 bytes_ = 0;
};

void initialise(const Network& network, State& state);
void prepare(const Network& network, Workspace& workspace);  // gives the batch its final size, so views stay valid
// Estimate of the bytes that State and Workspace need, including the packets that will be in the network.
u64 memory_to_run(const Network& network);

u64 decisions_made(const State& state);  // since cycle 0, recorded or not

// Advances one partition to cycle `until`, independently of the others (src/core/partition.hpp).
void advance(const Network& network, State& state, Workspace& workspace, u32 partition, Cycle until);
// Call once for all partitions before a cycle. Changes links, and provides packet ids for a new partition window.
void begin_cycle(const Network& network, State& state, Workspace& workspace);

// Threads that share the partitions of a network. Each has a workspace of its own.
struct Threads {
  using Work = std::function<void(Workspace&, u32 first, u32 end)>;  // of partitions first .. end-1
  std::function<void(const Work&)> share;                            // does the work of all partitions and waits for it
  std::span<Workspace> helpers;                                      // workspaces of all threads but the caller
};

// One cycle, as a whole or in two halves with the decisions between them. If `threads` is null, one thread does all the
// work.
void step(const Network& network, State& state, Workspace& workspace, const Threads* threads = nullptr);
void collect(const Network& network, State& state, Workspace& workspace, const Threads* threads = nullptr);
// Second part of collect(): turns Workspace::routes into the batch.
void resume(const Network& network, State& state, Workspace& workspace);
void apply(const Network& network, State& state, Workspace& workspace, const Threads* threads = nullptr);

}  // namespace flitgym
