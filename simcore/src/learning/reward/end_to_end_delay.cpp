// The time from a decision to the packet's delivery. It contains no estimate, but the feedback comes later than that of
// hop_delay.
#include "simcore/learning.hpp"
#include "simcore/registry.hpp"

namespace flitgym::learning::reward::end_to_end_delay {

namespace {

float reward(const Network& net, const State&, const Closing& c) { return -static_cast<float>(delay_us(net, c)); }

const Register<RewardSpec> entry({
    .name = "end_to_end_delay",
    .summary = "minus the time to the packet's delivery in us",
    .at_next_decision = false,
    .reward = reward,
});

}  // namespace

}  // namespace flitgym::learning::reward::end_to_end_delay
