// Engines: whatever makes a forwarding table of a network. One file each in src/tables/engines/.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "simcore/params.hpp"
#include "simcore/registry.hpp"
#include "tables/table.hpp"

namespace flitgym::tables {

// How much every terminal sends to every other, for the engines that balance. Empty: all alike.
struct Demand {
  u32 terminals = 0;
  std::vector<u64> first;      // [terminals + 1] by destination
  std::vector<u32> source;     // [entries]
  std::vector<double> weight;  // [entries] 0 or more, in any unit
  std::string name = {};       // the file it was read from, for messages; empty: an array
  bool empty() const { return first.empty(); }
};
u64 digest(const Demand& demand);

// What the terminals of each switch send to a terminal: by_switch[s], the number of them where all are alike. A
// terminal sends nothing to itself.
void demand_towards(const ChannelGraph& g, const Demand& demand, u32 terminal, std::vector<double>& by_switch);

struct EngineSpec {
  std::string name, summary;
  std::vector<std::string> topologies = {};  // those it accepts; none = any
  std::vector<ParamSpec> params = {};        // of one key have, in all engines, one type and one meaning
  ForwardingTable (*make)(const Params&, const ChannelGraph&, const Demand&);
  bool balances = false;    // it takes a demand
  bool passes_on = false;   // it takes the parameters of all engines, for the one that it starts from
  std::string plugin = {};  // that brought it; empty: flitgym itself
};

struct EngineChoice {
  std::string name;
  Values values;
  std::shared_ptr<const Demand> demand;  // null: all alike
};

// Makes a table and checks it. `where` begins messages, e.g. "routing.table". `engine_key` is the parameter there that
// names the engine. Throws ConfigError: no such engine, parameter, or the engine does not go with this network.
ForwardingTable make_table(const std::string& where, const EngineChoice& choice, const ChannelGraph& g,
                           const std::string& engine_key = "engine");

// The parameters of all engines, each once: `routing=table` takes them beside its own.
std::vector<ParamSpec> all_engine_params();

// Most layers an engine may use: one parameter for all of them that make any.
ParamSpec layers_param();

}  // namespace flitgym::tables
