// Blame: the delay that jobs cause each other. A packet waits for an output channel from the time it is routed there
// until its head is sent. It also waits while it is queued behind such a packet, in the same input VC or in the NIC
// that fills it. Two causes are charged:
//   - The channel carries a flit of another packet. Each waiting packet charges the time to the job of that flit
//     (wait_blame). The sums are the packet-cycles waited while the channel was busy. A flit that is on the channel at
//     the edge of the window counts fully in the window in which it starts.
//   - The channel is idle because the buffer at its far end is full. Each waiting packet charges the time to the jobs,
//     in proportion to the slots that their flits hold there (stall_blame).
// The account goes one step deep. If those flits wait for a third job downstream, that job is charged where they wait.
// The rest of a packet's latency is its time without other packets, and waiting for the crossbar.
//
// A flit on a channel charges its time there in advance, to the packets that wait when it starts. A packet that begins
// or stops waiting meanwhile corrects this by the rest of that time (ChannelAccount::sending_until).
#pragma once

#include <type_traits>

#include "core/stage/frame.hpp"

namespace flitgym::workload {

void account_stall(const Frame& f, u32 port);  // charges the time up to now on a stalled channel

// The index of a packet's account. Below, `job` is such an index.
inline u32 account_of(const Network& net, const Packet& p) { return p.job * net.accounts_per_job + p.traffic_class; }

// Calls work() with the number of jobs. Most studies have two jobs, for which it is a constant of the compiler. Work
// for two jobs has no branch on the number of packets, because it cannot be predicted.
template <class Work>
inline __attribute__((always_inline)) void with_jobs(const Network& net, Work work) {
  if (net.accounted_jobs == 2) [[likely]]
    work(std::integral_constant<u32, 2>());
  else work(net.accounted_jobs);
}

// Cycles that the channel carries its present flit from now on, if a window is open.
inline u32 charged_ahead(const Frame& f, const ChannelAccount& channel) {
  return f.part.window.open ? std::max(channel.sending_until, f.now) - f.now : 0;
}

// All packets that are queued in the input VC begin (sign 1) or stop (sign -1) waiting for an output.
inline void count_queue(Frame& f, u32 input_vc, u32 output, i32 sign) {
  State& s = f.s;
  if (s.ports[output].stalled) account_stall(f, output);
  const ChannelAccount& channel = s.job_channels[output];
  const u32 of = channel.job;
  const i64 cycles = i64{sign} * charged_ahead(f, channel);
  with_jobs(f.net, [&](auto jobs) __attribute__((always_inline)) {
    const std::size_t row = std::size_t{output} * jobs;
    const u32* const queued = &s.job_queued[std::size_t{input_vc} * jobs];
    for (u32 v = 0; v < jobs; v++) {
      if (jobs > 2 && queued[v] == 0) continue;
      s.job_waiting[row + v] += static_cast<u32>(sign) * queued[v];
      s.wait_blame[(row + v) * jobs + of] += static_cast<u64>(cycles) * queued[v];
    }
  });
}

// The packet enters an input VC, or the NIC that fills it.
inline void account_queued(Frame& f, u32 input_vc, u32 packet) {
  State& s = f.s;
  const u32 jobs = f.net.accounted_jobs, job = account_of(f.net, s.packets[packet]);
  s.job_queued[std::size_t{input_vc} * jobs + job]++;
  const InputVc& in = s.input_vcs[input_vc];
  if (!in.routed()) return;
  const u32 output = f.net.port(f.net.router_of_port(f.net.port_of_vc(input_vc)), in.out_port);
  if (s.ports[output].stalled) account_stall(f, output);
  const std::size_t row = std::size_t{output} * jobs + job;
  s.job_waiting[row]++;
  s.wait_blame[row * jobs + s.job_channels[output].job] += charged_ahead(f, s.job_channels[output]);
}

// Its tail has left the input VC. Ends the wait of the packets behind this one. This packet waits until its head is on
// the channel.
inline void account_left(Frame& f, u32 input_vc, u32 output, u32 packet) {
  f.s.job_queued[std::size_t{input_vc} * f.net.accounted_jobs + account_of(f.net, f.s.packets[packet])]--;
  count_queue(f, input_vc, output, -1);
}

// `flits` flits of a packet, starting with this one, occupy a channel for `cycles` cycles.
inline __attribute__((always_inline)) void account_sent(Frame& f, u32 port, u32 vc, Flit flit, u32 flits, u32 cycles) {
  const Network& net = f.net;
  State& s = f.s;
  if (net.is_nic(port)) return;
  const u32 job = account_of(net, s.packets[packet_of(flit)]);
  with_jobs(net, [&](auto jobs) __attribute__((always_inline)) {
    const std::size_t row = std::size_t{port} * jobs;
    const u32* const waiting = &s.job_waiting[row];
    if (flit & kHead) s.job_waiting[row + job]--;
    if (f.part.window.open) {
      s.job_flits[row + job] += flits;
      for (u32 v = 0; v < jobs; v++)
        if (jobs <= 2 || waiting[v]) s.wait_blame[(row + v) * jobs + job] += u64{waiting[v]} * cycles;
    }
    if (net.channels[port].kind != PortKind::kTerminal) {
      u16& slots = s.job_downstream[std::size_t{net.vc_id(port, vc)} * jobs + job];
      slots = static_cast<u16>(slots + flits);
    }
  });
  ChannelAccount& channel = s.job_channels[port];
  channel.sending_until = f.now + cycles;
  channel.job = job;
}

inline void account_credit(Frame& f, const CreditEvent& credit) {
  const Network& net = f.net;
  const u32 port = net.port_of_vc(credit.vc);
  if (net.is_nic(port)) return;
  if (f.s.ports[port].stalled) account_stall(f, port);
  u16& slots = f.s.job_downstream[std::size_t{credit.vc} * net.accounted_jobs + credit.job];
  slots = static_cast<u16>(slots - credit.flits);
}

}  // namespace flitgym::workload
