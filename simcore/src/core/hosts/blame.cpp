#include "core/hosts/blame.hpp"

#include "simcore/workload.hpp"

namespace flitgym {

void workload::account_stall(const Frame& f, u32 port) {
  State& s = f.s;
  const Network& net = f.net;
  Cycle& charged = s.job_channels[port].stall_charged;
  const Cycle from = std::max(charged, static_cast<Cycle>(f.part.window.begin));
  charged = f.now;
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

}  // namespace flitgym
