// Registries of components. Each component is a file that registers itself at its end, so there is no central list.
#pragma once

#include "simcore/network.hpp"
#include "simcore/program.hpp"

namespace flitgym {

// The result of a topology builder; build.cpp turns it into a checked Network. Routers may have different numbers of
// ports, and a terminal may be attached to any router.
struct Wiring : Places {
  struct End {
    u32 router, port;  // router-local
  };
  std::vector<u32> first;          // [routers + 1] first port of each router in the arrays of all ports
  std::vector<u32> peer;           // [ports] port at the other end, kNone
  std::vector<PortKind> kind;      // [ports]
  std::map<u32, Link> own;         // by port: links with individual latency or bandwidth
  std::vector<u32> terminal_port;  // [terminals] router port of each terminal
  std::shared_ptr<const Topology> data = std::make_shared<const Topology>();
  // hash of a topology file, for the network's fingerprint; 0: the parameters define the network
  u64 digest = 0;

  void resize(u32 router_count, u32 ports);           // equal routers
  void resize(const std::vector<u32>& ports);         // [routers] ports of each router
  void connect(End a, End b, const Link& link = {});  // throws CoreError as free_port()
  // Terminals are numbered in the order of attachment.
  void attach_terminal(End at, const Link& link = {PortKind::kTerminal});
  u32 port(End end) const { return first[end.router] + end.port; }
  End end_of(u32 port) const;
  u32 free_port(End end) const;  // throws CoreError if the port is taken or does not exist
};

struct TopologySpec {
  std::string name, summary;
  std::vector<ParamSpec> params = {};
  void (*wire)(const Params&, Wiring&);
  // parameters of an instance with about ten routers, on which the tests run every routing
  Values small;
  std::string plugin = {};  // plugin that registers it; empty: built in
};

// Several files may register the same name, one per topology: `minimal` on a Dragonfly and on any graph. The file that
// names the topology has priority, unless links are missing that it cannot route around. A parameter has the same
// default in all files of a name. `--help` lists the union of the valid values of these files. If one of the files
// accepts any text for a parameter, `--help` lists no valid values for it.
struct RoutingSpec {
  std::string name, summary;
  std::vector<std::string> topologies = {};  // accepted topologies; empty: any
  std::vector<ParamSpec> params = {};
  // Fills the routing's ComponentData, declares its memory (memory.hpp) and returns the routing's requirements. A
  // routing that learns sets network.learns and network.feedback.
  RoutingFacts (*setup)(const Params&, Network&, std::shared_ptr<const ComponentData>&) = nullptr;
  void (*route)(const Network&, State&, Batch&) = nullptr;
  void (*learn)(const Network&, State&, u32 port, u32 row, float target) = nullptr;
  void (*candidates)(const Network&, State&, Batch&) = nullptr;  // lists all valid choices, minimal first
  // Updates the packet's data after an agent has chosen a candidate.
  void (*chosen)(const Network&, State&, Batch&, u32 request) = nullptr;
  // Called for every delivered packet.
  void (*delivered)(const Network&, State&, u32 packet) = nullptr;
  // The router that a packet must visit before its destination if it leaves `router` by `port` (router-local); kNone:
  // no router.
  u32 (*waypoint)(const Network&, const State&, u32 packet, u32 router, u32 port) = nullptr;
  bool agent_can_choose = true;  // whether an agent may choose among the candidates
  Decider decider = Decider::kRouting;
  bool graph = false;   // uses the present graph, so it routes around missing links
  bool widest = false;  // relation=widest selects it on its topologies
  // Returns the operations of one decision that has this mean number of candidates (cost.hpp); null: not declared.
  Operations (*operations)(const Network&, double candidates) = nullptr;
  std::vector<ParamSpec> (*more_params)() = nullptr;  // parameters in addition to `params`, declared in other files
  std::string plugin = {};                            // plugin that registers it; empty: built in
};

std::vector<ParamSpec> params_of(const RoutingSpec& spec);  // all parameters

// A relation lists the candidates of a packet. Every choice among them is free of deadlock and livelock. A relation
// does not choose. Routings that list candidates are relations of the same name. These specs are relations that do not
// belong to a routing.
struct RelationSpec {
  std::string name, summary;
  std::vector<std::string> topologies = {};  // accepted topologies; empty: any
  // Of these parameters, agents can set only those that relation_params() also contains
  // (include/simcore/routing/relation.hpp).
  std::vector<ParamSpec> params = {};
  RoutingFacts (*setup)(const Params&, Network&, std::shared_ptr<const ComponentData>&);
  void (*candidates)(const Network&, State&, Batch&);
  // As in RoutingSpec.
  void (*chosen)(const Network&, State&, Batch&, u32 request) = nullptr;
  void (*delivered)(const Network&, State&, u32 packet) = nullptr;
  u32 (*waypoint)(const Network&, const State&, u32 packet, u32 router, u32 port) = nullptr;
  bool widest = false;      // relation=widest selects it on these topologies
  bool preferred = false;   // relation=preferred selects it on these topologies, instead of the widest
  bool graph = false;       // as in RoutingSpec
  std::string plugin = {};  // plugin that registers it; empty: built in
};

// Traffic that consists of other patterns in turn.
struct TrafficSchedule {
  struct Phase {
    std::string pattern;  // a pattern and its parameters, such as "adversarial shift=4"
    double load, from_ns;
    std::string name;  // for messages
  };
  std::vector<Phase> phases = {};  // from cycle 0 on, in the order of time
  double period_ns = 0;            // time after which the phases begin again; 0: the last phase has no end
  // If set, every source alternates between phases 0 and 1 at times of its own; null: all sources change phase
  // together.
  std::shared_ptr<const OnOff> on_off = {};
};

struct TrafficSpec {
  std::string name, summary;
  std::vector<std::string> topologies = {};  // accepted topologies; empty: any
  std::vector<ParamSpec> params = {};  // in addition to the common ones (load, injection, packet sizes, load steps)
  // The result of setup() is the argument ComponentData of the other functions.
  std::shared_ptr<const ComponentData> (*setup)(const Params&, const Network&) = nullptr;
  u32 (*destination)(const Network&, const ComponentData&, u64 seed, u32 terminal, u32 sequence, u32 round,
                     u32 index) = nullptr;
  u32 (*round_size)(const Network&, const ComponentData&, u64 seed, u32 terminal, u32 round) = nullptr;
  double (*mean_round_size)(const Network&, const ComponentData&) = nullptr;
  // Fraction of `load` that a terminal offers; null: 1.
  double (*share)(const Network&, const ComponentData&, u32 terminal) = nullptr;
  TrafficSchedule (*schedule)(const Params&, const Network&) = nullptr;  // instead of all functions above
  // A program of flows instead of packets; it returns null if the parameters give packets.
  std::shared_ptr<const Program> (*flows)(const Params&, const Network&) = nullptr;
  std::string plugin = {};  // plugin that registers it; empty: built in
};

// An application: its parameters determine the program of every rank. `ranks` = 0 means the motif's default number.
struct MotifSpec {
  std::string name, summary;
  std::vector<ParamSpec> params = {};  // in addition to the common ones (ranks, scale)
  // `scale` shortens the number of iterations (see scaled() in workload/motif.hpp). Throws ConfigError.
  std::shared_ptr<const Program> (*build)(const Params&, u32 ranks, double scale);
  bool cubic = false;       // the default number of ranks is a cube
  std::string plugin = {};  // plugin that registers it; empty: built in
};

// FLITGYM_KIND (kind.hpp) defines them in one source file per kind, so files that register components need not compile
// these functions.
// Libraries that are loaded later (plugins.hpp) register in the same way.
template <class Spec>
std::multimap<std::string, Spec>& registry();

template <class Spec>
struct Register {
  explicit Register(Spec spec);
};

template <class Spec>
std::vector<std::string> registered_names();

const std::vector<ParamSpec>& router_params();          // parameters of the router model, src/core/router_setup.cpp
const std::vector<ParamSpec>& common_traffic_params();  // load, injection, packet size, load steps

}  // namespace flitgym
