// The registered components and their parameters, as dicts.
#include <set>

#include "configuration.hpp"
#include "core/failures.hpp"
#include "simcore/control.hpp"
#include "simcore/registry.hpp"
#include "simcore/tables/engine.hpp"
#include "simcore/traffic_classes.hpp"
#include "simcore/workload.hpp"

static py::dict describe(const ParamSpec& spec) {
  static const char* const types[] = {"bool", "int", "float", "str", "list_float", "list_int"};
  const bool number = spec.type != ParamSpec::Type::kBool && spec.type != ParamSpec::Type::kString;
  py::object fallback = from_value(spec.fallback);
  if (spec.type == ParamSpec::Type::kIntList) fallback = py::array(fallback).attr("astype")("int64").attr("tolist")();
  return py::dict("type"_a = types[static_cast<int>(spec.type)], "default"_a = fallback,
                  "min"_a = number ? py::object(py::float_(spec.min)) : py::none(),
                  "max"_a = number ? py::object(py::float_(spec.max)) : py::none(), "unit"_a = spec.unit,
                  "choices"_a = spec.choices, "doc"_a = spec.doc, "draws"_a = spec.draws, "needs"_a = spec.needs);
}

// `plugin` is the plugin of the component; "" if it is built in.
static py::dict describe(const std::string& summary, const std::vector<ParamSpec>& params, const py::dict& facts = {},
                         const std::string& plugin = "") {
  py::dict all;
  for (const ParamSpec& spec : params) all[py::str(spec.key)] = describe(spec);
  return py::dict("summary"_a = summary, "params"_a = all, "facts"_a = facts, "plugin"_a = plugin);
}

// All components of a kind. `params` and `facts` return those of one of them.
template <class Spec, class Parameters, class Facts>
py::dict every(Parameters&& params, Facts&& facts) {
  py::dict out;
  for (const auto& [name, spec] : registry<Spec>())
    out[py::str(name)] = describe(spec.summary, params(spec), facts(spec), spec.plugin);
  return out;
}

template <class Spec>
std::vector<std::string> accepted_by(const Spec& spec) {
  return spec.topologies.empty() ? registered_names<TopologySpec>() : spec.topologies;
}

// Adds the parameters that are missing, and the choices of those that exist.
static void merge(std::vector<ParamSpec>& params, const std::vector<ParamSpec>& more) {
  for (const ParamSpec& spec : more) {
    const auto found =
        std::find_if(params.begin(), params.end(), [&](const ParamSpec& p) { return p.key == spec.key; });
    if (found == params.end()) {
      params.push_back(spec);
      continue;
    }
    if (found->choices.empty() || spec.choices.empty()) found->choices.clear();  // any text is valid
    else
      for (const std::string& word : spec.choices)
        if (std::find(found->choices.begin(), found->choices.end(), word) == found->choices.end())
          found->choices.push_back(word);
  }
}

// Several files may register a routing of the same name for different topologies. They are listed as one.
static py::dict routings() {
  py::dict out;
  for (const std::string& name : registered_names<RoutingSpec>()) {
    std::set<std::string> topologies;
    std::vector<ParamSpec> params;
    std::string summary;
    bool learns = false, external = false;
    const auto [first, last] = registry<RoutingSpec>().equal_range(name);
    for (auto at = first; at != last; ++at) {
      const RoutingSpec& spec = at->second;
      for (const std::string& topology : accepted_by(spec)) topologies.insert(topology);
      merge(params, params_of(spec));
      learns |= spec.learn != nullptr;
      external |= spec.decider != Decider::kRouting;
      summary = at == first || spec.summary == summary ? spec.summary : summary + "; " + spec.summary;
    }
    const py::dict facts("topologies"_a = std::vector<std::string>(topologies.begin(), topologies.end()),
                         "learns"_a = learns, "external"_a = external);
    out[py::str(name)] = describe(summary, params, facts, first->second.plugin);
  }
  return out;
}

static py::dict docs_of(const std::vector<Feature>& features) {
  py::dict docs;
  for (const Feature& f : features) docs[py::str(f.name)] = f.doc;
  return docs;
}

py::dict registered(const std::string& kind) {
  const auto own = [](const auto& spec) { return spec.params; };
  const auto no_params = [](const auto&) { return std::vector<ParamSpec>(); };
  const auto no_facts = [](const auto&) { return py::dict(); };
  const auto topologies = [](const auto& spec) { return py::dict("topologies"_a = accepted_by(spec)); };
  const auto one = [&](const char* name, const char* summary, const std::vector<ParamSpec>& params) {
    py::dict out;
    out[name] = describe(summary, params);
    return out;
  };
  if (kind == "topology") return every<TopologySpec>(own, no_facts);
  if (kind == "routing") return routings();
  if (kind == "traffic")
    return every<TrafficSpec>([](const TrafficSpec& spec) { return joined(common_traffic_params(), spec.params); },
                              topologies);
  if (kind == "congestion_control") return every<ControlSpec>(own, no_facts);
  if (kind == "motif")
    return every<MotifSpec>([](const MotifSpec& spec) { return joined(common_motif_params(), spec.params); }, no_facts);
  if (kind == "observation")
    return every<ObservationSpec>(no_params, [](const ObservationSpec& spec) {
      return py::dict("general"_a = docs_of(spec.general), "per_slot"_a = docs_of(spec.per_slot));
    });
  if (kind == "reward")
    return every<RewardSpec>(
        no_params, [](const RewardSpec& spec) { return py::dict("at_next_decision"_a = spec.at_next_decision); });
  if (kind == "relation") return every<RelationSpec>(own, topologies);
  if (kind == "engine")
    return every<tables::EngineSpec>(
        [](const tables::EngineSpec& spec) { return spec.passes_on ? tables::all_engine_params() : spec.params; },
        [](const tables::EngineSpec& spec) {
          return py::dict("topologies"_a = accepted_by(spec), "balances"_a = spec.balances);
        });
  if (kind == "workload")
    return one("workload", "jobs that share the network, with their placement, hosts and packets", workload_params());
  if (kind == "failures") return one("failures", "links, routers and terminals that are out of use", failure_params());
  if (kind == "traffic_class") return one("traffic_class", "each entry of router.classes", class_params());
  if (kind == "record") return one("record", "decisions of the routing as transitions", record_params());
  if (kind == "router")
    return one("vc_router",
               "virtual-channel router: input-queued, or combined input- and output-queued with crossbar speedup",
               router_params());
  const std::vector<std::string> kinds = {"topology", "router",   "routing",     "traffic",      "congestion_control",
                                          "motif",    "workload", "observation", "reward",       "relation",
                                          "failures", "engine",   "record",      "traffic_class"};
  throw ConfigError("registered(): unknown kind '", kind, "'", did_you_mean(kind, kinds),
                    "; valid kinds: ", join(kinds));
}
