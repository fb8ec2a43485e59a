// UGALg: at the source router, the minimal path or a path through a random group, by the local queues. The defaults are
// the rule of the Q-adaptive papers, q_min > 2 q_nonmin without hop weights (dragonfly.cc 735-958, adaptive_threshold =
// 2). The preset ugal_l is the textbook's UGAL-L.
// VC 0: detour in the source group; 1: minimal path in the source group, and intermediate group; 2: destination group.
#include "routing/dragonfly/two_legs.hpp"

namespace flitgym::routing::dragonfly::ugal_group {

namespace {

constexpr LegClasses kClasses = {0, 1, 1, 1, 2};

const Register<RoutingSpec> entry(two_legs<false, false, kClasses>({
    .name = "ugal_group",
    .summary = "minimal or through a random group, by the local queues (UGALg)",
    .topologies = {"dragonfly"},
    .params = ugal_params(2, false),
    .setup = ugal_setup<false, 3, 5>,
    .route = ugal_route<false, kClasses>,
}));

}  // namespace

}  // namespace flitgym::routing::dragonfly::ugal_group
