// Finds a registered component by name. Messages list the valid names.
#pragma once

#include "simcore/kind.hpp"
#include "simcore/routing/relation.hpp"

namespace flitgym {

// Finds the component of that name for the network. A component that names the topology has priority over one for any
// topology.
template <class Spec>
const Spec& find(const std::string& kind, const std::string& name, const Network& net) {
  check_name<Spec>(kind, name);
  const std::string& topology = net.topology_name;
  std::vector<std::string> accepted, others;
  const Spec* found = nullptr;
  const auto [first, last] = registry<Spec>().equal_range(name);
  for (auto at = first; at != last; ++at) {
    if (routing::runs_on(at->second, net) && (!found || found->topologies.empty())) found = &at->second;
    accepted.insert(accepted.end(), at->second.topologies.begin(), at->second.topologies.end());
  }
  if (found) return noted(*found);
  for (const auto& [other, spec] : registry<Spec>())
    if (routing::runs_on(spec, net) && (others.empty() || others.back() != other)) others.push_back(other);
  if (net.damaged && std::ranges::count(accepted, topology))
    throw ConfigError(kind, ".", name, ": it needs the whole topology '", topology,
                      "' and cannot route around a failed link, here ", net.failed_link, "; routings that can are ",
                      join(others));
  throw ConfigError(kind, ".", name, ": does not run on topology '", topology, "'; it accepts ", join(accepted),
                    ". Valid on ", topology, " are ", join(others));
}

}  // namespace flitgym
