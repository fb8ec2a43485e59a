// An agent outside the core decides through the learning seam. It sees a row of features per decision and picks a slot.
#include "simcore/learning.hpp"
#include "simcore/registry.hpp"

namespace flitgym::routing::any::agent {

static void route(const Network&, State&, Batch&) {
  throw CoreError(
      "routing=agent: decisions come from outside the core; call collect() and apply() instead of run(), or use "
      "flitgym.env");
}

const Register<RoutingSpec> entry({
    .name = "agent",
    .summary = "an agent outside the core decides, from observations (flitgym.env)",
    .params = seam_params(),
    .setup = setup_seam,
    .route = route,
    .decider = Decider::kSlots,
    .graph = true,
});

}  // namespace flitgym::routing::any::agent
