#include "workload/blame.hpp"

#include <algorithm>
#include <bit>

#include "stage/stage.hpp"

namespace flitgym {

void account_stall(const Frame& f, u32 port) {
  State& s = f.s;
  const Network& net = f.net;
  const Cycle from = std::max<Cycle>(s.stall_charged[port], static_cast<Cycle>(s.part.window.begin));
  s.stall_charged[port] = f.now;
  if (!s.part.window.open || f.now <= from) return;
  const u32 jobs = net.accounted_jobs;
  const u32* const waiting = &s.job_waiting[std::size_t{port} * jobs];
  // The slots beyond, of the VCs for which something waits (all of them where inputs wait for the channel itself).
  u64 held[256], all = 0;
  std::fill_n(held, jobs, 0);
  u32 vcs = s.ports[port].waiting_vcs;
  if (!vcs) vcs = static_cast<u32>((u64{1} << net.vcs) - 1);
  for (; vcs; vcs &= vcs - 1) {
    const u32 vc = static_cast<u32>(std::countr_zero(vcs));
    for (u32 c = 0; c < jobs; c++) {
      const u32 slots = s.job_downstream[std::size_t{net.vc_id(port, vc)} * jobs + c];
      held[c] += slots;
      all += slots;
    }
  }
  const u64 cycles = f.now - from;
  for (u32 v = 0; v < jobs; v++) {
    if (waiting[v] == 0) continue;
    s.job_stall[std::size_t{port} * jobs + v] += cycles;
    if (all == 0) continue;
    const double charge = static_cast<double>(cycles) * waiting[v] / static_cast<double>(all);
    for (u32 c = 0; c < jobs; c++) s.stall_blame[(std::size_t{port} * jobs + v) * jobs + c] += charge * static_cast<double>(held[c]);
  }
}

namespace {

// `count` packets of a job begin to wait for an output.
void begin_waiting(State& s, u32 jobs, u32 output, u32 job, u32 count, Cycle now) {
  const std::size_t row = std::size_t{output} * jobs + job;
  s.job_waiting[row] += count;
  // Behind a flit that is on the channel already: the rest of it.
  if (s.part.window.open && s.sending_until[output] > now) s.wait_blame[row * jobs + s.job_sending[output]] += u64{count} * (s.sending_until[output] - now);
}

}  // namespace

void account_queued(Frame& f, u32 input_vc, u32 packet) {
  State& s = f.s;
  const u32 jobs = f.net.accounted_jobs, job = s.packets[packet].job;
  s.job_queued[std::size_t{input_vc} * jobs + job]++;
  const InputVc& in = s.input_vcs[input_vc];
  if (!in.routed) return;
  const u32 output = f.net.port(f.net.router_of_port(f.net.port_of_vc(input_vc)), in.out_port);
  if (s.ports[output].stalled) account_stall(f, output);
  begin_waiting(s, jobs, output, job, 1, f.now);
}

void account_routed(Frame& f, u32 input_vc, u32 output) {
  State& s = f.s;
  if (s.ports[output].stalled) account_stall(f, output);
  const u32 jobs = f.net.accounted_jobs;
  for (u32 j = 0; j < jobs; j++)
    if (const u32 queued = s.job_queued[std::size_t{input_vc} * jobs + j]) begin_waiting(s, jobs, output, j, queued, f.now);
}

void account_unrouted(Frame& f, u32 input_vc, u32 output) {
  State& s = f.s;
  if (s.ports[output].stalled) account_stall(f, output);
  const u32 jobs = f.net.accounted_jobs;
  for (u32 j = 0; j < jobs; j++) {
    const u32 queued = s.job_queued[std::size_t{input_vc} * jobs + j];
    if (!queued) continue;
    const std::size_t row = std::size_t{output} * jobs + j;
    s.job_waiting[row] -= queued;
    // They were charged for all of the flit that is on the channel now.
    if (s.part.window.open && s.sending_until[output] > f.now) s.wait_blame[row * jobs + s.job_sending[output]] -= u64{queued} * (s.sending_until[output] - f.now);
  }
}

void account_left(Frame& f, u32 input_vc, u32 output, u32 packet) {
  f.s.job_queued[std::size_t{input_vc} * f.net.accounted_jobs + f.s.packets[packet].job]--;
  account_unrouted(f, input_vc, output);  // those behind it; it waits on until it is sent
}

void account_sent(Frame& f, u32 port, u32 vc, Flit flit, u32 flits, u32 cycles) {
  const Network& net = f.net;
  State& s = f.s;
  if (net.is_nic(port)) return;
  const u32 jobs = net.accounted_jobs, own = s.packets[packet_of(flit)].job;
  const std::size_t row = std::size_t{port} * jobs;
  u32* const waiting = &s.job_waiting[row];
  if (flit & kHead) waiting[own]--;
  if (net.channels[port].kind != PortKind::kTerminal) s.job_downstream[std::size_t{net.vc_id(port, vc)} * jobs + own] += flits;
  s.job_sending[port] = own;
  s.sending_until[port] = f.now + cycles;
  if (!s.part.window.open) return;
  s.job_flits[row + own] += flits;
  for (u32 v = 0; v < jobs; v++) s.wait_blame[(row + v) * jobs + own] += u64{cycles} * waiting[v];
}

void account_credit(Frame& f, const CreditEvent& credit) {
  const Network& net = f.net;
  const u32 port = net.port_of_vc(credit.vc);
  if (net.is_nic(port)) return;
  if (f.s.ports[port].stalled) account_stall(f, port);
  f.s.job_downstream[std::size_t{credit.vc} * net.accounted_jobs + credit.job] -= credit.flits;
}

}  // namespace flitgym
