// The i-th rank on the i-th of the terminals, as they were given: what a mapping is compared with, and a start to
// refine.
#include "mapping/problem.hpp"
#include "simcore/registry.hpp"

namespace flitgym::mapping::in_order {

namespace {

Mapping in_order(const MappingProblem& p) {
  return {p.sites.in_order.begin(), p.sites.in_order.begin() + p.application.vertices()};
}

const Register<MapperSpec> registration{{"in_order", "ranks as they come, on terminals as they come", in_order}};

}  // namespace

}  // namespace flitgym::mapping::in_order
