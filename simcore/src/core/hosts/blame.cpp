#include "core/hosts/blame.hpp"

#include <algorithm>
#include <bit>

#include "core/stage/stage.hpp"
#include "simcore/stats.hpp"
#include "simcore/workload.hpp"

namespace flitgym {

void workload::account_stall(const Frame& f, u32 port) {
  State& s = f.s;
  const Network& net = f.net;
  const Cycle from = std::max<Cycle>(s.stall_charged[port], static_cast<Cycle>(f.part.window.begin));
  s.stall_charged[port] = f.now;
  if (!f.part.window.open || f.now <= from) return;
  const u32 jobs = net.accounted_jobs;
  const u32* const waiting = &s.job_waiting[std::size_t{port} * jobs];
  // Downstream buffer slots that each job holds: in the VCs for which packets wait, or in all VCs if packets wait for
  // the channel itself.
  u64 held[kMostAccountedJobs] = {}, all = 0;
  u32 vcs = s.ports[port].waiting_vcs;
  if (!vcs) vcs = static_cast<u32>((u64{1} << net.vcs) - 1);
  for (; vcs; vcs &= vcs - 1) {
    const u32 vc = net.vc_id(port, static_cast<u32>(std::countr_zero(vcs)));
    const u16* const slots = &s.job_downstream[std::size_t{vc} * jobs];
    for (u32 c = 0; c < jobs; c++) {
      held[c] += slots[c];
      all += slots[c];
    }
  }
  const u64 cycles = f.now - from;
  for (u32 v = 0; v < jobs; v++) {
    if (waiting[v] == 0) continue;
    s.job_stall[std::size_t{port} * jobs + v] += cycles;
    if (all == 0) continue;
    const double charge = static_cast<double>(cycles) * waiting[v] / static_cast<double>(all);
    double* const to = &s.stall_blame[(std::size_t{port} * jobs + v) * jobs];
    for (u32 c = 0; c < jobs; c++)
      if (held[c]) to[c] += charge * static_cast<double>(held[c]);
  }
}

namespace {

// Busy cycles of the channel up to now.
inline u64 busy_until_now(const ChannelAccount& account, Cycle now) {
  return account.busy - (passed(account.sending_until, now) ? 0 : account.sending_until - now);
}

// `count` packets of a job begin to wait for an output; below 0: stop waiting.
inline void count_waiting(Frame& f, u32 output, u32 job, i32 count) {
  const u32 jobs = f.net.accounted_jobs;
  const std::size_t row = std::size_t{output} * jobs + job;
  f.s.job_waiting[row] += static_cast<u32>(count);
  const ChannelAccount& account = f.s.job_channels[output];
  if (f.part.window.open)
    f.s.wait_blame[row * jobs + account.job] -= static_cast<u64>(i64{count}) * busy_until_now(account, f.now);
}

// All packets that are queued in the input VC begin (1) or stop (-1) waiting for an output.
inline void count_queue(Frame& f, u32 input_vc, u32 output, i32 sign) {
  State& s = f.s;
  if (s.ports[output].stalled) workload::account_stall(f, output);
  const u32 jobs = f.net.accounted_jobs;
  const u32* const queued = &s.job_queued[std::size_t{input_vc} * jobs];
  for (u32 j = 0; j < jobs; j++)
    if (queued[j]) count_waiting(f, output, j, sign * static_cast<i32>(queued[j]));
}

// Accounts for a flit whose job is that of the previous flit on the channel.
inline void sent(Frame& f, ChannelAccount& account, u32 port, u32 vc, Flit flit, u32 flits, u32 cycles) {
  const Network& net = f.net;
  State& s = f.s;
  const u32 jobs = net.accounted_jobs, job = account.job;
  if (flit & kHead) {
    const std::size_t row = std::size_t{port} * jobs + job;
    s.job_waiting[row]--;
    if (f.part.window.open) s.wait_blame[row * jobs + job] += account.busy;
  }
  if (net.channels[port].kind != PortKind::kTerminal) {
    u16& slots = s.job_downstream[std::size_t{net.vc_id(port, vc)} * jobs + job];
    slots = static_cast<u16>(slots + flits);
  }
  account.sending_until = f.now + cycles;
  account.busy += cycles;
  account.flits += flits;
}

// Accounts for a flit whose job differs from that of the previous flit.
__attribute__((noinline)) void sent_by_another(Frame& f, u32 port, u32 vc, Flit flit, u32 flits, u32 cycles) {
  State& s = f.s;
  const u32 jobs = f.net.accounted_jobs, job = s.packets[packet_of(flit)].job;
  ChannelAccount& account = s.job_channels[port];
  const std::size_t row = std::size_t{port} * jobs;
  if (f.part.window.open) {
    for (u32 v = 0; v < jobs; v++)
      if (const u64 charged = u64{s.job_waiting[row + v]} * account.busy) {
        s.wait_blame[(row + v) * jobs + account.job] += charged;
        s.wait_blame[(row + v) * jobs + job] -= charged;
      }
    s.job_flits[row + account.job] += account.flits;
  }
  account.flits = 0;
  account.job = job;
  sent(f, account, port, vc, flit, flits, cycles);
}

}  // namespace

void workload::account_queued(Frame& f, u32 input_vc, u32 packet) {
  State& s = f.s;
  const u32 job = s.packets[packet].job;
  s.job_queued[std::size_t{input_vc} * f.net.accounted_jobs + job]++;
  const InputVc& in = s.input_vcs[input_vc];
  if (!in.routed()) return;
  const u32 output = f.net.port(f.net.router_of_port(f.net.port_of_vc(input_vc)), in.out_port);
  if (s.ports[output].stalled) workload::account_stall(f, output);
  count_waiting(f, output, job, 1);
}

void workload::account_routed(Frame& f, u32 input_vc, u32 output) { count_queue(f, input_vc, output, 1); }

void workload::account_unrouted(Frame& f, u32 input_vc, u32 output) { count_queue(f, input_vc, output, -1); }

void workload::account_left(Frame& f, u32 input_vc, u32 output, u32 packet) {
  f.s.job_queued[std::size_t{input_vc} * f.net.accounted_jobs + f.s.packets[packet].job]--;
  // Ends the wait of the packets behind this one. This packet waits until its head is on the channel.
  workload::account_unrouted(f, input_vc, output);
}

void workload::account_sent(Frame& f, u32 port, u32 vc, Flit flit, u32 flits, u32 cycles) {
  if (f.net.is_nic(port)) return;
  ChannelAccount& account = f.s.job_channels[port];
  if (account.job != f.s.packets[packet_of(flit)].job) return sent_by_another(f, port, vc, flit, flits, cycles);
  sent(f, account, port, vc, flit, flits, cycles);
}

void workload::account_credit(Frame& f, const CreditEvent& credit) {
  const Network& net = f.net;
  const u32 port = net.port_of_vc(credit.vc);
  if (net.is_nic(port)) return;
  if (f.s.ports[port].stalled) workload::account_stall(f, port);
  u16& slots = f.s.job_downstream[std::size_t{credit.vc} * net.accounted_jobs + credit.job];
  slots = static_cast<u16>(slots - credit.flits);
}

// ---- Results ----

std::vector<u64> job_flits(const Network& net, const State& s) {
  std::vector<u64> flits = s.job_flits;
  if (!s.part.window.open) return flits;  // already settled
  for (std::size_t port = 0; port < s.job_channels.size(); port++)
    flits[port * net.accounted_jobs + s.job_channels[port].job] += s.job_channels[port].flits;
  return flits;
}

std::vector<u64> wait_blame(const Network& net, const State& s) {
  std::vector<u64> waited = s.wait_blame;
  if (!s.part.window.open) return waited;
  const u32 jobs = net.accounted_jobs;
  for (std::size_t port = 0; port < s.job_channels.size(); port++) {
    const ChannelAccount& account = s.job_channels[port];
    for (u32 v = 0; v < jobs; v++)
      waited[(port * jobs + v) * jobs + account.job] += u64{s.job_waiting[port * jobs + v]} * account.busy;
  }
  return waited;
}

void workload::settle_blame(const Network& net, State& s) {
  s.wait_blame = wait_blame(net, s);
  s.job_flits = job_flits(net, s);
}

}  // namespace flitgym
