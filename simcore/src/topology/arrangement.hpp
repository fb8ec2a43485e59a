// Arrangements of the global links of a Dragonfly, and of every topology whose groups are joined in the same way.
#pragma once

#include <string>

#include "simcore/types.hpp"

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

}  // namespace flitgym::topology
