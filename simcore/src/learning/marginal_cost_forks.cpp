// Forks for marginal cost: the reference run, and the trial of each candidate.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "learning/future.hpp"
#include "learning/marginal_cost.hpp"
#include "simcore/rng.hpp"
#include "stage/route_computation.hpp"
#include "team.hpp"

namespace flitgym::learning {

u64 packets_delivered(const State& s) {
  u64 accepted = 0;
  for (const Terminal& x : s.terminals) accepted += x.sequence;
  return accepted - totals(s).packets_in_network;
}

namespace {

// Hash of the flits queued and in transit per port. It is cheap, and most different states already differ in it.
u64 loads_hash(const Network& net, const State& s) {
  u64 sum = 0;
  for (u32 p = 0; p < net.port_count; p++) {
    const Port& o = s.ports[p];
    if (o.load | o.queued) sum += mix64(u64{p} << 32 | u64{o.queued} << 16 | o.load);
  }
  return sum;
}

// Replaces the decision of request i by a candidate, starting from the packet in the state before the decision.
void force(const Network& net, State& s, Batch& b, u32 i, const State& before, u16 port, u16 vc_class) {
  const u32 id = b.packet[i];
  s.packets[id] = before.packets[id];
  for (const u32 k : net.packet_memories) {
    const std::size_t size = net.memories[k].entry_bytes();
    std::memcpy(s.memory[k].data() + id * size, before.memory[k].data() + id * size, size);
  }
  b.out_port[i] = port;
  b.out_class[i] = vc_class;
  if (net.chosen) net.chosen(net, s, b, i);
}

}  // namespace

void copy_requests(const Batch& from, Batch& to) {
  to.count = from.count;
  to.now = from.now;
  const auto copy = [&](const auto& a, auto& b) {
    if (b.size() < from.count) b.resize(from.count);
    std::copy_n(a.begin(), from.count, b.begin());
  };
  copy(from.input_vc, to.input_vc);
  copy(from.packet, to.packet);
  copy(from.router, to.router);
  copy(from.in_port, to.in_port);
  copy(from.in_vc, to.in_vc);
}

// Called at the beginning of a cycle of the run.
void MarginalCost::note_run(const State& s) {
  if (branching_) return;  // branches do not use these numbers
  const Network& net = own_->network();
  RunPoint point{packets_delivered(s), totals(s).packets_in_network, 0, 0};
  if (looks_at(s.part.totals.now)) {
    point.loads = loads_hash(net, s);
    point.future = future_hash(net, s, rule_.others);
  }
  run_.push_back(point);
}

void MarginalCost::note_ways(const State& s, const Batch& b) {
  if (rule_.others == Ahead::kKnown && used_ > 0) ways_.note(own_->network(), s, b);
}

// Continues the run in a copy until the end of the last fork.
void MarginalCost::finish_run(const State& now) {
  const Network& net = own_->network();
  State& s = own_->state();
  s = now;
  const Cycle end = trials_.back().at + rule_.horizon;
  while (s.part.totals.now < end) {
    note_run(s);
    Workspace& w = workers_[0]->workspace;
    collect(net, s, w);  // not step(), which may skip the batch
    decide(net, s, w.batch);
    apply(net, s, w);
    note_ways(s, w.batch);
    worked(32 + totals(s).flits_in_network);
  }
  note_run(s);
}

void MarginalCost::try_all(LabelledDecisions& out) {
  if (!team_ || !team_->here()) team_ = std::make_unique<Team>(rule_.threads);
  std::atomic<u32> next{0};
  std::atomic<bool> stop{false};
  const std::size_t pieces = branching_ ? used_ : trials_.size();
  team_->run([&](u32 thread) {
    try {
      for (u32 k; !stop.load(std::memory_order_relaxed) && (k = next.fetch_add(1)) < pieces;) {
        if (branching_) try_branches(*workers_[thread], k, out);
        else try_one(*workers_[thread], trials_[k], out);
        worked(kPatience);
      }
    } catch (...) {
      stop = true;
      throw;
    }
  });
}

// Tries the branches that begin with moment k, up to the next moment.
void MarginalCost::try_branches(Worker& worker, u32 k, LabelledDecisions& out) const {
  const Moment& moment = *moments_[k];
  const u32 first = moment.trials, end = k + 1 < used_ ? moments_[k + 1]->trials : static_cast<u32>(trials_.size());
  std::vector<Attempt> attempts;
  for (u32 n = first; n < end; n++) {
    const Trial& trial = trials_[n];
    const std::size_t at = std::size_t{trial.row} * out.slots + trial.slot;
    attempts.push_back({trial.at, trial.input_vc, out.port[at], out.vc_class[at]});
  }
  worker.branches->run(moment.state, attempts.data(), attempts.data() + attempts.size());
  for (u32 n = first; n < end; n++) {
    const Attempt& attempt = attempts[n - first];
    const std::size_t at = std::size_t{trials_[n].row} * out.slots + trials_[n].slot;
    out.cost[at] = static_cast<double>(attempt.behind);
    out.cycles[at] = attempt.cycles;
    out.settled[at] = attempt.settled;
  }
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
  copy_requests(moment.batch, w.batch);
  w.routes.clear();
  decide(net, s, w.batch);
  force(net, s, w.batch, trial.request, moment.state, out.port[at], out.vc_class[at]);
  apply(net, s, w);

  const u32 forced = moment.batch.packet[trial.request];
  const u64 but = Ways::key_of(s.packets[forced]);  // the packet may request again while it waits for space
  // Indexed by cycles since the decision.
  const RunPoint* const run = run_.data() + (moment.state.part.totals.now - run_from_);
  i64 behind = 0;
  u32 cycles = 1;
  for (;; cycles++) {
    u64 delivered = 0;
    for (u32 k = 0; k < net.partitions(); k++) delivered += partition(s, k).window.delivered;
    const u64 expected = run[cycles].delivered - moment.delivered;
    behind += static_cast<i64>(expected) - static_cast<i64>(delivered);
    if (looks_at(s.part.totals.now) && delivered == expected &&
        totals(s).packets_in_network == run[cycles].in_network && loads_hash(net, s) == run[cycles].loads &&
        future_hash(net, s, rule_.others) == run[cycles].future) {
      out.settled[at] = 1;
      break;
    }
    if (cycles == rule_.horizon) break;
    if (rule_.others == Ahead::kRouted) {
      step(net, s, w);
      continue;
    }
    collect(net, s, w);
    ways_.follow(net, s, w.batch, but);
    apply(net, s, w);
  }
  out.cost[at] = static_cast<double>(behind);
  out.cycles[at] = cycles;
}

}  // namespace flitgym::learning
