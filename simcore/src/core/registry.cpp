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

FLITGYM_KIND(TopologySpec, "topology", s.wire)
FLITGYM_KIND(RoutingSpec, "routing", (s.setup && s.route))
FLITGYM_KIND(RelationSpec, "relation", (s.setup && s.candidates))
FLITGYM_KIND(TrafficSpec, "traffic", s.schedule || (s.setup && s.destination))
FLITGYM_KIND(MotifSpec, "motif", s.build)
FLITGYM_KIND(ObservationSpec, "observation", s.write)
FLITGYM_KIND(RewardSpec, "reward", s.reward)
FLITGYM_KIND(ControlSpec, "congestion_control", s.setup)

std::vector<ParamSpec> params_of(const RoutingSpec& spec) {
  return spec.more_params ? joined(spec.params, spec.more_params()) : spec.params;
}

}  // namespace flitgym
