#include "simcore/tables/engine.hpp"

#include "simcore/kind.hpp"
#include "simcore/rng.hpp"

namespace flitgym {

template <>
void check_more(const std::string& where, const tables::EngineSpec& spec) {
  for (const ParamSpec& p : spec.params)
    for (const ParamSpec& other : tables::all_engine_params())
      if (p.key == other.key && p.type != other.type)
        throw ConfigError(where, ".", p.key, ": another engine has a parameter with this key and another type");
}

FLITGYM_KIND(tables::EngineSpec, "engine", s.make)

}  // namespace flitgym

namespace flitgym::tables {

void demand_towards(const ChannelGraph& g, const Demand& demand, u32 terminal, std::vector<double>& by_switch) {
  by_switch.assign(g.switches, 0);
  if (demand.empty()) {
    for (u32 s = 0; s < g.switches; s++) by_switch[s] = g.terminals_at(s);
    by_switch[g.terminal_switch[terminal]] -= 1;
    return;
  }
  for (u64 k = demand.first[terminal]; k < demand.first[terminal + 1]; k++)
    if (demand.source[k] != terminal) by_switch[g.terminal_switch[demand.source[k]]] += demand.weight[k];
}

static const EngineSpec& find_engine(const std::string& key, const std::string& name, const ChannelGraph& g) {
  const auto accepts = [&](const EngineSpec& spec) {
    return spec.topologies.empty() || std::count(spec.topologies.begin(), spec.topologies.end(), g.topology_name);
  };
  const EngineSpec& spec = named<EngineSpec>(key, name);
  if (accepts(spec)) return spec;
  std::vector<std::string> others;
  for (const auto& [other, at] : registry<EngineSpec>())
    if (accepts(at)) others.push_back(other);
  throw ConfigError(key, ": ", name, " does not support topology '", g.topology_name, "'; it supports ",
                    join(spec.topologies), "; engines for ", g.topology_name, ": ", join(others));
}

// Checks the network first, so that an engine is not blamed for missing links.
static void check_reachable(const std::string& where, const ChannelGraph& g) {
  const std::vector<u32> hops = hops_to(g, g.terminal_switch[0]);
  for (u32 t = 1; t < g.terminals; t++)
    if (hops[g.terminal_switch[t]] == kNone)
      throw ConfigError(where, ": the network is not connected: there is no path from terminal ", g.terminal_name(0),
                        " (switch ", g.switch_name(g.terminal_switch[0]), ") to terminal ", g.terminal_name(t),
                        " (switch ", g.switch_name(g.terminal_switch[t]), ")");
}

const std::string kOfRouting = "routing.table";

std::vector<ParamSpec> all_engine_params() {
  std::vector<ParamSpec> params;
  for (const auto& [name, spec] : registry<EngineSpec>())
    for (const ParamSpec& p : spec.params)
      if (std::none_of(params.begin(), params.end(), [&](const ParamSpec& has) { return has.key == p.key; }))
        params.push_back(p);
  return params;
}

ForwardingTable make_table(const std::string& where, const EngineChoice& choice, const ChannelGraph& g,
                           const std::string& engine_key) {
  const EngineSpec& spec = find_engine(where + "." + engine_key, choice.name, g);
  // A parameter of another engine is accepted at its default value.
  Values own;
  const auto all = all_engine_params();
  for (const auto& [key, value] : choice.values) {
    const auto named = [&key = key](const ParamSpec& p) { return p.key == key; };
    const auto other = std::find_if(all.begin(), all.end(), named);
    if (other == all.end() || spec.passes_on || std::any_of(spec.params.begin(), spec.params.end(), named))
      own[key] = value;
    else if (to_string(value) != to_string(other->fallback)) {
      std::vector<std::string> takers;
      for (const auto& [name, at] : registry<EngineSpec>())
        if (std::any_of(at.params.begin(), at.params.end(), named)) takers.push_back(name);
      throw ConfigError(where, ".", key, ": engine ", spec.name, " does not use it (given: ", to_string(value),
                        "); engines that use it: ", join(takers));
    }
  }
  const Params params(where, spec.passes_on ? all : spec.params, own, choice.run_seed);
  if (choice.demand && !spec.balances)
    throw ConfigError(where, ".demand: engine ", spec.name,
                      " does not use a demand; remove it or take an engine that balances load");
  if (choice.demand) check_size(where + ".demand: ", *choice.demand, g.terminals);
  check_reachable(where, g);
  ForwardingTable table;
  try {
    table = spec.make(params, g, choice.demand ? *choice.demand : Demand{});
  } catch (const ConfigError& error) {
    // Engines write "routing.table" in messages. Here the caller's key replaces it.
    std::string text = error.what();
    if (text.rfind(kOfRouting, 0) == 0) text.replace(0, kOfRouting.size(), where);
    throw ConfigError(text);
  }
  check_table(g, table);
  return table;
}

ParamSpec layers_param() {
  return integer(
      "layers", 0, 0, kMaxVcs, "",
      "maximum number of virtual layers; each layer needs its own VC class; 0 = as many as the engine needs");
}

}  // namespace flitgym::tables
