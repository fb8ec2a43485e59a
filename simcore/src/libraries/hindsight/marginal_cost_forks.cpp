// Forks for marginal cost: the reference run, and the trial of each candidate.
#include <atomic>

#include "hindsight/marginal_cost.hpp"
#include "simcore/learning.hpp"
#include "simcore/route_computation.hpp"
#include "simcore/team.hpp"

namespace flitgym::learning {

u64 packets_delivered(const State& s) {
  u64 accepted = 0;
  for (const Terminal& x : s.terminals) accepted += x.sequence;
  return accepted - totals(s).packets_in_network;
}

// Replaces the decision of request i by a candidate, starting from the packet in the state before the decision.
static void force(const Network& net, State& s, Batch& b, u32 i, const State& before, u16 port, u16 vc_class) {
  const u32 id = b.packet[i];
  s.packets[id] = before.packets[id];
  std::vector<u8> memories;
  save_memories(net, before, id, memories);
  load_memories(net, s, id, memories.data());
  b.out_port[i] = port;
  b.out_class[i] = vc_class;
  if (net.chosen) net.chosen(net, s, b, i);
}

void copy_requests(const Batch& from, u32 begin, u32 end, Batch& to) {
  const u32 count = to.count + (end - begin);
  const auto copy = [&](const auto& a, auto& b) {
    if (b.size() < count) b.resize(count);
    std::copy(a.begin() + begin, a.begin() + end, b.begin() + to.count);
  };
  for (auto list : {&Batch::input_vc, &Batch::packet, &Batch::router}) copy(from.*list, to.*list);
  for (auto list : {&Batch::in_port, &Batch::in_vc, &Batch::out_port, &Batch::out_class}) copy(from.*list, to.*list);
  to.count = count;
  to.now = from.now;
}

void MarginalCost::note_routes(const State& s, const Batch& b) {
  if (rule_.others == Ahead::kKnown && used_ > 0) routes_.note(own_->network(), s, b);
}

// Continues the run in a copy until the end of the last fork.
void MarginalCost::finish_run(const State& now) {
  const Network& net = own_->network();
  State& s = own_->state();
  s = now;
  const Cycle end = trials_.back().at + rule_.horizon;
  while (s.part.totals.now < end) {
    run_.push_back(packets_delivered(s));
    Workspace& w = workers_[0]->workspace;
    collect(net, s, w);  // not step(), which may skip the batch
    decide(net, s, w.batch);
    apply(net, s, w);
    note_routes(s, w.batch);
    worked(32 + totals(s).flits_in_network);
  }
  run_.push_back(packets_delivered(s));
}

void MarginalCost::try_all(LabelledDecisions& out) {
  if (!team_ || !team_->here()) team_ = std::make_unique<Team>(rule_.threads);
  std::atomic<u32> next{0};
  std::atomic<bool> stop{false};
  team_->run([&](u32 thread) {
    try {
      for (u32 k; !stop.load(std::memory_order_relaxed) && (k = next.fetch_add(1)) < trials_.size();) {
        try_one(*workers_[thread], trials_[k], out);
        worked(kPatience);
      }
    } catch (...) {
      stop = true;
      throw;
    }
  });
}

void MarginalCost::try_one(Worker& worker, const Trial& trial, LabelledDecisions& out) const {
  const Network& net = own_->network();
  const Moment& moment = *moments_[trial.moment];
  const std::size_t at = std::size_t{trial.row} * out.slots + trial.slot;
  State& s = worker.state;
  Workspace& w = worker.workspace;
  s = moment.state;
  for (u32 k = 0; k < net.partitions(); k++) {
    partition(s, k).window = Window{};
    partition(s, k).window.open = 1;  // counts deliveries
  }
  w.batch.count = 0;
  copy_requests(moment.batch, 0, moment.batch.count, w.batch);
  w.routes.clear();
  decide(net, s, w.batch);
  force(net, s, w.batch, trial.request, moment.state, out.port[at], out.vc_class[at]);
  apply(net, s, w);

  const u32 forced = moment.batch.packet[trial.request];
  const u64 but = RecordedRoutes::key_of(s.packets[forced]);  // the packet may request again while it waits for space
  // Indexed by cycles since the decision.
  const u64* const run = run_.data() + (moment.state.part.totals.now - run_from_);
  i64 behind = 0;
  for (u32 cycles = 1;; cycles++) {
    u64 delivered = 0;
    for (u32 k = 0; k < net.partitions(); k++) delivered += partition(s, k).window.delivered;
    behind += static_cast<i64>(run[cycles] - moment.delivered) - static_cast<i64>(delivered);
    if (cycles == rule_.horizon) break;
    if (rule_.others == Ahead::kRouted) {
      step(net, s, w);
      continue;
    }
    collect(net, s, w);
    routes_.follow(net, s, w.batch, but);
    apply(net, s, w);
  }
  out.cost[at] = static_cast<double>(behind);
}

}  // namespace flitgym::learning
