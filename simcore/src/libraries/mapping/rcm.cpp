// Reverse Cuthill-McKee (Hoefler & Snir, ICS 2011). Both graphs are put in an order in which neighbours are near each
// other, and the i-th rank goes to the i-th slot. A library computes the order.
#include "simcore/mapping/problem.hpp"
#include "simcore/registry.hpp"

namespace flitgym::mapping::rcm {

Mapping rcm(const MappingProblem& p) {
  if (!mapping_library().reverse_cuthill_mckee)
    throw ConfigError("workload.mapping: rcm needs SciPy, which the core alone does not have; use greedy or recursive");
  std::vector<u32> slots;
  for (const u32 router : mapping_library().reverse_cuthill_mckee(p.sites.fabric))
    if (const u32 s = p.sites.site_at[router]; s != kNone)
      for (u32 k = p.sites.first_slot[s]; k < p.sites.first_slot[s + 1]; k++) slots.push_back(k);
  Mapping mapping(p.application.vertices());
  std::size_t at = 0;
  for (const u32 rank : mapping_library().reverse_cuthill_mckee(p.application)) mapping[rank] = slots[at++];
  return mapping;
}

const Register<MapperSpec> registration{{"rcm", "ranks and routers in reverse Cuthill-McKee order (SciPy)", rcm}};

}  // namespace flitgym::mapping::rcm
