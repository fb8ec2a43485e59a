// Network: everything that does not change in a run. Built and checked once (src/core/build.cpp), then constant.
//
// Identifiers
//   router   0 .. routers-1
//   terminal 0 .. terminals-1
//   port     Port k of router r is r << radix_shift | k. The network interface (NIC) of terminal t is router_ports + t.
//            A port is an input and an output of its node.
//   vc id    port << vc_shift | vc, for input VCs and for output VCs of this node. The low radix_shift + vc_shift bits
//            number the VC within its router.
//   channel  has the id of the port that it leaves from
// In ids, the radix and the number of VCs are rounded up to powers of two, so shifts split an id into its parts. Array
// entries in the gaps are unused.
#pragma once

#include "simcore/cost.hpp"
#include "simcore/limits.hpp"
#include "simcore/memory.hpp"
#include "simcore/params.hpp"

namespace flitgym {

struct Packet;
struct Workload;
struct Seam;
struct Control;
struct TrafficClasses;

inline constexpr u16 kNoRing = 0xffff;

enum class PortKind : u8 { kTerminal = 0, kLocal = 1, kGlobal = 2, kUnused = 3 };
enum class FlowControl : u8 { kVirtualCutThrough, kWormhole };
enum class Arbiter : u8 { kRoundRobin, kLeastRecentlyServed, kAge, kIslip };
// The occupancy of an output that an adaptive routing senses: flits in its queue, used downstream slots, or their sum.
enum class Occupancy : u8 { kBoth, kOutputQueue, kCredits, kNothing };

// A cable. A cable has the latency and the bandwidth of its kind in the router model, unless it has its own values.
struct Link {
  PortKind kind = PortKind::kLocal;
  double latency_ns = -1, bandwidth_gb_per_s = -1;  // negative: the value of its kind
};

// Base class for the constant data of a topology, a routing or a traffic pattern.
struct ComponentData {
  virtual ~ComponentData() = default;
  // Returns the terminals that receive more traffic than others under a pattern, for the facts of a run.
  virtual std::vector<u32> hot_terminals() const { return {}; }
  // Returns a routing's own weight of a candidate of a packet, for the log of a watched packet. A lower weight is
  // better. NaN: the routing declares none.
  virtual double weight(const Network&, State&, u32 /*packet*/, u32 /*router*/, u32 /*port*/, u32 /*vc_class*/) const {
    return std::numeric_limits<double>::quiet_NaN();
  }
};

// A traffic pattern in use: its data and the functions of its TrafficSpec (registry.hpp).
struct Pattern {
  std::shared_ptr<const ComponentData> data;
  u32 (*destination)(const Network&, const ComponentData&, u64 seed, u32 terminal, u32 sequence, u32 round,
                     u32 index) = nullptr;
  u32 (*round_size)(const Network&, const ComponentData&, u64 seed, u32 terminal, u32 round) = nullptr;  // null = 1
  double (*share)(const Network&, const ComponentData&, u32 terminal) = nullptr;  // factor on the load; null = 1
  double packets_per_round = 1;                                                   // mean
  double mean_share = 1;                                                          // mean of `share` over all terminals
};

// Sources that send in bursts. The lengths of bursts and pauses have Pareto distributions.
struct OnOff {
  struct Period {
    double mean = 0, shape = 2;  // mean in cycles; shape > 1
    double least() const { return mean * (shape - 1) / shape; }
  };
  Period on, off;
  bool one_destination = false;  // the packets of a burst have the same destination
  double share_on() const { return on.mean / (on.mean + off.mean); }
};

// The network from a cycle on, without the links that are down. It holds the distances that have no closed form.
struct Graph {
  Cycle from = 0;
  std::vector<u8> down;  // [router_ports] 1: the channel from this port is down; empty: no channel is down
  std::vector<u8> hops;  // [to, from] router-to-router hops; empty: the topology has a closed form
  u32 diameter = 0;      // hops of the longest minimal path
  // [to, from] least time of a minimal path without queueing, ns; empty: hops x one_hop_ns
  std::vector<float> flight_ns;
  float one_hop_ns = 0, longest_flight_ns = 0;
  bool usable(u32 port) const { return down.empty() || !down[port]; }
};

// The functions of a topology that routings for any topology use. A topology may override them with closed forms. The
// default functions use the graph of links and breadth-first search (include/simcore/graph.hpp selects between the
// two).
struct Topology : ComponentData {
  u32 diameter = 0;        // router-to-router hops of the longest minimal path; 0: found by search
  bool closed = false;     // hops_between() has a closed form; false: a table quadratic in routers is built
  bool estimates = false;  // first_estimate_ns() has a closed form
  // Router-to-router hops of a minimal path.
  virtual u32 hops_between(const Network&, u32 router, u32 to) const;
  // Whether `port`, which leads to another router, is on a minimal path to router `to`.
  virtual bool is_minimal(const Network&, const Graph&, u32 router, u32 port, u32 to) const;
  // Sets Packet::nonminimal for a batch, just before its routes are applied. Uses is_minimal()
  // (include/simcore/topology/mark.hpp).
  virtual void mark_nonminimal(const Network&, State&, const Batch&) const;
  // Router-local port of the first hop of a packet's minimal path. At the last router: the port of the terminal.
  virtual u32 minimal_port(const Network&, const Graph&, u32 router, const Packet&) const;
  // Number of regions: sets of routers that share a row in a small learned table. By default a region is one router.
  virtual u32 regions(const Network& net) const;
  virtual u32 region(u32 router) const { return router; }
  // Initial value of a learned table: time without queueing from `router` through `port` to router `to`, in ns.
  virtual float first_estimate_ns(const Network&, u32 router, u32 port, u32 to) const;
};

// Facts about a routing with given parameters.
struct RoutingFacts {
  u32 classes;            // VC classes; class c may use the VCs c, c + classes, c + 2 classes, ...
  u32 max_hops;           // router-to-router hops of the longest path that it can choose
  bool reroutes = false;  // a head without room at its output is routed again in the next cycle
  bool minimal = false;   // all its paths are minimal
  bool marks = false;     // it sets Packet::nonminimal itself
  bool escapes = false;   // the routing itself reroutes packets that lose their path to a failure; false: the core does
  // Its decisions read queues or credits of other routers.
  bool remote = false;
  // It reads or changes packets or memories of other routers.
  bool spreads = false;
  // After each change of the links, every head that has not begun to leave is routed again. If false, only heads that
  // wait for a failed link are routed again.
  bool asks_again = false;
  // Bubble flow control: a packet enters a ring of channels only if another packet would still fit after it
  // (Network::ring_of_output).
  bool bubble = false;
  // A decision depends on earlier ones of its router in the same cycle, so requests are in the order of the input VCs.
  bool sequential = false;
  Occupancy senses = Occupancy::kNothing;  // occupancy that it compares at many outputs (Network::sensed)
};

// For a routing that compares many outputs per decision, State keeps their occupancies in consecutive cells of a memory
// (memory.hpp). The stages update it when flits and credits come and go. A row holds one VC of all ports of a router.
struct Sensed {
  // A vector register holds eight signed 16-bit values, so a sum over VCs must not exceed kMost.
  static constexpr u32 kLeastColumns = 8, kMost = 32766;

  Kept<u16> memory;                       // [routers, vcs, columns] flits
  Occupancy parts = Occupancy::kNothing;  // kNothing: not kept
  u32 column_shift = 0, radix_shift = 0, vcs = 0;
  bool kept() const { return parts != Occupancy::kNothing; }
  static u32 columns(u32 radix_shift) { return std::max(1u << radix_shift, kLeastColumns); }
  // 1 if flits in the output queue count.
  u16 queue() const { return parts == Occupancy::kBoth || parts == Occupancy::kOutputQueue; }
  // 1 if used downstream slots count.
  u16 slots() const { return parts == Occupancy::kBoth || parts == Occupancy::kCredits; }
  std::size_t row(u32 router, u32 vc) const { return (std::size_t{router} * vcs + vc) << column_shift; }
  std::size_t at(u32 port, u32 vc) const { return row(port >> radix_shift, vc) + (port & ((1u << radix_shift) - 1)); }
};

// A time that was rounded to cycles.
struct Rounding {
  std::string quantity;
  double ns;
  u32 cycles;
  double error;  // relative
};

struct Channel {
  u32 peer = kNone;     // port at the other end, kNone if unused
  u32 flit_cycles = 1;  // time that a flit occupies the channel
  u16 line = 0;         // delay line for flits, from the start on the channel to the peer's input buffer
  u16 credit_line = 0;  // delay line for credits that are sent on this channel
  PortKind kind = PortKind::kUnused;
};
static_assert(sizeof(Channel) == 16);

// The maker of the routing decisions (src/core/stage/route_computation.cpp).
enum class Decider : u8 {
  kRouting,     // the routing in the core
  kCandidates,  // an agent outside, among all candidates of each request (routing=external)
  kSlots,       // an agent outside, among the slots of each decision of a learning seam (routing=agent)
};

// The routers of a partition and their terminals (src/core/partition.hpp).
struct PartitionRange {
  u32 first_router = 0, end_router = 0;
  u32 first_word = 0, words = 0;  // the partition's words of State::active_routers
  u32 terminals = 0;
};

struct RouterParams {
  u32 input_depth, output_depth, nic_depth;  // flits per VC; output_depth 0: no output buffers (input-queued router)
  u32 crossbar_cycles;                       // time that a flit holds its crossbar input and output
  u32 wake_cycles;      // time from a flit's arrival in the queue of an idle output to its departure
  u32 pipeline_cycles;  // time from a head's arrival at the front of its input VC to its first switch request
  FlowControl flow_control;
  Arbiter arbiter;
  bool crossbar_per_vc;         // every input VC and output VC has a crossbar port
  bool separate_vc_allocation;  // a head wins its output VC a cycle before the switch and holds it until the tail has
                                // won the switch
  bool parallel_vc_allocation;  // in addition, every head that has no output VC requests any free VC of its class
  bool charged_at_switch;       // a flit that wins the switch takes its credit; false: when it leaves on the link
  bool terminal_credits;        // terminals have input buffers with credits; false: they accept every flit
  // flits start on links in cycles whose low bits under this mask are all set; credits count one cycle later
  u32 edge_mask;
  bool packet_credits;  // credits return per packet instead of per flit
  bool packet_links;    // flits of different packets do not interleave on a link
  // A packet holds the crossbar from head to tail, so its flits stay contiguous (src/core/stage/train.hpp).
  bool packet_crossbar;
  u32 injection_vcs;        // a NIC uses the VCs below this number, of each traffic class
  bool latency_from_nic;    // packet latency starts at the NIC; false: at generation
  bool keep_backlog;        // a full NIC delays generations; false: it loses them
  bool multi_cycle_switch;  // a crossbar port or (without output buffers) a channel is busy for more than one cycle
  u32 watchdog_cycles;
};

// Routers and terminals by their numbers.
struct Places {
  u32 routers = 0, groups = 1;
  std::vector<u32> router_group;                          // [routers] Dragonfly group, HyperX plane, ...
  std::vector<std::string> router_names, terminal_names;  // empty: routers or terminals have only numbers
  // Terminals before any of them failed; empty if none failed.
  std::vector<u32> terminal_number;  // [terminals] number that the terminal had
  std::vector<u32> router_before;    // [terminals before any failure] router of each terminal
  std::string router_name(std::size_t r) const { return router_names.empty() ? std::to_string(r) : router_names[r]; }
  std::string terminal_name(u32 t) const { return terminal_names.empty() ? std::to_string(t) : terminal_names[t]; }
};

struct Network : Places {
  u32 terminals = 0, radix = 0, vcs = 0;
  u32 router_ports = 0, port_count = 0;  // routers << radix_shift; router_ports + terminals
  double cycle_ns = 0;
  double flit_bytes = 0;
  u32 flit_cycles_host = 0;            // the flit time, the unit of loads
  double link_latency_ns[3] = {};      // time of flight by PortKind
  std::map<u32, Link> own_links;       // links with individual latency or bandwidth, by the port at one end
  std::vector<double> own_latency_ns;  // [port_count] time of flight; empty without individual latencies
  u32 longest_delay = 0;               // upper bound of every scheduled delay, cycles

  Array<Channel> channels;           // [port_count] the channel that leaves from each port
  std::vector<u32> terminal_router;  // [terminals]
  std::vector<u32> terminal_port;    // [terminals] router-local port
  std::vector<u16> first_link;       // [routers] lowest router-local port to another router
  u32 link_span = 0;                 // largest number of ports from a router's first link to its last

  // [lines] delay of each delay line, cycles. A line serves all channels with the same delay. The order is: local_lines
  // within a partition, far_lines for events from other partitions, far_lines for events to other partitions. With one
  // partition, far_lines is 0.
  std::vector<u32> delays;
  u32 local_lines = 0, far_lines = 0;

  std::vector<PartitionRange> ranges;  // [partitions] in the order of the routers
  std::vector<u16> router_partition;   // [routers] empty: one partition
  u32 lookahead = 1;                   // least time of an event from one partition to another, cycles
  u32 partition_of(u32 r) const { return router_partition.empty() ? 0 : router_partition[r]; }
  u32 partitions() const { return static_cast<u32>(ranges.size()); }
  // The partitions synchronise in every cycle, because an agent decides for all of them or decisions read other
  // partitions.
  bool together = false;

  u32 vc_shift = 0, radix_shift = 0;  // see the ids above
  u32 request_words = 1;              // 64-bit words of a router's mask of input VCs
  u32 asked_words = 1;                // 64-bit words of a router's mask of output ports
  // If input VCs do not contend for output ports (RouterParams::crossbar_per_vc), all requests of a router are in the
  // mask of its port 0.
  u32 request_mask = ~0u;
  u32 request_port(u32 out_port) const { return out_port & request_mask; }

  RouterParams router{};
  std::vector<Rounding> rounding;

  std::shared_ptr<const Topology> topology;
  // Graphs in the order of time. Totals::epoch is the index of the present graph.
  std::vector<std::shared_ptr<const Graph>> graphs;
  // The links that never fail, if some links fail repeatedly; else null.
  std::shared_ptr<const Graph> lasting;
  bool damaged = false;                   // links fail from the start or later, so closed forms are not valid
  std::string failed_link;                // name of one failed link for messages, "A-B"
  std::vector<std::string> failed_links;  // links that are missing from cycle 0 on
  bool replaced = false;                  // because of failures, the routing for graphs replaces that of the topology
  std::shared_ptr<const ComponentData> routing;
  // `candidates` reads these data: those of the relation if the routing uses one, otherwise those of the routing.
  std::shared_ptr<const ComponentData> relation;
  std::shared_ptr<const tables::ForwardingTable> given_table;  // from the configuration, for routing=table
  u64 table_digest = 0;                                        // of given_table, set by that routing
  std::shared_ptr<const Demand> given_demand;
  std::shared_ptr<const Demand> given_traffic;    // from the configuration, for traffic=matrix
  std::shared_ptr<const Seam> seam;               // null: no agent decides
  std::shared_ptr<const Workload> workload;       // null: synthetic traffic
  std::shared_ptr<const Control> control;         // of the NICs; null: they send whenever they have room
  std::shared_ptr<const TrafficClasses> classes;  // null: all packets are alike
  u32 class_vcs = 0;                              // VCs of a traffic class; without classes, all VCs
  // Accounts of the use of channels: one per job and traffic class (src/core/hosts/blame.hpp); 0: none.
  u32 accounted_jobs = 0, accounts_per_job = 1;
  std::string topology_name, routing_name, traffic_name;
  std::string fingerprint;           // topology and parameters, which a saved Q-table must match
  std::string identity;              // whole configuration, which a snapshot must match
  Config config;                     // validated sections with all parameters, without tables and programs
  std::vector<std::string> plugins;  // plugins whose components it uses
  u64 memory_bytes = 0;              // initial memory of a simulation, counted by build()
  RoutingFacts routing_facts{};
  // [radix] bubble flow control: ring of the packets that leave or arrive through a router-local port, kNoRing
  std::vector<u16> ring_of_output, ring_of_input;
  std::vector<MemoryShape> memories;  // data of components in State (memory.hpp)
  std::vector<u32> packet_memories;   // indices into `memories` of the memories with an entry per packet
  Sensed sensed;
  // [routers] cycle before which no request of the router can be granted, because crossbar ports are busy. Kept for
  // packets that keep together and arbiters that order the requests (src/core/stage/switch_allocation.cpp).
  Kept<u32> resting;
  u32 table = kNone;         // memory with the routing's learned table; the first table that was declared
  bool learns = false;       // packets cause feedback to the upstream router
  bool keeps_flits = false;  // Port::flits_before is kept
  LearnedTable feedback;     // table that learns from this feedback; without rows: no table in the core
  Decider decider = Decider::kRouting;

  Kept<u16> islip;  // [router_ports] pointers of the arbiter kIslip (src/core/stage/switch_allocation_islip.cpp)

  // Functions of the routing (registry.hpp). `route` is called once per cycle.
  void (*route)(const Network&, State&, Batch&) = nullptr;
  void (*learn)(const Network&, State&, u32 port, u32 row, float target) = nullptr;
  void (*candidates)(const Network&, State&, Batch&) = nullptr;  // the relation: lists all candidates
  // Operations of a decision (cost.hpp); null: not declared. Operations of an update of the learned table.
  Operations (*operations)(const Network&, double candidates) = nullptr;
  Operations update;
  // Updates the packet's data after an agent's choice; null: the relation keeps no such data.
  void (*chosen)(const Network&, State&, Batch&, u32 request) = nullptr;
  void (*delivered)(const Network&, State&, u32 packet) = nullptr;  // null: no component needs it
  // Intermediate router of the path of a packet (registry.hpp); null: paths have none.
  u32 (*waypoint)(const Network&, const State&, u32 packet, u32 router, u32 port) = nullptr;

  u64 seed = 0;
  u32 least_packet_flits = 1, most_packet_flits = 1;  // packet sizes are uniformly distributed between these
  bool whole_packets = false;       // packets have several flits and keep together (src/core/stage/train.hpp)
  bool fixed_interval = false;      // sources generate at fixed intervals; false: Bernoulli trials
  u32 trial_cycles = 1;             // cycles from a Bernoulli trial to the next
  std::vector<double> load_values;  // [loads] piecewise constant offered load
  std::vector<double> gap_scale;    // [loads] 1 / log(1 - p) of the Bernoulli trials; 0: generation in every cycle
  std::vector<u64> gap_fixed;       // [loads] fixed interval, cycles in 32.32 fixed point; all ones: never
  std::vector<Cycle> load_from;     // [loads] first cycle; the first is 0
  std::vector<u32> load_pattern;    // [loads] index in `patterns`
  std::vector<Pattern> patterns;    // empty with a workload
  // Steps of a source (Terminal::step). If they are endless, step n has entry n mod [loads] of the arrays.
  u32 load_steps = 1;                   // number of steps; kNone: endless
  Cycle load_period = 0;                // time after which the list of loads begins again
  bool trial_at_change = false;         // the first cycle of a step has the last Bernoulli trial of the step before it
  std::shared_ptr<const OnOff> on_off;  // null: all sources change their load at the same cycles
  u32 load_entry(u32 step) const { return load_steps == kNone ? step % static_cast<u32>(load_values.size()) : step; }
  // Returns the first cycle of a step that begins at the same time for all sources.
  u64 load_start(u32 step) const {
    const auto loads = static_cast<u32>(load_from.size());
    return u64{step / loads} * load_period + load_from[step % loads];
  }
  const Pattern& pattern(u32 step) const {
    return patterns.size() == 1 ? patterns.front() : patterns[load_pattern[load_entry(step)]];
  }
  u32 destination(u64 of_seed, u32 terminal, u32 sequence, u32 round, u32 index, u32 step = 0) const {
    const Pattern& p = pattern(step);
    return p.destination(*this, *p.data, of_seed, terminal, sequence, round, index);
  }
  u32 round_size(u64 of_seed, u32 terminal, u32 round, u32 step = 0) const {
    const Pattern& p = pattern(step);
    return p.round_size ? p.round_size(*this, *p.data, of_seed, terminal, round) : 1;
  }

  double mean_packet_flits() const { return (least_packet_flits + most_packet_flits) / 2.0; }
  u32 port(u32 r, u32 k) const { return r << radix_shift | k; }
  u32 nic(u32 terminal) const { return router_ports + terminal; }
  bool is_nic(u32 p) const { return p >= router_ports; }
  bool accepts_all(u32 p) const {  // the channel leads to a terminal that accepts every flit
    return !is_nic(p) && channels[p].kind == PortKind::kTerminal && !router.terminal_credits;
  }
  u32 router_of_port(u32 p) const { return p >> radix_shift; }
  u32 local_port(u32 p) const { return p & ((1u << radix_shift) - 1); }
  u32 vc_id(u32 p, u32 vc) const { return p << vc_shift | vc; }
  u32 port_of_vc(u32 v) const { return v >> vc_shift; }
  u32 input_vc_count() const { return router_ports << vc_shift; }  // ids from here on are VCs of terminals
  u32 vc_of(u32 v) const { return v & ((1u << vc_shift) - 1); }
  u32 vc_mask() const { return (1u << (radix_shift + vc_shift)) - 1; }  // the bits of a VC id within its router
  u32 hop_cycles(u32 p) const { return delays[channels[p].line]; }
  double link_ns(u32 p) const {
    return own_latency_ns.empty() ? link_latency_ns[static_cast<u32>(channels[p].kind)] : own_latency_ns[p];
  }
  bool is_link(u32 p) const { return channels[p].kind == PortKind::kLocal || channels[p].kind == PortKind::kGlobal; }
  u32 next_router(u32 p) const { return router_of_port(channels[p].peer); }  // at the other end of a link
};

inline u32 Topology::regions(const Network& net) const { return net.routers; }

// Checks everything. Throws ConfigError with key, value and valid choices, also if the simulation would need too much
// memory. Throws the exceptions of `keep_going`.
std::shared_ptr<const Network> build(const Config& config, const KeepGoing& keep_going = {});
// The wiring of the sections `topology` and `failures`, without routers, routing and traffic. Throws ConfigError.
Network wired(const Config& config, bool* links_change = nullptr);  // whether links fail during the run
u32 count_nodes(const Config& config);  // complete nodes, from topology, failures and workload parameters

}  // namespace flitgym
