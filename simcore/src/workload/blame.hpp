// Who delays whom. A packet waits for a channel that leaves its router from when it is routed there, or stands behind
// one that is (in the same input VC, or in the NIC that fills it), until its head is sent. Two things make it wait, and
// both have an owner:
//   - the channel carries a flit of another packet: each packet that waits is charged the time, against its job
//     (wait_blame; exact: the sums are the packet-cycles waited while the channel was busy);
//   - the channel stands still because the buffer beyond it is full: each packet that waits is charged the time, split
//     over the jobs by the slots their flits hold there (stall_blame).
// One step deep: if those flits wait for a third job further on, that one is charged where they wait.
// What is left of a packet's latency is its way without others, and waiting for the crossbar.
//
// Packets that wait for a busy channel are counted, not charged flit by flit: with each channel goes how long it has
// been busy (ChannelAccount::busy). A packet that begins to wait takes that off its job's account with the job whose
// flits are on the channel, and adds what it is when it waits no longer. Where another job's flits begin, the accounts
// of all that wait move over. So a flit behind one of its own job costs no look at the other jobs.
#pragma once

#include "simcore/state.hpp"

namespace flitgym {
struct Frame;
}

namespace flitgym::workload {

void account_queued(Frame& f, u32 input_vc, u32 packet);    // it stands in an input VC, or in the NIC before it
void account_routed(Frame& f, u32 input_vc, u32 output);    // the packet in front of an input VC now wants this output
void account_unrouted(Frame& f, u32 input_vc, u32 output);  // it may choose again
void account_left(Frame& f, u32 input_vc, u32 output, u32 packet);  // its tail has left the input VC
// So many flits of a packet, from this one on, start on a channel and keep it busy for so many cycles.
void account_sent(Frame& f, u32 port, u32 vc, Flit flit, u32 flits, u32 cycles);
void account_credit(Frame& f, const CreditEvent& credit);
void account_stall(const Frame& f, u32 port);  // up to now, of a channel that stands still
// As the window ends: what waits still has been charged up to now.
void settle_blame(const Network& net, State& s);

}  // namespace flitgym::workload
