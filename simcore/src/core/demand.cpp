#include "core/demand.hpp"

#include "core/stage/generation.hpp"
#include "simcore/program_totals.hpp"
#include "simcore/workload.hpp"

namespace flitgym::learning {

void DemandArea::begin(const Network& net) {
  counted_to_ = 0;
  due_.assign(net.terminals, {});
  accrued_.assign(net.terminals, 0);
  clocks_.clear();
  if (const Workload* const w = net.workload.get()) {
    for (const Job& job : w->jobs) {
      const std::vector<u64> bytes = workload::bytes_sent(*job.program);
      const double start = static_cast<double>(job.start_ps) / static_cast<double>(w->cycle_ps);
      for (u32 rank = 0; rank < job.ranks; rank++) {
        const double packets = static_cast<double>(bytes[rank]) / w->packet_bytes;
        Due& due = due_[w->rank_terminal[job.first_rank + rank]];  // several ranks may share the terminal
        due.packets += packets;
        due.moment += packets * start;
      }
    }
    if (w->flows) clocks_.assign(w->ranks(), Terminal{});
    for (u32 rank = 0; rank < clocks_.size(); rank++) next_flow(*w, rank);
    return;
  }
  clocks_.assign(net.terminals, Terminal{});
  for (u32 t = 0; t < net.terminals; t++) clocks_[t].next_tick = first_tick(net, clocks_[t], t);
}

// Sets the time of the clock, in ps, to that of the next flow of a rank.
void DemandArea::next_flow(const Workload& w, u32 rank) {
  const Job& job = w.jobs[w.rank_job[rank]];
  u64 number = clocks_[rank].round;
  const u64 before = number ? clocks_[rank].next_tick - job.start_ps : 0;
  const u64 when = job.program->blocks(rank - job.first_rank)
                       ? kNoFlow
                       : job.program->flow_time(rank - job.first_rank, number, before);
  clocks_[rank].round = static_cast<u32>(number);
  clocks_[rank].next_tick = when == kNoFlow ? when : when + job.start_ps;
}

const std::vector<double>& DemandArea::accrued(const Network& net, const State& s) {
  if (s.delivered_from.empty())
    throw CoreError("accrued delay: routing.", net.routing_name,
                    " does not record the delivered packets per source; use routing=agent, policy, random or biased");
  const Cycle now = s.part.totals.now;
  if (net.workload && net.workload->scheduled())
    throw CoreError("accrued delay: the jobs of workload.scheduler have no terminals before they start");
  if (due_.empty() || now < counted_to_) begin(net);
  counted_to_ = now;
  for (u32 rank = 0; net.workload && rank < clocks_.size(); rank++)
    for (const Workload& w = *net.workload; clocks_[rank].next_tick / w.cycle_ps <= now; next_flow(w, rank)) {
      const Job& job = w.jobs[w.rank_job[rank]];
      const Flow flow = job.program->flow(net, rank - job.first_rank, clocks_[rank].round++);
      Due& due = due_[w.rank_terminal[rank]];
      const double packets = static_cast<double>(flow.bytes) / w.packet_bytes;
      due.packets += packets;
      due.moment += packets * static_cast<double>(clocks_[rank].next_tick) / static_cast<double>(w.cycle_ps);
    }
  for (u32 t = 0; t < net.terminals; t++) {
    Due& due = due_[t];
    const Delivered& delivered = s.delivered_from[t];
    if (net.workload) {
      // No packet of a job is due before the job starts.
      const double asked = due.packets * now - due.moment, got = delivered.packets * now - delivered.moment;
      accrued_[t] = asked > 0 ? asked - got : 0;
      continue;
    }
    for (Terminal& clock = clocks_[t];
         due.packets < delivered.most_due && clock.next_tick != kNever && passed(cycle_of(clock.next_tick), now);) {
      const double packets = net.round_size(net.seed, t, clock.round, clock.step);
      due.packets += packets;
      due.moment += packets * cycle_of(clock.next_tick);
      clock.round++;
      clock.next_tick = next_tick(net, clock, t, clock.next_tick);
    }
    accrued_[t] = (due.packets - delivered.packets) * now - (due.moment - delivered.moment);
  }
  return accrued_;
}

void DemandArea::stop(const Network& net, State& s) {
  accrued(net, s);
  for (u32 t = 0; t < net.terminals; t++) {
    const double waiting = due_[t].packets - s.terminals[t].sequence;
    add(s.delivered_from[t], waiting, s.part.totals.now);
    s.delivered_from[t].most_due = due_[t].packets;
  }
}

void settle_deliveries(State& s) {
  for (u32 k = 0; k <= s.further.size(); k++) {
    std::vector<Delivery>& all = partition(s, k).deliveries;
    for (const Delivery& d : all) add(s.delivered_from[d.terminal], d.packets, d.cycle);
    all.clear();
  }
}

}  // namespace flitgym::learning
