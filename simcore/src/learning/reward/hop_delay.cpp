// hop_delay: the time to the packet's next decision or its delivery. The rewards of all decisions of a packet add up to
// its delay. end_to_end_delay: the time from a decision to the packet's delivery. It contains no estimate, but the
// feedback comes later.
#include "simcore/learning.hpp"
#include "simcore/registry.hpp"

namespace flitgym::learning::reward::hop_delay {

float reward(const Network& net, const State&, const Closing& c) { return -static_cast<float>(delay_us(net, c)); }

const Register<RewardSpec> of_hop({
    .name = "hop_delay",
    .summary = "minus the time to the packet's next decision or its delivery, in us",
    .at_next_decision = true,
    .reward = reward,
});
const Register<RewardSpec> end_to_end({
    .name = "end_to_end_delay",
    .summary = "minus the time to the packet's delivery in us",
    .at_next_decision = false,
    .reward = reward,
});

}  // namespace flitgym::learning::reward::hop_delay
