// The learning part of a state: open decisions and their feedback.
#include <cmath>

#include "simcore/learning.hpp"
#include "simcore/workload.hpp"
#include "verify/verify.hpp"

namespace flitgym {

void verify_learning(const Network& net, const State& s, const std::vector<u8>& live) {
  if (!net.seam) {
    hold(s.open_decisions.empty() && s.last_decision.empty() && s.part.free_decisions.empty() &&
             s.part.news.first.empty() && s.part.news.chunks.empty(),
         "it has decisions of an agent, but the network has no agent");
    return;
  }
  const Seam& seam = *net.seam;
  const std::size_t n = s.open_decisions.size();
  hold(s.open_observation.size() == n * seam.width && s.open_next_observation.size() == n * seam.width &&
           s.open_mask.size() == n * seam.slots && s.open_next_mask.size() == n * seam.slots,
       "the pool of open decisions");
  hold(seam.capacity > 0 || n == 0, "it has open decisions, but none are recorded");
  const LearningTotals& t = s.part.learning;
  hold(t.epsilon >= 0 && t.epsilon <= 1 && t.temperature >= 0 && t.temperature <= 1e6, "the agent's exploration");
  for (const float weight : s.weights) hold(std::isfinite(weight), "a weight of the policy");
  for (const Delivered& d : s.delivered_from)
    hold(std::isfinite(d.packets) && std::isfinite(d.moment), "the account of what was delivered");

  for (const Partition& part : s.further)
    hold(part.free_decisions.empty() && part.news.empty(), "a partition has records of decisions");
  for (u32 k = 0; k <= s.further.size(); k++)
    hold(partition(s, k).deliveries.empty(), "deliveries that have not been counted");

  // A decision that is not free belongs to a packet under way, or its feedback is on its way.
  std::vector<u8> placed = marked_free(s.part.free_decisions, n, "the list of free decisions");
  const auto place = [&](u32 id) {
    hold(id < n && !placed[id], "an open decision is in two places");
    placed[id] = 1;
  };
  each_item(s.part.news, place);
  hold(s.last_decision.size() <= s.packets.size(), "the packets' decisions");
  for (std::size_t packet = 0; packet < s.last_decision.size(); packet++) {
    hold(live[packet] || s.last_decision[packet] == kNone, "a packet that is not in the network has an open decision");
    for (u32 id = s.last_decision[packet]; id != kNone; id = s.open_decisions[id].previous) place(id);
  }
  const u32 jobs = net.workload ? net.workload->job_count() : 1;
  for (std::size_t id = 0; id < n; id++) {
    const OpenDecision& open = s.open_decisions[id];
    hold(placed[id], "an open decision belongs to no packet");
    hold(open.router < net.routers && open.action < seam.slots && open.done <= 1 && open.job < jobs,
         "an open decision");
  }
}

}  // namespace flitgym
