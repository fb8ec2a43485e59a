// Engines compute a forwarding table for a network. Each one is a file in src/libraries/tables/engines/.
#pragma once

#include "simcore/registry.hpp"
#include "simcore/tables/table.hpp"
#include "simcore/traffic/demand.hpp"

namespace flitgym::tables {

// Traffic that the terminals of each switch send to `terminal`. Under a uniform demand, by_switch[s] is the number of
// these terminals. A terminal sends nothing to itself.
void demand_towards(const ChannelGraph& g, const Demand& demand, u32 terminal, std::vector<double>& by_switch);

struct EngineSpec {
  std::string name, summary;
  std::vector<std::string> topologies = {};  // topologies it accepts; empty: any
  std::vector<ParamSpec> params = {};        // a key has the same type and meaning in all engines
  ForwardingTable (*make)(const Params&, const ChannelGraph&, const Demand&);
  bool balances = false;     // accepts a demand
  bool passes_on = false;    // also accepts the parameters of all engines, for the engine it starts from
  std::string plugin = {};   // plugin that registered it; empty: flitgym itself
  using OneNameEach = void;  // topologies do not share a name (kind.hpp)
};

struct EngineChoice {
  std::string name;
  Values values;
  std::shared_ptr<const Demand> demand;  // null: uniform
  u64 run_seed = 0;
};

// Makes a table and checks it. `where` begins messages, e.g. "routing.table". `engine_key` is the parameter of `where`
// that names the engine. Throws ConfigError if the engine or a parameter does not exist or the engine does not support
// the network.
ForwardingTable make_table(const std::string& where, const EngineChoice& choice, const ChannelGraph& g,
                           const std::string& engine_key = "engine");

// Parameters of all engines, each key once. `routing=table` accepts them in addition to its own.
std::vector<ParamSpec> all_engine_params();

// Limit on the number of virtual layers, shared by all engines that use layers.
ParamSpec layers_param();

}  // namespace flitgym::tables
