// The delay of hop_delay over the network's mean hop, so that the rewards of different networks are of one size, with a
// toll: what is lost to queues counts `toll` times more than the way itself. A packet that waits makes others wait, and
// what it costs them is about what it pays itself: in an M/G/1 queue a packet leaves behind on average as many as it
// found. Who minimises his own delay alone sends too much over the shortest way (Pigou 1920; Roughgarden and Tardos, J.
// ACM 2002); a toll of about that size makes of the selfish optimum the common one.
#include <algorithm>

#include "learning/relative.hpp"
#include "simcore/registry.hpp"

namespace flitgym::learning::reward::relative_delay {

namespace {

float reward(const Network& net, const State&, const Closing& c) {
  const auto delay_ns = static_cast<float>((c.now - c.decided) * net.cycle_ns);
  const float lost_ns = std::max(delay_ns - c.way_ns, 0.0f);
  return -(delay_ns + net.seam->toll * lost_ns) / net.seam->hop_scale_ns;
}

const Register<RewardSpec> entry([] {
  RewardSpec spec{
      .name = "relative_delay",
      .summary =
          "minus the time to the packet's next decision or its delivery, and the toll on what of it is lost to queues "
          "/ mean hop",
      .at_next_decision = true,
      .reward = reward,
  };
  spec.tolled = true;
  return spec;
}());

}  // namespace

}  // namespace flitgym::learning::reward::relative_delay
