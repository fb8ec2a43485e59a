// UGALn: as UGALg, but the detour goes through a random router of the intermediate group (dragonfly.cc 960-1095).
// VC 0: detour in the source group; 1: towards the intermediate router; 2: leaving the intermediate group, and minimal
// path in the source group; 3: destination group.
#include "routing/dragonfly/two_legs.hpp"

namespace flitgym::routing::dragonfly::ugal_router {

namespace {

constexpr LegClasses kClasses = {0, 2, 1, 2, 3};

const Register<RoutingSpec> entry(two_legs<true, false, kClasses>({
    .name = "ugal_router",
    .summary = "minimal or through a random router, by the local queues (UGALn)",
    .topologies = {"dragonfly"},
    .params = ugal_params(2, false),
    .setup = ugal_setup<true, 4, 6>,
    .route = ugal_route<true, kClasses>,
}));

}  // namespace

}  // namespace flitgym::routing::dragonfly::ugal_router
