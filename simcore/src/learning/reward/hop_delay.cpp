// The time to the packet's next decision or its delivery. The rewards of all decisions of a packet add up to its delay.
#include "simcore/learning.hpp"
#include "simcore/registry.hpp"

namespace flitgym::learning::reward::hop_delay {

namespace {

float reward(const Network& net, const State&, const Closing& c) { return -static_cast<float>(delay_us(net, c)); }

const Register<RewardSpec> entry({
    .name = "hop_delay",
    .summary = "minus the time to the packet's next decision or its delivery, in us",
    .at_next_decision = true,
    .reward = reward,
});

}  // namespace

}  // namespace flitgym::learning::reward::hop_delay
