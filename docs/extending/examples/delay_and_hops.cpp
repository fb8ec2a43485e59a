// The time to delivery and a price for every channel that the packet has taken: what is saved
// is energy, and room for others. The price is `toll`, in the network's own unit of time, its
// mean hop.
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
  const bool at_next_decision = false;  // at delivery, when the hops are known
  RewardSpec spec{"delay_and_hops",
                  "minus the time to the packet's delivery / mean hop, and the toll for each "
                  "hop of its way",
                  at_next_decision, reward};
  spec.tolled = true;
  return spec;
}());

}  // namespace

}  // namespace flitgym::learning::reward::delay_and_hops
