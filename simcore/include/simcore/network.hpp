// Network: everything about a run that never changes. Built and checked once (src/build.cpp), then const.
//
// Identifiers
//   router   0 .. routers-1
//   terminal 0 .. terminals-1
//   port     router r's port k is r << radix_shift | k; the network interface (NIC) of terminal t is router_ports + t.
//            A port is both the output of its node and, seen from its peer, the other end of an input.
//   vc id    port << vc_shift | vc, for output VCs (at this node) and input VCs (buffers at this node) alike; its low
//            radix_shift + vc_shift bits number the VC within its router
// Radix and VCs are rounded up to powers of two in ids (the gaps are unused entries), so that an id comes apart by
// shifts.
//   channel  named by the port it leaves from
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "simcore/limits.hpp"
#include "simcore/memory.hpp"
#include "simcore/params.hpp"
#include "simcore/types.hpp"

namespace flitgym {

struct State;
struct Batch;
struct Network;
struct Packet;
struct Workload;
struct Seam;
namespace tables {
struct ForwardingTable;
struct Demand;
}  // namespace tables

inline constexpr u16 kNoRing = 0xffff;

enum class PortKind : u8 { kTerminal = 0, kLocal = 1, kGlobal = 2, kUnused = 3 };
enum class FlowControl : u8 { kVirtualCutThrough, kWormhole };
enum class Arbiter : u8 { kRoundRobin, kLeastRecentlyServed, kAge };
// What an adaptive routing senses of an output: flits in its queue, slots in use downstream, or the sum of the two.
enum class Occupancy : u8 { kBoth, kOutputQueue, kCredits, kNothing };

// A cable: its kind says which of the router model's latencies and bandwidths it has, unless it has its own.
struct Link {
  PortKind kind = PortKind::kLocal;
  double latency_ns = -1, bandwidth_gb_per_s = -1;  // below 0: those of its kind
};

// What a topology, a routing or a traffic pattern keeps beside the common arrays; each derives its own.
struct ComponentData {
  virtual ~ComponentData() = default;
};

// Who is joined to whom from a cycle on: the wiring without the links that are down. It says how far things are where
// no closed form does.
struct Graph {
  Cycle from = 0;
  std::vector<u8> down;  // [router_ports] 1: the channel that leaves there is out of use; empty: none is
  std::vector<u8> hops;  // [to, from] router-to-router hops; empty: the topology's closed form holds
  u32 diameter = 0;      // hops of the longest minimal path
  // [to, from] the least time of a minimal path without queueing; empty: hops x one_hop_ns
  std::vector<float> flight_ns;
  float one_hop_ns = 0, longest_flight_ns = 0;
  bool usable(u32 port) const { return down.empty() || !down[port]; }
};

// What a topology tells routings that run on any of them. It may say in closed form what otherwise comes from the graph
// of the links, by breadth-first search (src/topology/graph.hpp asks whichever there is).
struct Topology : ComponentData {
  u32 diameter = 0;        // router-to-router hops of the longest minimal path; 0: counted
  bool closed = false;     // hops_between() is a closed form; else a table is made, quadratic in routers
  bool estimates = false;  // so is first_estimate_ns()
  // Router-to-router hops of a minimal path.
  virtual u32 hops_between(const Network&, u32 router, u32 to) const;
  // Does `port`, which leads to another router, lie on a minimal path to router `to`?
  virtual bool is_minimal(const Network&, const Graph&, u32 router, u32 port, u32 to) const;
  // Of a batch whose routes are about to be applied; made of is_minimal() (src/topology/mark.hpp), called once a cycle.
  virtual void mark_nonminimal(const Network&, State&, const Batch&) const;
  // Router-local port of the first hop of a packet's minimal path (the terminal's own at the last router).
  virtual u32 minimal_port(const Network&, const Graph&, u32 router, const Packet&) const;
  // Destinations that lie in one direction: a learned table that should stay small has a row for each.
  virtual u32 regions(const Network& net) const;
  virtual u32 region(u32 router) const { return router; }
  // A learned table begins with this: time in ns, without queueing, from `router` by `port` to router `to`.
  virtual float first_estimate_ns(const Network&, u32 router, u32 port, u32 to) const;
};

// What a routing needs of the network, known once its parameters are.
struct RoutingFacts {
  u32 classes;            // VC classes; class c may use the VCs c, c + classes, c + 2 classes, ...
  u32 max_hops;           // router-to-router hops of the longest path it can choose
  bool reroutes = false;  // a head that finds no room at its output asks again in the next cycle
  bool minimal = false;   // it never leaves the minimal paths
  bool marks = false;     // it says itself which packets do (Packet::nonminimal), where it decides
  bool remote = false;    // it looks at other routers' queues
  // into a ring of channels go packets only where one more would still fit (Network::ring_of_output)
  bool bubble = false;
  Occupancy senses = Occupancy::kNothing;  // it weighs many outputs per decision, by VC: Network::sensed is kept for it
};

// For a routing that weighs many outputs per decision, State keeps what it senses side by side, as a memory
// (memory.hpp): the stages of a cycle add and take away where flits and credits come and go. A row holds one VC of all
// ports of a router.
struct Sensed {
  // a row holds eight lanes of signed 16 bits, and so do sums over VCs
  static constexpr u32 kLeastColumns = 8, kMost = 32766;

  Kept<u16> memory;                       // [routers, vcs, columns] flits
  Occupancy parts = Occupancy::kNothing;  // kNothing: not kept
  u32 column_shift = 0, radix_shift = 0, vcs = 0;
  bool kept() const { return parts != Occupancy::kNothing; }
  static u32 columns(u32 radix_shift) { return std::max(1u << radix_shift, kLeastColumns); }
  // 1 where a flit in the output queue, or a slot downstream, counts.
  u16 queue() const { return parts == Occupancy::kBoth || parts == Occupancy::kOutputQueue; }
  u16 slots() const { return parts == Occupancy::kBoth || parts == Occupancy::kCredits; }
  std::size_t row(u32 router, u32 vc) const { return (std::size_t{router} * vcs + vc) << column_shift; }
  std::size_t at(u32 port, u32 vc) const { return row(port >> radix_shift, vc) + (port & ((1u << radix_shift) - 1)); }
};

struct Rounding {
  std::string quantity;
  double ns;
  u32 cycles;
  double error;  // relative
};

struct Channel {
  u32 peer = kNone;     // port at the other end, kNone if unused
  u32 flit_cycles = 1;  // a flit occupies it so long
  // delay line of its hop: a flit put on it at t is in the peer's input buffer at t + that delay
  u16 line = 0;
  u16 credit_line = 0;  // and of the delay of a credit that goes this way
  PortKind kind = PortKind::kUnused;
};
static_assert(sizeof(Channel) == 16);

// Who makes the routing decisions of a cycle (src/stage/route_computation.cpp).
enum class Decider : u8 {
  kRouting,     // the routing itself, in the core
  kCandidates,  // somebody outside, among all candidates of each request
  kSlots,       // an agent outside, among the slots of each decision of a learning seam
};

// Routers that are simulated together, for a while on their own (src/partition.cpp), with the terminals that hang on
// them.
struct PartitionRange {
  u32 first_router = 0, end_router = 0;
  u32 first_word = 0, words = 0;  // its part of State::active_routers
  u32 terminals = 0;
};

struct RouterParams {
  u32 input_depth, output_depth, nic_depth;  // flits per VC; output_depth 0 = no output buffers (input-queued router)
  u32 crossbar_cycles;                       // a flit holds its crossbar input and output this long
  u32 wake_cycles;                           // an idle output port sends this long after a flit reached its queue
  u32 pipeline_cycles;                       // from becoming the head of an input VC to the first switch request
  FlowControl flow_control;
  Arbiter arbiter;
  bool crossbar_per_vc;  // every input VC and output VC has a crossbar port of its own
  // an output VC is won a cycle before the switch, and held until the tail has won it
  bool separate_vc_allocation;
  bool packet_credits;    // credits return per packet instead of per flit
  bool packet_links;      // and packets do not mix on a link
  bool packet_crossbar;   // nor at the crossbar: they keep together everywhere (src/stage/train.hpp)
  bool flit_by_flit;      // such packets are moved flit by flit, for checks (src/stage/follow.hpp)
  u32 injection_vcs;      // a NIC uses the VCs below this
  bool latency_from_nic;  // reference point of the headline packet latency
  bool keep_backlog;      // a full NIC delays generation (true) or loses it (false)
  // a crossbar or (without output buffers) a channel is busy longer than a cycle
  bool multi_cycle_switch;
  u32 watchdog_cycles;
};

struct Network {
  u32 routers = 0, terminals = 0, radix = 0, vcs = 0, groups = 0;
  u32 router_ports = 0, port_count = 0;  // routers << radix_shift; + terminals
  double cycle_ns = 0;
  double flit_bytes = 0;
  u32 flit_cycles_host = 0;            // the "flit time" in which loads are expressed
  double link_latency_ns[3] = {};      // time of flight alone, by PortKind
  std::map<u32, Link> own_links;       // by the port at one end: links with a latency or a bandwidth of their own
  std::vector<double> own_latency_ns;  // [port_count] the same where links have latencies of their own; else empty
  u32 longest_delay = 0;               // upper bound of every scheduled delay, cycles

  std::vector<Channel> channels;     // [port_count] the channel that leaves from each port
  std::vector<u32> terminal_router;  // [terminals]
  std::vector<u32> terminal_port;    // [terminals] router-local port it hangs on
  std::vector<u32> router_group;     // [routers] Dragonfly group, HyperX plane, ...
  std::vector<u16> first_link;       // [routers] router-local: the lowest port that leads to another router
  u32 link_span = 0;                 // most ports from a router's first link to its last: columns of a table by port
  std::vector<std::string> router_names, terminal_names;  // empty: they go by their numbers

  // [lines] the distinct channel delays, cycles; with several partitions those between them twice more
  std::vector<u32> delays;

  std::vector<PartitionRange> ranges;  // of the partitions, in order of the routers
  std::vector<u16> router_partition;   // [routers] empty: there is one
  u32 lookahead = 1;                   // cycles: no event takes less from one partition to another
  // of the delays: those within a partition; those of what comes from others, and of what goes there
  u32 local_lines = 0, far_lines = 0;
  u32 partition_of(u32 r) const { return router_partition.empty() ? 0 : router_partition[r]; }
  u32 partitions() const { return static_cast<u32>(ranges.size()); }

  u32 vc_shift = 0, radix_shift = 0;  // see the ids above
  u32 request_words = 1;              // 64-bit words of a router's mask of input VCs
  u32 asked_words = 1;                // and of its mask of output ports
  // Where input VCs do not contend for output ports (RouterParams::crossbar_per_vc), all of a router's requests stand
  // in the mask of its port 0, and a packet that is part-way through keeps asking.
  u32 request_mask = ~0u;
  u32 request_port(u32 out_port) const { return out_port & request_mask; }

  RouterParams router{};
  std::vector<Rounding> rounding;

  std::shared_ptr<const Topology> topology;
  std::vector<std::shared_ptr<const Graph>> graphs;  // by time; State::part.totals.epoch says which holds
  // links are missing or will be: what a topology says in closed form does not hold
  bool damaged = false;
  std::string failed_link;                // one of them, "A-B"
  std::vector<std::string> failed_links;  // all that are missing from cycle 0 on
  // so the routing of this name for any graph runs in the place of the topology's own
  bool replaced = false;
  std::shared_ptr<const ComponentData> routing, traffic;
  std::shared_ptr<const ComponentData> relation;  // what `candidates` reads; the routing's own unless it took another's
  std::shared_ptr<const tables::ForwardingTable> given_table;  // of the configuration, for routing=table (src/tables)
  std::shared_ptr<const tables::Demand> given_demand;
  std::shared_ptr<const tables::Demand> given_traffic;  // of the configuration, for traffic=matrix
  std::shared_ptr<const Seam> seam;                     // null: no agent decides
  std::shared_ptr<const Workload> workload;             // null: synthetic traffic
  // jobs whose use of every channel is accounted for (src/workload/blame.hpp)
  u32 accounted_jobs = 0;
  std::string topology_name, routing_name, traffic_name;
  std::string fingerprint;           // topology and its parameters: what a saved Q-table must match
  std::string identity;              // the whole configuration: what a snapshot must match
  Config config;                     // as validated: sections with all their parameters, without tables and programs
  std::vector<std::string> plugins;  // whose components it is made of
  u64 memory_bytes = 0;              // what a simulation of it needs to begin with, as build() has counted it
  RoutingFacts routing_facts{};
  // [radix] with bubble flow control: the ring whose packets leave by a router-local port, and the one whose packets
  // come in there
  std::vector<u16> ring_of_output, ring_of_input;
  // what components keep, and what they reckon with within a cycle (memory.hpp)
  std::vector<MemoryShape> memories, scratch;
  std::vector<u32> packet_memories;  // of the memories, those per packet
  Kept<u32> followers[2];            // router.packet_stepping=flit: where flits are (src/stage/follow.cpp)
  Sensed sensed;
  u32 table = kNone;      // the memory that is the routing's learned table: the first that was declared
  bool learns = false;    // packets carry feedback upstream
  LearnedTable feedback;  // what learns from it; no rows: an agent outside, or nobody
  Decider decider = Decider::kRouting;

  // from the routing's entry in the registry (registry.hpp): called once per cycle (route) or per packet (the others)
  void (*route)(const Network&, State&, Batch&) = nullptr;
  void (*learn)(const Network&, State&, u32 port, u32 row, float target) = nullptr;
  void (*candidates)(const Network&, State&, Batch&) = nullptr;  // the relation: everything that may be chosen
  // notes what has to be kept of a choice; null: nothing
  void (*chosen)(const Network&, State&, Batch&, u32 request) = nullptr;
  u32 (*destination)(const Network&, u64 seed, u32 terminal, u32 sequence, u32 round, u32 index) = nullptr;
  u32 (*round_size)(const Network&, u64 seed, u32 terminal, u32 round) = nullptr;  // null = 1
  double (*share)(const Network&, u32 terminal) = nullptr;  // part of `load` that a terminal offers; null = 1

  u64 seed = 0;
  u32 least_packet_flits = 1, most_packet_flits = 1;  // sizes are uniform in between
  // packets of several flits that keep together: they move as trains (src/stage/train.hpp)
  bool whole_packets = false;
  bool fixed_interval = false;
  double packets_per_round = 1;     // mean
  double mean_share = 1;            // of `share`, over all terminals
  std::vector<double> load_values;  // piecewise constant offered load
  std::vector<double> gap_scale;    // [same] 1 / log(1 - p) of the Bernoulli trials; 0: one a cycle
  std::vector<u64> gap_fixed;       // [same] fixed interval, cycles in 32.32 fixed point; all ones: never
  std::vector<Cycle> load_from;     // [same] the cycle from which it holds; first = 0

  double mean_packet_flits() const { return (least_packet_flits + most_packet_flits) / 2.0; }
  u32 port(u32 r, u32 k) const { return r << radix_shift | k; }
  u32 nic(u32 terminal) const { return router_ports + terminal; }
  bool is_nic(u32 p) const { return p >= router_ports; }
  u32 router_of_port(u32 p) const { return p >> radix_shift; }
  u32 local_port(u32 p) const { return p & ((1u << radix_shift) - 1); }
  u32 vc_id(u32 p, u32 vc) const { return p << vc_shift | vc; }
  u32 port_of_vc(u32 v) const { return v >> vc_shift; }
  u32 input_vc_count() const { return router_ports << vc_shift; }  // from there on: VCs of terminals
  u32 vc_of(u32 v) const { return v & ((1u << vc_shift) - 1); }
  u32 hop_cycles(u32 p) const { return delays[channels[p].line]; }
  double link_ns(u32 p) const {
    return own_latency_ns.empty() ? link_latency_ns[static_cast<u32>(channels[p].kind)] : own_latency_ns[p];
  }
  bool is_link(u32 p) const { return channels[p].kind == PortKind::kLocal || channels[p].kind == PortKind::kGlobal; }
  u32 next_router(u32 p) const { return router_of_port(channels[p].peer); }  // behind a link
  std::string router_name(u32 r) const { return router_names.empty() ? std::to_string(r) : router_names[r]; }
  std::string terminal_name(u32 t) const { return terminal_names.empty() ? std::to_string(t) : terminal_names[t]; }
};

inline u32 Topology::regions(const Network& net) const { return net.routers; }

// Checks everything; throws ConfigError naming key, value and valid choices, also where the simulation would need more
// memory than it may. Throws what `keep_going` throws.
std::shared_ptr<const Network> build(const Config& config, const KeepGoing& keep_going = {});
u32 count_terminals(const Section& topology);  // checks that section alone

}  // namespace flitgym
