#include "core/partition_runner.hpp"

#include <functional>

#include "core/demand.hpp"
#include "core/hosts/engine.hpp"
#include "core/partition.hpp"

namespace flitgym {

// Skips cycles without packets, which are no work.
static void skip_idle_cycles(const Network& net, State& s, Shares& shares, Cycle until) {
  const Cycle before = s.part.totals.now;
  skip_idle(net, s, until);
  shares.skip(s.part.totals.now - before);
}

u32 PartitionRunner::gather_threads(const Network& net, const Workspace& workspace, u32 wanted) {
  if (wanted > 1 && (!team_ || team_->wanted() != wanted || !team_->here())) team_ = std::make_unique<Team>(wanted);
  const u32 threads = wanted > 1 ? team_->size() : 1;
  helpers_.resize(threads - 1);
  for (Workspace& helper : helpers_) {
    if (helper.batch.input_vc.empty()) {
      Workspace complete;  // prepared before it is stored, because memory may run out
      prepare(net, complete);
      helper = std::move(complete);
    }
    helper.verify_choices = workspace.verify_choices;
  }
  return threads;
}

const Threads* PartitionRunner::threads_of(const Network& net, const State& s, Workspace& workspace, u32 wanted) {
  // The log of a watched packet is in the order of time, which only one thread keeps.
  const u32 here = s.watched.empty() ? gather_threads(net, workspace, std::min(wanted, net.partitions())) : 1;
  if (here == 1) return nullptr;
  shares_.divide(net, s, here);
  for (Workspace& helper : helpers_) helper.routes.clear();  // of a cycle that failed
  threads_.helpers = helpers_;
  threads_.share = [this, &workspace](const Threads::Work& work) {
    team_->run([&](u32 i) { work(i == 0 ? workspace : helpers_[i - 1], shares_.first(i), shares_.first(i + 1)); });
  };
  return &threads_;
}

void PartitionRunner::run(const Network& net, State& s, Workspace& workspace, u32 threads, Cycle until) {
  if (net.together || !s.watched.empty()) {
    while (s.part.totals.now < until) {
      const Threads* const sharing = threads_of(net, s, workspace, threads);
      const Cycle end = sharing ? std::min(until, s.part.totals.now + Shares::kInterval) : until;
      while (s.part.totals.now < end) {
        {
          const Uninterrupted whole;
          step(net, s, workspace, sharing);
        }
        if (net.workload) skip_idle_cycles(net, s, shares_, end);
        worked(32 + totals(s).flits_in_network);
      }
    }
    return;
  }
  const u32 here = gather_threads(net, workspace, std::min(threads, net.partitions()));
  const auto on_all_threads = [&](const std::function<void(u32)>& work) {
    if (here > 1) team_->run(work);
    else work(0);
  };
  while (s.part.totals.now < until) {
    const Cycle from = s.part.totals.now, end = std::min(until, window_end(net, s, from));
    {
      const Uninterrupted whole;
      shares_.divide(net, s, here);
      begin_cycle(net, s, workspace);
      on_all_threads([&](u32 i) {
        for (u32 k = shares_.first(i); k < shares_.first(i + 1); k++)
          advance(net, s, i == 0 ? workspace : helpers_[i - 1], k, end);
      });
      on_all_threads([&](u32 i) { hand_over(net, s, from, end, shares_.first(i), shares_.first(i + 1)); });
      forget_sent(net, s);
      workload::settle_outstanding(s);
      workload::schedule(net, s);
      learning::settle_deliveries(s);
    }
    if (net.workload) skip_idle_cycles(net, s, shares_, until);
    worked((end - from) * (32 + totals(s).flits_in_network) / 4);
  }
}

}  // namespace flitgym
