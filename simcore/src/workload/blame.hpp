// Who delays whom. A packet waits for a channel that leaves its router from when it is routed there, or stands behind one that is
// (in the same input VC, or in the NIC that fills it), until its head is sent. Two things make it wait, and both have an owner:
//   - the channel carries a flit of another packet: each packet that waits is charged the time, against its job (wait_blame;
//     exact: the sums are the packet-cycles waited while the channel was busy);
//   - the channel stands still because the buffer beyond it is full: each packet that waits is charged the time, split over the
//     jobs by the slots their flits hold there (stall_blame).
// One step deep: if those flits wait for a third job further on, that one is charged where they wait.
// What is left of a packet's latency is its way without others, and waiting for the crossbar.
//
// Packets that wait for a busy channel are counted, not charged flit by flit: with each channel goes how long it has been busy
// (ChannelAccount::busy). A packet that begins to wait takes that off its job's account with the job whose flits are on the
// channel, and adds what it is when it waits no longer. Where another job's flits begin, the accounts of all that wait move
// over. So a flit behind one of its own job costs no look at the other jobs.
#pragma once

#include "stage/frame.hpp"

namespace flitgym {

void account_queued(Frame& f, u32 input_vc, u32 packet);    // it stands in an input VC, or in the NIC before it
void account_routed(Frame& f, u32 input_vc, u32 output);     // the packet in front of an input VC now wants this output
void account_unrouted(Frame& f, u32 input_vc, u32 output);   // it may choose again
void account_left(Frame& f, u32 input_vc, u32 output, u32 packet);  // its tail has left the input VC
void account_credit(Frame& f, const CreditEvent& credit);
void account_stall(const Frame& f, u32 port);             // up to now, of a channel that stands still
void account_change(Frame& f, u32 port, u32 job);         // flits of another job follow on a channel
// All accounts are closed; what waits still has been charged up to now.
void settle_blame(const Network& net, State& s);

// So many flits of a packet, from this one on, start on a channel and keep it busy for so many cycles.
inline void account_sent(Frame& f, u32 port, u32 vc, Flit flit, u32 flits, u32 cycles) {
  const Network& net = f.net;
  State& s = f.s;
  if (net.is_nic(port)) return;
  const u32 jobs = net.accounted_jobs, job = s.packets[packet_of(flit)].job;
  ChannelAccount& account = s.job_channels[port];
  if (account.job != job) account_change(f, port, job);
  const bool open = f.part.window.open;
  if (flit & kHead) {
    const std::size_t row = std::size_t{port} * jobs + job;
    s.job_waiting[row]--;
    if (open) s.wait_blame[row * jobs + job] += account.busy;
  }
  if (net.channels[port].kind != PortKind::kTerminal) {
    u16& slots = s.job_downstream[std::size_t{net.vc_id(port, vc)} * jobs + job];
    slots = static_cast<u16>(slots + flits);
  }
  account.sending_until = f.now + cycles;
  if (!open) return;
  account.busy += cycles;
  account.flits += flits;
}

}  // namespace flitgym
