// The time to delivery, counted more for the packets of jobs that are slowed down more than the others.
#include <algorithm>

#include "simcore/learning.hpp"
#include "simcore/registry.hpp"

namespace flitgym {

namespace {

float reward(const Network& net, const State& s, const Closing& c) {
  double sum = 0;
  for (const double slowdown : s.job_slowdown) sum += slowdown;
  const double mean = sum / static_cast<double>(s.job_slowdown.size());
  const double weight = std::clamp(s.job_slowdown[c.packet.job] / mean, 0.1, 10.0);
  return -static_cast<float>(delay_us(net, c) * weight);
}

const Register<RewardSpec> entry({"job_slowdown", "minus the us to the packet's delivery x its job's slowdown / the mean of all jobs", false, reward});

}  // namespace

}  // namespace flitgym
