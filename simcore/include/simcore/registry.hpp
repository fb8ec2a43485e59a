// One file per kind of thing, registered at its own end; nobody edits a list.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "simcore/network.hpp"
#include "simcore/program.hpp"

namespace flitgym {

// What a topology builder fills in; build.cpp turns it into a checked Network.
struct Wiring {
  u32 routers = 0, radix = 0, groups = 1;
  std::vector<u32> router_group;          // [routers]
  std::vector<u32> peer;                  // [routers * radix] router port at the other end, kNone
  std::vector<PortKind> kind;             // [routers * radix]
  std::vector<u32> terminal_port;         // [terminals] router port each terminal hangs on
  std::shared_ptr<const Topology> data;

  void resize(u32 router_count, u32 ports);
  void connect(u32 port_a, u32 port_b, PortKind kind);
  void attach_terminal(u32 port);         // terminals are numbered in the order of attachment
};

struct TopologySpec {
  std::string name, summary;
  std::vector<ParamSpec> params;
  void (*wire)(const Params&, Wiring&);
};

// One name may stand for several files, one per topology: `external` on a Dragonfly and on a HyperX. What they take by the
// same key has the same default; a choice without words of its own (any) stays open.
struct RoutingSpec {
  std::string name, summary;
  std::vector<std::string> topologies;    // those it accepts; none = any
  std::vector<ParamSpec> params;
  // Reads the parameters into its ComponentData and says what it needs; may set network.table and network.learns.
  RoutingFacts (*setup)(const Params&, Network&, std::shared_ptr<const ComponentData>&);
  void (*route)(const Network&, State&, Batch&);
  void (*initialise)(const Network&, State&) = nullptr;  // fills the learned table
  void (*learn)(const Network&, State&, u32 port, u32 row, float target) = nullptr;
  void (*candidates)(const Network&, State&, Batch&) = nullptr;  // everything that may be chosen, minimal first
  bool agent_can_choose = true;           // nothing but hop, port and VC class has to be kept of a choice
  bool external = false;                  // decisions from outside, among the candidates
};

struct TrafficSpec {
  std::string name, summary;
  std::vector<std::string> topologies;    // those it accepts; none = any
  std::vector<ParamSpec> params;          // besides the common ones (load, injection, packet sizes, load steps)
  std::shared_ptr<const ComponentData> (*setup)(const Params&, const Network&);
  u32 (*destination)(const Network&, u64 seed, u32 terminal, u32 sequence, u32 round, u32 index);
  u32 (*round_size)(const Network&, u64 seed, u32 terminal, u32 round) = nullptr;
  double (*mean_round_size)(const Network&) = nullptr;
};

// An application: its parameters make the program of every rank. `ranks` = 0 asks for the motif's own number.
struct MotifSpec {
  std::string name, summary;
  std::vector<ParamSpec> params;          // besides the common ones (ranks, scale)
  // `scale` shortens the number of iterations (see scaled() in workload/motif.hpp). Throws ConfigError.
  std::shared_ptr<const Program> (*build)(const Params&, u32 ranks, double scale);
  bool cubic = false;                     // runs on a cube of ranks unless told otherwise
};

// Defined in src/registry.cpp for every kind of Spec, so that each file that registers something does not compile them anew.
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
