// Any candidate with equal probability. This is the behaviour of an agent that knows nothing, and its run time measures
// what it costs to consult an agent.
#include "simcore/learning.hpp"
#include "simcore/registry.hpp"
#include "simcore/routing/choice.hpp"

namespace flitgym::routing::any::random {

// log(1 / slots), as constants so that every build has the same values.
constexpr float kLogOneIn[] = {0,           0,           -0.69314718f, -1.0986123f, -1.3862944f, -1.6094379f,
                               -1.7917595f, -1.9459101f, -2.0794415f,  -2.1972246f, -2.3025851f, -2.3978953f,
                               -2.4849066f, -2.5649494f, -2.6390573f,  -2.7080502f, -2.7725887f};

static void route(const Network& net, State& s, Batch& b) {
  make_decisions(net, s, b);
  for (u32 j = 0; j < b.decisions.count; j++) {
    const Packet& p = s.packets[b.packet[b.decisions.request[j]]];
    b.decisions.chosen[j] = below(select_draw(net, p, 0), b.decisions.slot_count[j]);
    b.decisions.log_probability[j] = kLogOneIn[b.decisions.slot_count[j]];
  }
  settle_decisions(net, s, b);
}

const Register<RoutingSpec> entry({
    .name = "random",
    .summary = "any of the candidates that an agent would see, with equal probability",
    .params = seam_params(),
    .setup = setup_seam,
    .route = route,
    .graph = true,
});

}  // namespace flitgym::routing::any::random
