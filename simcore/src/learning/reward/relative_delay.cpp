// The delay of hop_delay plus a toll on the time lost to queueing, relative to the mean hop of the network. Rewards of
// different networks then have the same scale. A waiting packet delays others by about as much as it is delayed itself.
// In an M/G/1 queue, the mean number of packets that a packet leaves behind equals the mean number that it found. If
// each packet minimizes only its own delay, too much traffic takes the shortest path (Pigou 1920; Roughgarden and
// Tardos, J. ACM 2002). A toll about equal to the delay that a packet causes others turns the selfish optimum into the
// system optimum.
#include "simcore/learning.hpp"
#include "simcore/registry.hpp"

namespace flitgym::learning::reward::relative_delay {

float reward(const Network& net, const State&, const Closing& c) {
  const auto delay_ns = static_cast<float>((c.now - c.decided) * net.cycle_ns);
  const float lost_ns = std::max(delay_ns - c.way_ns, 0.0f);
  return -(delay_ns + net.seam->toll * lost_ns) / net.seam->hop_scale_ns;
}

const Register<RewardSpec> entry({
    .name = "relative_delay",
    .summary =
        "minus (time to the packet's next decision or its delivery + toll x its part lost to queueing) / mean hop",
    .at_next_decision = true,
    .reward = reward,
    .tolled = true,
});

}  // namespace flitgym::learning::reward::relative_delay
