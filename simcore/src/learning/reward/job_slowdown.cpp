// The time to delivery. It has a higher weight for jobs with a higher slowdown.
#include "simcore/graph.hpp"
#include "simcore/learning.hpp"
#include "simcore/registry.hpp"

namespace flitgym::learning::reward::job_slowdown {

struct Own : ComponentData {
  Kept<double> slowdown;
};
const Own& own(const Network& net) { return static_cast<const Own&>(*net.seam->reward_data); }

float reward(const Network& net, const State& s, const Closing& c) {
  const double* const slowdown = own(net).slowdown.of(s);
  const std::size_t jobs = memory_entries(net, Per::kJob);
  double sum = 0;
  for (std::size_t k = 0; k < jobs; k++) sum += slowdown[k];
  const double weight = std::clamp(slowdown[c.packet.job] / (sum / static_cast<double>(jobs)), 0.1, 10.0);
  return -static_cast<float>(delay_us(net, c) * weight);
}

void delivered(const Network& net, State& s, const Packet& p) {
  const double empty_ns =
      flight(net, graph_now(net, s), net.terminal_router[p.source], net.terminal_router[p.destination]) +
      net.link_ns(net.nic(p.source)) + net.link_ns(net.nic(p.destination));
  double& slowdown = own(net).slowdown.of(s)[p.job];
  const double this_one = (s.part.totals.now - p.injected) * net.cycle_ns / std::max(empty_ns, net.cycle_ns);
  slowdown += (this_one - slowdown) / 256;
}

std::shared_ptr<const ComponentData> setup(Network& net) {
  auto data = std::make_shared<Own>();
  data->slowdown = declare<double>(net, {.name = "job_slowdown",
                                         .meaning = "running mean of a packet's latency / latency without queueing",
                                         .per = Per::kJob,
                                         .fill = 1,
                                         .lowest = 1e-9});  // the mean slowdown is a divisor
  return data;
}

const Register<RewardSpec> entry({
    .name = "job_slowdown",
    .summary = "minus the time to the packet's delivery in us x slowdown of its job / mean slowdown of all jobs",
    .at_next_decision = false,
    .reward = reward,
    .setup = setup,
    .delivered = delivered,
});

}  // namespace flitgym::learning::reward::job_slowdown
