// VALn: as VALg, but through a uniformly random router of the intermediate group, which also spreads the traffic over
// that group's local links (Q-adaptive authors' dragonfly.cc, 642-733). Traffic within a group is minimal.
// VC 0 in the source group, 1 towards the intermediate router, 2 leaving the intermediate group, 3 in the destination
// group.
#include "routing/dragonfly/two_legs.hpp"

namespace flitgym::routing::dragonfly::valiant_router {

namespace {

constexpr LegClasses kClasses = {0, 0, 1, 2, 3};

const Register<RoutingSpec> entry(two_legs<true, true, kClasses>({
    .name = "valiant_router",
    .summary = "through a random router (VALn)",
    .topologies = {"dragonfly"},
    .setup = valiant_setup<true, 4, 6>,
    .route = valiant_route<true, kClasses>,
}));

}  // namespace

}  // namespace flitgym::routing::dragonfly::valiant_router
