// The i-th rank is on the i-th of the given terminals. This is the baseline for other mappings and a start for
// refinement.
#include "simcore/mapping/problem.hpp"
#include "simcore/registry.hpp"

namespace flitgym::mapping::in_order {

Mapping in_order(const MappingProblem& p) {
  return {p.sites.in_order.begin(), p.sites.in_order.begin() + p.application.vertices()};
}

const Register<MapperSpec> registration{{"in_order", "ranks in order, on the terminals in the given order", in_order}};

}  // namespace flitgym::mapping::in_order
