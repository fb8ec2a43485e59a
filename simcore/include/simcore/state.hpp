// State: everything that changes. Flat arrays of plain structs with integer ids, no pointers: copying the arrays
// copies the simulation. FLITGYM_STATE below is the one list of fields; it declares, saves, hashes and binds them.
// What a single routing, observation or reward keeps is not among them: it declares that itself (memory.hpp).
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "simcore/delay_line.hpp"
#include "simcore/host_state.hpp"
#include "simcore/limits.hpp"
#include "simcore/network.hpp"
#include "simcore/program.hpp"
#include "simcore/wheel.hpp"

namespace flitgym {

// A flit in a buffer or on a channel: packet id and three flags.
using Flit = u32;
inline constexpr Flit kHead = 1, kTail = 2, kWatched = 4;
inline constexpr u32 kFlitShift = 3;
inline u32 packet_of(Flit flit) { return flit >> kFlitShift; }

// Where a packet stands on a two-legged (Valiant) path.
enum Phase : u8 { kUndecided = 0, kMinimal = 1, kToIntermediate = 2, kFromIntermediate = 3 };

struct Packet {             // 32 bytes: what every hop reads
  u32 source, destination;  // terminals
  u32 sequence;             // how many packets its source generated before it; with source it names the packet
  Cycle generated;          // by the generation clock of its source
  Cycle injected;           // accepted by its NIC
  u16 flits;
  u8 hops;  // router-to-router channels traversed
  Phase phase;
  u8 nonminimal;  // took or is taking a non-minimal path
  u8 job;         // of a workload
  u16 reserved;   // no padding: every byte is hashed
  // of packets that keep together (src/stage/train.hpp): when the last flit has come to where the head is
  Cycle tail;
};
static_assert(sizeof(Packet) == 32);

struct PacketDetail {  // 16 bytes: what only learning routings touch
  Cycle arrived;       // the head, in the present input buffer; a routing may set it to when it decided
  u32 reward;          // cycles between that of the previous router and the head's arrival in this input buffer
  float value;         // this router's estimate to be sent back upstream; negative = nothing is sent
  u32 row;             // row of the upstream router's table it belongs to
};
static_assert(sizeof(PacketDetail) == 16);

// A buffer is a queue of packets that counts its flits; the flits of a packet pass through it in order, so none needs a
// slot of its own. `next` links the packets: a packet whose flits are spread over several buffers is the last of the
// queue in all but the hindmost of them, so one link is enough.
struct InputVc {
  Flit front, back;      // first and last packet (id and watched flag), kNone if empty
  u16 count;             // flits here
  u16 sent;              // flits of the front packet that have left
  u16 out_port, out_vc;  // route of the packet in front, router-local port; valid while routed
  u16 routed;            // the packet in front has a route
  u16 parked;            // and waits in the list of its output VC
  u32 park_next;         // next input VC that waits for the same output VC
  // the least is served first: stamp of its last grant, or (age) when the packet in front was generated
  u32 served;
};
static_assert(sizeof(InputVc) == 28);

struct OutputVc {
  Flit front, back;  // queue of packets (routers with output buffers, NICs), as above
  u16 count;
  u16 sent;
  u16 credits;  // free flit slots downstream
  u16 reserved;
  u32 owner;          // input VC whose packet is part-way through, kNone
  Cycle owned_since;  // meaningful with VC allocation before the switch
  u32 parked;         // first input VC that waits for space here, kNone
};
static_assert(sizeof(OutputVc) == 28);

// one cache line: everything a flit's passage touches of a port, as output and as crossbar input
struct alignas(64) Port {
  u64 flits;                // sent on the channel since the window began
  u64 window_flits;         // and until it ended
  u64 stall;                // cycles stalled for credit, in the window
  Cycle busy_until;         // the channel's serialiser
  u32 waiting_vcs;          // bit per VC whose queue is not empty
  u32 queued;               // flits in those queues
  u32 load;                 // queued flits + flits sent and not yet credited
  Cycle stalled_since;      // meaningful while stalled
  Cycle input_busy_until;   // crossbar, from this port
  Cycle output_busy_until;  // crossbar, to this port
  u16 next_vc;              // round robin: VC to send from
  u16 next_request;         // round robin: bit of the request mask to start from
  u16 awake;                // a send is scheduled
  u16 stalled;              // has flits to send and no credit
  u32 reserved;             // no padding: every byte is hashed
};
static_assert(sizeof(Port) == 64);

struct Terminal {
  u64 next_tick;     // next generation, cycles in 32.32 fixed point
  Cycle tick;        // the cycle the present round was generated at
  u32 sequence;      // packets accepted so far
  u32 round, index;  // rounds begun; packets of the present round already accepted
  u32 left;          // packets of the present round still to be accepted
  u32 step;          // which entry of the load list holds
};
static_assert(sizeof(Terminal) == 32);

struct FlitEvent {
  u32 vc;  // input VC; from router_ports << vc_shift on, of a terminal
  Flit flit;
};
struct CreditEvent {
  u32 vc;          // output VC
  u16 flits, job;  // whose flits have made room
};
struct FeedbackEvent {
  u32 port, row;  // output port upstream, row of its router's table
  float target;   // ns
};

struct Totals {
  Cycle now = 0;
  u32 collected = 0;                                 // 1 between collect() and apply()
  u64 moves = 0;                                     // flits switched or sent, since cycle 0 (the watchdog's pulse)
  u64 packets_in_network = 0, flits_in_network = 0;  // accepted by a NIC and not yet delivered
  u64 flits_accepted = 0, flits_ejected = 0;         // since cycle 0
  u32 sources_stopped = 0, frozen = 0;               // no more generation; no more learning
  u32 backlogged = 0;                                // terminals whose NIC is full and that wait for it
  u32 epoch = 0;                                     // which of the network's graphs holds
};

// Log-linear histogram: exact below 128 cycles, then 64 bins per octave.
inline constexpr u32 kHistogramBins = 128 + 64 * 25;

struct Window {  // measurements since begin_window()
  u64 open = 0, begin = 0, end = 0;
  u64 generated = 0, accepted = 0;  // packets
  double missed = 0;                // packets that a full NIC kept from being generated (backlog lost)
  u64 delivered = 0, flits = 0, flit_hops = 0;
  u64 hops = 0, nonminimal = 0;                 // sums over packets delivered
  u64 latency_nic = 0, latency_generation = 0;  // sums, cycles
  u64 max_nic = 0, max_generation = 0;
};

struct SeriesPoint {  // one interval
  u64 packets = 0, flits = 0, hops = 0, latency = 0;
};

struct LearningTotals {
  u64 decisions = 0;       // made since cycle 0, recorded or not
  u64 recorded = 0;        // of which a record was opened
  u64 transitions = 0;     // put into the ring
  double epsilon = 0;      // probability of a random slot (policy)
  double temperature = 0;  // of the softmax from which a slot is drawn; 0 = the best (policy)
};

struct Delivered {                 // of the packets of a terminal
  double packets = 0, moment = 0;  // that were delivered or given up, and the sum of the cycles at which they were
  double most_due = std::numeric_limits<double>::infinity();  // no more than so many: its source was stopped
};

// A decision whose reward is not known yet.
struct OpenDecision {
  u64 number;          // decisions made before it in this network, recorded or not
  u64 next;            // number of the packet's next decision, where that closed this one; ~0: none
  Cycle decided, due;  // due: the cycle at which the news is back at the router
  u32 router;
  u32 previous;  // open decision of the same packet made before, kNone
  float reward, log_probability;
  u16 action, done;
  u32 job;
};
static_assert(sizeof(OpenDecision) == 48);

//  X(type, name): the meaning of each array stands beside it. The FIXED lists keep their sizes from cycle 0 on (NumPy
//  views of them stay good); the GROWING ones grow with what is in flight.

// What routers share and threads would fight over: sums, pools of ids, and what is on its way. Each partition has its
// own (src/partition.cpp). Time and flags (open, sources_stopped, frozen, epoch) are the same in all of them.
#define FLITGYM_PARTITION_FIXED(X)                                                                  \
  X(Totals, totals)                         /* scalars */                                           \
  X(Window, window)                         /* sums over the measuring window */                    \
  X(std::vector<u32>, histogram_nic)        /* [bins] packet latency from NIC acceptance, cycles */ \
  X(std::vector<u32>, histogram_generation) /* [bins] packet latency from generation, cycles */     \
  X(LearningTotals, learning)               /* scalars of the learning seam */

#define FLITGYM_PARTITION_GROWING(X)                                                                                 \
  X(std::vector<SeriesPoint>, series)          /* time series from cycle 0 */                                        \
  X(std::vector<u32>, free_packets)            /* ids not in use */                                                  \
  X(std::vector<u32>, route_list)              /* input VCs whose new head asks for a route next cycle */            \
  X(DelayLines<FlitEvent>, flit_lines)         /* flits on channels */                                               \
  X(DelayLines<CreditEvent>, credit_lines)     /* credits on channels */                                             \
  X(DelayLines<FeedbackEvent>, feedback_lines) /* learning feedback on channels */                                   \
  X(Wheel<u32>, ports_due)                     /* output ports that may send */                                      \
  X(Wheel<FlitEvent>, tails_due)               /* packets that keep together, as their tail reaches its terminal */  \
  X(Wheel<u32>, sources_due)                   /* terminals whose generation clock ticks */                          \
  X(Wheel<u32>, routes_due)                    /* heads inside the router pipeline */                                \
  X(std::vector<FeedbackEvent>, heard)         /* feedback of this cycle, for an agent outside (routing=external) */ \
  X(std::vector<u32>, free_decisions)          /* entries of the pool of open decisions not in use */                \
  X(Wheel<u32>, news)                          /* decisions that are closed, by the cycle at which their router knows */

#define FLITGYM_PARTITION(X) FLITGYM_PARTITION_FIXED(X) FLITGYM_PARTITION_GROWING(X)

struct Partition {
#define FLITGYM_DECLARE(type, name) type name{};
  FLITGYM_PARTITION(FLITGYM_DECLARE)
#undef FLITGYM_DECLARE
};

// The hosts of a partition's terminals: what they have to do, and sums over them. Empty without a workload.
#define FLITGYM_HOSTS_FIXED(X)                                                                                   \
  X(HostTotals, totals)                  /* scalars */                                                           \
  X(std::vector<JobTotals>, job_totals)  /* [jobs] */                                                            \
  X(std::vector<u32>, job_histogram)     /* [jobs, bins] packet latency, cycles */                               \
  X(std::vector<u32>, message_histogram) /* [jobs, bins] message latency, ns */                                  \
  X(std::vector<u32>, free_ops)          /* [32] first free piece of each size, kNone; the next in its `next` */ \
  X(std::vector<u32>, free_edges)        /* [32] the same; the next in its first entry */

#define FLITGYM_HOSTS_GROWING(X)                                                                                  \
  X(std::vector<HostEvent>, events)  /* binary heap, the earliest first */                                        \
  X(std::vector<ActiveOp>, ops)      /* of the ranks' present blocks; room in powers of two */                    \
  X(std::vector<u32>, edges)         /* operations that wait for one; top bit: for its start */                   \
  X(std::vector<Message>, messages)  /* [pool] */                                                                 \
  X(std::vector<u32>, free_messages) /* ids not in use */                                                         \
  X(std::vector<Pair>, pairs) /* hash table by sender and receiver, at most half full (src/workload/pairs.hpp) */ \
  X(std::vector<HostWaiting>, waiting)           /* [pool] LogGOPS */                                             \
  X(std::vector<u32>, free_waiting)              /* entries of that pool not in use */                            \
  X(std::vector<JobPoint>, job_series)           /* [intervals, jobs] from cycle 0 */                             \
  X(std::vector<OutstandingChange>, outstanding) /* since the window of cycles began */

#define FLITGYM_HOSTS(X) FLITGYM_HOSTS_FIXED(X) FLITGYM_HOSTS_GROWING(X)

struct alignas(64) Hosts {
#define FLITGYM_DECLARE(type, name) type name{};
  FLITGYM_HOSTS(FLITGYM_DECLARE)
#undef FLITGYM_DECLARE
};

using Memories = std::vector<AlignedBytes>;

#define FLITGYM_STATE_FIXED(X)                                                                                        \
  X(std::vector<InputVc>, input_vcs)   /* [router_ports << vc_shift] */                                               \
  X(std::vector<OutputVc>, output_vcs) /* [port_count << vc_shift] */                                                 \
  X(std::vector<Port>, ports)          /* [port_count] */                                                             \
  X(std::vector<u64>, requests)        /* [router_ports, request_words] bit per input VC that asks for this output */ \
  X(std::vector<u64>, outputs_asked)   /* [routers, asked_words] bit per output with a request */                     \
  X(std::vector<u64>, active_routers)  /* bit per router with a request */                                            \
  X(std::vector<u32>, stamps)          /* [routers] next stamp of least-recently-served arbitration */                \
  X(std::vector<Terminal>, terminals)  /* [terminals] */                                                              \
  X(std::vector<u32>, series_interval) /* [1] cycles, 0 = off */

#define FLITGYM_STATE_GROWING(X)                                                                    \
  X(Partition, part)                    /* the first partition, of most networks the only one */    \
  X(std::vector<Partition>, further)    /* [Network::partitions() - 1] the others */                \
  X(Memories, memory)                   /* [Network::memories] what components keep (memory.hpp) */ \
  X(std::vector<Packet>, packets)       /* [pool] by packet id */                                   \
  X(std::vector<PacketDetail>, details) /* [pool] */                                                \
  X(std::vector<Flit>, next)            /* [pool] the packet behind this one in its queue */        \
  X(std::vector<u32>, watched)          /* [source, sequence] pairs of watched packets */

// The same of a workload; empty without one.
#define FLITGYM_STATE_WORKLOAD_FIXED(X)                                                                                \
  X(std::vector<Rank>, ranks)                  /* [ranks] */                                                           \
  X(std::vector<u64>, cpu_free)                /* [ranks, cpus] ps, when it can begin something */                     \
  X(std::vector<u64>, nic_free)                /* [ranks, nics, 2] the same, to send and to receive (LogGOPS) */       \
  X(std::vector<Outbox>, outboxes)             /* [terminals] */                                                       \
  X(std::vector<ChannelAccount>, job_channels) /* [router_ports] */                                                    \
  X(std::vector<u64>, job_flits)  /* [router_ports, jobs] sent on the channel: see job_flits() in stats.hpp */         \
  X(std::vector<u32>, job_queued) /* [router_ports << vc_shift, jobs] packets in the input VC and the NIC before it */ \
  X(std::vector<u32>,                                                                                                  \
    job_waiting) /* [router_ports, jobs] packets routed there, or behind one that is, and not sent */                  \
  X(std::vector<u16>, job_downstream) /* [router_ports << vc_shift, jobs] slots they hold beyond the channel */        \
  X(std::vector<u64>, job_stall)      /* [router_ports, jobs] cycles stalled for credit while it had packets there */  \
  X(std::vector<u32>, stall_charged)  /* [router_ports] cycle up to which the present stall is accounted for */        \
  X(std::vector<u64>, wait_blame)     /* [router_ports, jobs, jobs] waited while the other job's flits went,           \
                                         packet-cycles: see wait_blame() in stats.hpp */                               \
  X(std::vector<double>, stall_blame) /* [router_ports, jobs, jobs] packet-cycles stalled behind the other's flits */

#define FLITGYM_STATE_WORKLOAD_GROWING(X)                    \
  X(std::vector<Hosts>, hosts)            /* [partitions] */ \
  X(std::vector<PacketPayload>, payloads) /* [pool] by packet id */

// The same of LogGOPS hosts; empty with others.
#define FLITGYM_STATE_LOGGOPS(X) \
  X(std::vector<HostQueue>, host_queues) /* [ranks, cpus + 2 nics] processors, interfaces (send, receive) */

// The same of the learning seam (learning.hpp); empty without one. A transition is a decision with what came of it;
// transition n lies in row n mod capacity of the ring.
#define FLITGYM_STATE_LEARNING_FIXED(X)                                                                            \
  X(AlignedFloats, weights)               /* of the policy's network */                                            \
  X(std::vector<float>, ring_observation) /* [capacity, width] */                                                  \
  X(std::vector<float>,                                                                                            \
    ring_next_observation)           /* [capacity, width] at the packet's next decision; 0 where there was none */ \
  X(std::vector<u8>, ring_mask)      /* [capacity, slots] */                                                       \
  X(std::vector<u8>, ring_next_mask) /* [capacity, slots] */                                                       \
  X(std::vector<i64>, ring_action)   /* [capacity] slot */                                                         \
  X(std::vector<float>, ring_reward) /* [capacity] */                                                              \
  X(std::vector<u8>, ring_done)      /* [capacity] 1: delivered */                                                 \
  X(std::vector<float>, ring_log_probability) /* [capacity] of the action, when it was taken */                    \
  X(std::vector<u64>, ring_decision)          /* [capacity] number of the decision */                              \
  X(std::vector<u64>, ring_next_decision)     /* [capacity] number of the packet's next one, ~0: none */           \
  X(std::vector<u32>, ring_router)            /* [capacity] where it was made */                                   \
  X(std::vector<u32>, ring_decided)           /* [capacity] cycle */                                               \
  X(std::vector<u32>, ring_job)               /* [capacity] of the packet */                                       \
  X(std::vector<Delivered>, delivered_from)   /* [terminals] by source */

#define FLITGYM_STATE_LEARNING_GROWING(X)                          \
  X(std::vector<OpenDecision>, open_decisions) /* [pool] */        \
  X(std::vector<float>, open_observation)      /* [pool, width] */ \
  X(std::vector<float>, open_next_observation) /* [pool, width] */ \
  X(std::vector<u8>, open_mask)                /* [pool, slots] */ \
  X(std::vector<u8>, open_next_mask)           /* [pool, slots] */ \
  X(std::vector<u32>, last_decision)           /* [packet pool] latest open decision of the packet, kNone */

#define FLITGYM_STATE_LEARNING(X) FLITGYM_STATE_LEARNING_FIXED(X) FLITGYM_STATE_LEARNING_GROWING(X)

// clang-format off
#define FLITGYM_STATE(X)                                               \
  FLITGYM_STATE_FIXED(X) FLITGYM_STATE_GROWING(X)                       \
  FLITGYM_STATE_WORKLOAD_FIXED(X) FLITGYM_STATE_WORKLOAD_GROWING(X)     \
  FLITGYM_STATE_LOGGOPS(X) FLITGYM_STATE_LEARNING(X)
// clang-format on

struct State {
#define FLITGYM_DECLARE(type, name) type name{};
  FLITGYM_STATE(FLITGYM_DECLARE)
#undef FLITGYM_DECLARE
};

// Sums over all partitions; time and flags.
Totals totals(const State& s);
HostTotals host_totals(const State& s);  // without a workload all 0

inline Partition& partition(State& s, u32 k) { return k == 0 ? s.part : s.further[k - 1]; }
inline const Partition& partition(const State& s, u32 k) { return k == 0 ? s.part : s.further[k - 1]; }

template <class T>
T* Kept<T>::of(State& s) const {
  return reinterpret_cast<T*>(s.memory[memory].data());
}
template <class T>
const T* Kept<T>::of(const State& s) const {
  return reinterpret_cast<const T*>(s.memory[memory].data());
}
inline float* LearnedTable::row(State& s, u32 router, u32 at) const {
  return reinterpret_cast<float*>(s.memory[memory].data()) + (std::size_t{router} * rows + at) * stride;
}
inline const float* LearnedTable::row(const State& s, u32 router, u32 at) const {
  return reinterpret_cast<const float*>(s.memory[memory].data()) + (std::size_t{router} * rows + at) * stride;
}

// The decisions of one cycle that are an agent's (learning.hpp).
struct Decisions {
  u32 count = 0;
  float* observation = nullptr;  // [count, width]; own memory, or that of whoever runs several networks
  u8* mask = nullptr;            // [count, slots] 1 where there is a candidate; those come first
  std::vector<float> own_observation;
  std::vector<u8> own_mask;
  std::vector<u32> request;                   // [count] index in the batch
  std::vector<u32> slot_count;                // [count]
  std::vector<u16> ports, classes;            // [count, slots]
  std::vector<u32> chosen;                    // [count]
  std::vector<float> log_probability;         // [count] of the choice; not a number where whoever decided did not say
  std::vector<float> gathered, rows, scores;  // scratch of the network
};

// The small numbers are 16 bits wide throughout: a store through an 8-bit type may alias anything, and the compiler
// would have to fetch every pointer anew after it.

// One decision to make: the packet in front of an input VC of a router asks for (output port, VC class).
// The arrays are parallel; `count` entries are valid. Filled by collect(), completed by a routing or by an agent.
struct Batch {
  u32 count = 0;
  Cycle now = 0;
  std::vector<u32> input_vc, packet, router;
  std::vector<u16> in_port, in_vc;       // router-local
  std::vector<u16> out_port, out_class;  // the decision
  // The candidates of request i are entries offsets[i] .. offsets[i+1]-1; what lies behind the last is left from
  // before.
  std::vector<u32> offsets;
  std::vector<u16> candidate_port, candidate_class;
  std::vector<AlignedBytes> scratch;  // [Network::scratch] what components declared, all 0 between two cycles
  Decisions decisions;                // of a learning seam
};

template <class T>
T* Scratch<T>::of(Batch& b) const {
  return reinterpret_cast<T*>(b.scratch[memory].data());
}

// Buffers reused from cycle to cycle; nothing in here outlives a step but the batch between collect() and apply().
struct Workspace {
  Batch batch;
  Block block;  // that a rank enters
  std::vector<u32> degrees;
  std::vector<u32> ids, routes;
  std::vector<FlitEvent> tails;
  std::string log;    // of watched packets
  bool wary = false;  // the state or its table came from elsewhere: every choice is looked at before it is followed
  struct Starting {   // an operation whose start lets others start
    u32 op, edge;
  };
  std::vector<Starting> starting;
  // An interrupted cycle goes on where it was: among the host events, or at its decisions.
  bool at_hosts = false, at_routing = false;
};

// Gives arrays their first size, or only counts what that takes.
class Shaper {
 public:
  explicit Shaper(bool only_counts) : only_counts_(only_counts) {}
  template <class T, class A>
  void operator()(std::vector<T, A>& array, std::size_t size, const T& value) {
    bytes_ += size * sizeof(T);
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
void prepare(const Network& network, Workspace& workspace);  // sizes the batch for good: views of it never move
// Bytes that both take, and what the packets under way take later on: an estimate.
u64 memory_to_run(const Network& network);

// One partition's cycles up to `until`, on its own (src/partition.hpp).
void advance(const Network& network, State& state, Workspace& workspace, u32 partition, Cycle until);
// What all partitions do together before a cycle: links that change, and packets for the window that begins.
void begin_cycle(const Network& network, State& state, Workspace& workspace);

// One cycle, whole or cut where the agent sits.
void step(const Network& network, State& state, Workspace& workspace);
void collect(const Network& network, State& state, Workspace& workspace);
void resume(const Network& network, State& state, Workspace& workspace);  // the end of collect(): `routes` to batch
void apply(const Network& network, State& state, Workspace& workspace);

}  // namespace flitgym
