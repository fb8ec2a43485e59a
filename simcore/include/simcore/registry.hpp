// One file per kind of thing, registered at its own end; nobody edits a list.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "simcore/network.hpp"
#include "simcore/program.hpp"

namespace flitgym {

// What a topology builder fills in; build.cpp turns it into a checked Network. Routers may differ in their ports, and a
// terminal may hang on any of them.
struct Wiring {
  struct End {
    u32 router, port;  // router-local
  };
  u32 routers = 0, groups = 1;
  std::vector<u32> first;          // [routers + 1] where the ports of each begin in the arrays of all ports
  std::vector<u32> router_group;   // [routers]
  std::vector<u32> peer;           // [ports] port at the other end, kNone
  std::vector<PortKind> kind;      // [ports]
  std::map<u32, Link> own;         // by port: links with a latency or a bandwidth of their own
  std::vector<u32> terminal_port;  // [terminals] port each terminal hangs on
  std::vector<std::string> router_names, terminal_names;  // empty: numbers
  std::shared_ptr<const Topology> data;
  // of what stands in a file: part of the network's fingerprint; 0: the parameters say it all
  u64 digest = 0;

  void resize(u32 router_count, u32 ports);           // all alike
  void resize(const std::vector<u32>& ports);         // [routers]
  void connect(End a, End b, const Link& link = {});  // throws CoreError where a port is taken or is not there
  // terminals are numbered in the order of attachment
  void attach_terminal(End at, const Link& link = {PortKind::kTerminal});
  u32 port(End end) const { return first[end.router] + end.port; }
};

struct TopologySpec {
  std::string name, summary;
  std::vector<ParamSpec> params = {};
  void (*wire)(const Params&, Wiring&);
  // parameters of an instance of some ten routers: the tests run every routing on it
  Values small;
  std::string plugin = {};  // that brought it; empty: flitgym itself
};

// One name may stand for several files, one per topology: `minimal` on a Dragonfly and on any graph; the one that names
// the topology goes first, unless links are missing that it does not go around. What they take by the same key has the
// same default; a choice without words of its own (any) stays open.
struct RoutingSpec {
  std::string name, summary;
  std::vector<std::string> topologies = {};  // those it accepts; none = any
  std::vector<ParamSpec> params = {};
  // Reads the parameters into its ComponentData and says what it needs; declares what it keeps (memory.hpp), and sets
  // network.learns and network.feedback where it learns.
  RoutingFacts (*setup)(const Params&, Network&, std::shared_ptr<const ComponentData>&);
  void (*route)(const Network&, State&, Batch&);
  void (*learn)(const Network&, State&, u32 port, u32 row, float target) = nullptr;
  void (*candidates)(const Network&, State&, Batch&) = nullptr;  // everything that may be chosen, minimal first
  // notes what has to be kept of a choice among them
  void (*chosen)(const Network&, State&, Batch&, u32 request) = nullptr;
  bool agent_can_choose = true;  // somebody else may choose among them
  Decider decider = Decider::kRouting;
  bool graph = false;   // it goes by the graph that is there, and so around links that are missing
  bool widest = false;  // what relation=widest means on its topologies
  std::vector<ParamSpec> (*more_params)() = nullptr;  // beside `params`: those that other files declare
  std::string plugin = {};                            // that brought it; empty: flitgym itself
};

std::vector<ParamSpec> params_of(const RoutingSpec& spec);  // all of them

// What may be chosen for a packet, apart from who chooses: a list of candidates, as free of deadlock and livelock as it
// is whatever is picked. A routing that lists its candidates is one, by its name; these are those that belong to no
// routing of their own.
struct RelationSpec {
  std::string name, summary;
  std::vector<std::string> topologies = {};  // those it accepts; none = any
  std::vector<ParamSpec> params = {};        // of those in relation_params() (src/routing/relation.hpp)
  RoutingFacts (*setup)(const Params&, Network&, std::shared_ptr<const ComponentData>&);
  void (*candidates)(const Network&, State&, Batch&);
  bool widest = false;      // what relation=widest means on these topologies
  bool graph = false;       // as above
  std::string plugin = {};  // that brought it; empty: flitgym itself
};

struct TrafficSpec {
  std::string name, summary;
  std::vector<std::string> topologies = {};  // those it accepts; none = any
  std::vector<ParamSpec> params = {};        // besides the common ones (load, injection, packet sizes, load steps)
  std::shared_ptr<const ComponentData> (*setup)(const Params&, const Network&);
  u32 (*destination)(const Network&, u64 seed, u32 terminal, u32 sequence, u32 round, u32 index);
  u32 (*round_size)(const Network&, u64 seed, u32 terminal, u32 round) = nullptr;
  double (*mean_round_size)(const Network&) = nullptr;
  double (*share)(const Network&, u32 terminal) = nullptr;  // part of `load` that a terminal offers; null = 1
  std::string plugin = {};                                  // that brought it; empty: flitgym itself
};

// An application: its parameters make the program of every rank. `ranks` = 0 asks for the motif's own number.
struct MotifSpec {
  std::string name, summary;
  std::vector<ParamSpec> params = {};  // besides the common ones (ranks, scale)
  // `scale` shortens the number of iterations (see scaled() in workload/motifs/motif.hpp). Throws ConfigError.
  std::shared_ptr<const Program> (*build)(const Params&, u32 ranks, double scale);
  bool cubic = false;       // runs on a cube of ranks unless told otherwise
  std::string plugin = {};  // that brought it; empty: flitgym itself
};

// Defined in src/registry.cpp for every kind of Spec, so that each file that registers something does not compile them
// anew. A library that is loaded later (plugins.hpp) registers in the same way.
template <class Spec>
std::multimap<std::string, Spec>& registry();

template <class Spec>
struct Register {
  explicit Register(Spec spec);
};

template <class Spec>
std::vector<std::string> registered_names();

const std::vector<ParamSpec>& router_params();          // the one router model, src/build.cpp
const std::vector<ParamSpec>& common_traffic_params();  // load, injection, packet size, load steps

}  // namespace flitgym
