// Code that all registries share, compiled once for each kind of component.
#include "simcore/registry.hpp"

#include <utility>

#include "loading.hpp"
#include "mapping/problem.hpp"
#include "simcore/learning.hpp"
#include "tables/engine.hpp"

namespace flitgym {

template <class Spec>
std::multimap<std::string, Spec>& registry() {
  static std::multimap<std::string, Spec> entries;  // created by the first file that registers a component
  return entries;
}

template <class Spec>
Register<Spec>::Register(Spec spec) {
  if (wait_for_check(spec)) return;
  std::string name = spec.name;
  registry<Spec>().emplace(std::move(name), std::move(spec));
}

template <class Spec>
std::vector<std::string> registered_names() {
  std::vector<std::string> names;
  for (const auto& entry : registry<Spec>())
    if (names.empty() || names.back() != entry.first) names.push_back(entry.first);
  return names;
}

#define FLITGYM_REGISTRY(Spec)                           \
  template std::multimap<std::string, Spec>& registry(); \
  template struct Register<Spec>;                        \
  template std::vector<std::string> registered_names<Spec>();

FLITGYM_REGISTRY(TopologySpec)
FLITGYM_REGISTRY(RoutingSpec)
FLITGYM_REGISTRY(RelationSpec)
FLITGYM_REGISTRY(TrafficSpec)
FLITGYM_REGISTRY(MotifSpec)
FLITGYM_REGISTRY(ObservationSpec)
FLITGYM_REGISTRY(RewardSpec)
FLITGYM_REGISTRY(tables::EngineSpec)
FLITGYM_REGISTRY(mapping::MapperSpec)

#undef FLITGYM_REGISTRY

std::vector<ParamSpec> params_of(const RoutingSpec& spec) {
  std::vector<ParamSpec> params = spec.params;
  if (spec.more_params)
    for (ParamSpec& p : spec.more_params()) params.push_back(std::move(p));
  return params;
}

}  // namespace flitgym
