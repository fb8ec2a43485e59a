// The kinds of components of the core.
#include "simcore/registry.hpp"

#include "simcore/control.hpp"
#include "simcore/kind.hpp"
#include "simcore/learning.hpp"

namespace flitgym {

std::vector<Kind>& kinds() {
  static std::vector<Kind> all;
  return all;
}

bool own_topology(const std::string& topology, const std::string& plugin) {
  const auto found = registry<TopologySpec>().find(topology);
  return found != registry<TopologySpec>().end() && found->second.plugin == plugin;
}

template <>
const char* kind_name<RoutingSpec>();
template <>
const char* kind_name<RelationSpec>();

// Relations share their names with routings that list candidates, and relation=widest and =preferred select among them.
template <class Other, class Spec>
static void check_relation(const std::string& where, const Spec& spec) {
  const auto [first, last] = registry<Other>().equal_range(spec.name);
  for (auto at = first; at != last; ++at)
    if (at->second.plugin != spec.plugin && !for_own_topologies(spec))
      throw ConfigError(where, ": the name is taken by a ", kind_name<Other>(), " of ", owner(at->second.plugin),
                        "; choose another name");
  const auto own_only = [&](bool flag, const std::string& name) {
    if (flag && !for_own_topologies(spec))
      throw ConfigError(where, ": ", name, " = true would change routing.relation=", name,
                        " on topologies that do not belong to the plugin");
  };
  own_only(spec.widest, "widest");
  if constexpr (requires { spec.preferred; }) own_only(spec.preferred, "preferred");
}

template <>
void check_more(const std::string& where, const RoutingSpec& spec) {
  check_relation<RelationSpec>(where, spec);
}
template <>
void check_more(const std::string& where, const RelationSpec& spec) {
  check_relation<RoutingSpec>(where, spec);
}

// clang-format off
template <> bool complete(const TopologySpec& s) { return s.wire; }
template <> bool complete(const RoutingSpec& s) { return s.setup && s.route; }
template <> bool complete(const RelationSpec& s) { return s.setup && s.candidates; }
template <> bool complete(const TrafficSpec& s) { return s.schedule || (s.setup && s.destination); }
template <> bool complete(const MotifSpec& s) { return s.build; }
template <> bool complete(const ObservationSpec& s) { return s.write; }
template <> bool complete(const RewardSpec& s) { return s.reward; }
template <> bool complete(const ControlSpec& s) { return s.setup; }
// clang-format on

FLITGYM_KIND(TopologySpec, "topology")
FLITGYM_KIND(RoutingSpec, "routing")
FLITGYM_KIND(RelationSpec, "relation")
FLITGYM_KIND(TrafficSpec, "traffic")
FLITGYM_KIND(MotifSpec, "motif")
FLITGYM_KIND(ObservationSpec, "observation")
FLITGYM_KIND(RewardSpec, "reward")
FLITGYM_KIND(ControlSpec, "congestion_control")

std::vector<ParamSpec> params_of(const RoutingSpec& spec) {
  std::vector<ParamSpec> params = spec.params;
  if (spec.more_params)
    for (ParamSpec& p : spec.more_params()) params.push_back(std::move(p));
  return params;
}

}  // namespace flitgym
