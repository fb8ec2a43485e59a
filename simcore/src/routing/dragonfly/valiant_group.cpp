// VALg: every packet to another group goes minimally to a uniformly random third group. From the router where it enters
// that group it goes minimally to its destination (Valiant 1982; Kim et al., ISCA 2008). Traffic within a group is
// minimal.
// VC 0 in the source group, 1 in the intermediate group, 2 in the destination group.
#include "routing/dragonfly/two_legs.hpp"

namespace flitgym::routing::dragonfly::valiant_group {

namespace {

constexpr LegClasses kClasses = {0, 0, 1, 1, 2};

const Register<RoutingSpec> entry(two_legs<false, true, kClasses>({
    .name = "valiant_group",
    .summary = "through a random group (VALg)",
    .topologies = {"dragonfly"},
    .setup = valiant_setup<false, 3, 5>,
    .route = valiant_route<false, kClasses>,
}));

}  // namespace

}  // namespace flitgym::routing::dragonfly::valiant_group
