// Arrangements of the global links of a Dragonfly, and of every topology whose groups are joined in the same way.
#pragma once

#include "simcore/params.hpp"

namespace flitgym::topology {

// The global links of a group have the numbers q = k (g-1) + d: the k-th link to its d-th other group. The arrangement
// determines which group that is, and which global port of the group the link takes.
struct Arrangement {
  u32 g;
  std::string name;
  u32 other(u32 group, u32 d) const {
    if (name == "relative") return (group + d + 1) % g;
    if (name == "palmtree") return (group + g - d - 1) % g;  // Camarero et al., ACM TACO 11(4), 2014
    return d < group ? d : d + 1;  // absolute (consecutive); `random` and `even` have the same pairs
  }
  // The d by which the group `other(group, d)` numbers the same link.
  u32 back(u32 group, u32 d) const {
    if (name == "relative" || name == "palmtree") return g - 2 - d;
    return group < other(group, d) ? group : group - 1;
  }
};

// Links of each pair of groups, from the parameters `groups` and `links_per_group_pair` (0: as many as the ports
// allow). A group has `ports` global ports; `formula` names the parameters whose product this is.
inline u32 links_of_pair(const std::string& topology, const Params& params, u32 ports, const std::string& formula) {
  const u32 groups = params.count("groups"), wanted = params.count("links_per_group_pair");
  if (groups > ports + 1)
    throw ConfigError("topology.", topology, ".groups: ", groups, " groups; at most ", formula, " + 1 = ", ports + 1,
                      " groups have a link between every pair");
  const u32 most = ports / (groups - 1);
  if (wanted > most)
    throw ConfigError("topology.", topology, ".links_per_group_pair: ", wanted,
                      " links per pair of groups, but the ports allow at most ", most);
  return wanted ? wanted : most;
}

}  // namespace flitgym::topology
