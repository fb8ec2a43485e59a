// Minus the time to delivery, minus a charge for every channel of the packet's path. Fewer
// channels save energy and leave room for other packets. The charge is `toll`, in units of the
// network's mean hop time.
#include "simcore/learning.hpp"
#include "simcore/registry.hpp"

namespace flitgym::learning::reward::delay_and_hops {

namespace {

float reward(const Network& net, const State&, const Closing& c) {
  const auto delay_ns = static_cast<float>((c.now - c.decided) * net.cycle_ns);
  return -(delay_ns / net.seam->hop_scale_ns +
           net.seam->toll * static_cast<float>(c.packet.hops));
}

const Register<RewardSpec> entry([] {
  const bool at_next_decision = false;  // the reward is known at delivery
  RewardSpec spec{"delay_and_hops",
                  "minus the time to the packet's delivery / mean hop, minus the toll for each "
                  "hop of its path",
                  at_next_decision, reward};
  spec.tolled = true;
  return spec;
}());

}  // namespace

}  // namespace flitgym::learning::reward::delay_and_hops
