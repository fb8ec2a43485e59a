// Blame: the delay that jobs cause each other. A packet waits for an output channel from the time it is routed there
// until its head is sent. It also waits while it is queued behind such a packet, in the same input VC or in the NIC
// that fills it. Two causes are charged:
//   - The channel carries a flit of another packet. Each waiting packet charges the time to the job of that flit
//     (wait_blame). The result is exact: the sums are the packet-cycles waited while the channel was busy.
//   - The channel is idle because the buffer at its far end is full. Each waiting packet charges the time to the jobs,
//     in proportion to the slots that their flits hold there (stall_blame).
// The account goes one step deep. If those flits wait for a third job downstream, that job is charged where they wait.
// The rest of a packet's latency is its time without other packets, and waiting for the crossbar.
//
// Packets that wait for a busy channel are counted rather than charged per flit. Each channel has a counter of its busy
// cycles (ChannelAccount::busy). When a packet begins to wait, the counter's value is subtracted from its job's account
// with the job on the channel. When it stops waiting, the counter's new value is added. When flits of another job
// follow on the channel, the accounts of all waiting packets are moved. A flit of the same job as the previous one
// therefore costs no work per job.
#pragma once

#include "simcore/network.hpp"
#include "simcore/state.hpp"

namespace flitgym {
struct Frame;
}

namespace flitgym::workload {

void account_queued(Frame& f, u32 input_vc, u32 packet);    // the packet enters an input VC, or the NIC that fills it
void account_routed(Frame& f, u32 input_vc, u32 output);    // the packet at the front of the VC requests this output
void account_unrouted(Frame& f, u32 input_vc, u32 output);  // it may choose its output again
void account_left(Frame& f, u32 input_vc, u32 output, u32 packet);  // its tail has left the input VC
// `flits` flits of a packet, starting with this one, occupy a channel for `cycles` cycles.
void account_sent(Frame& f, u32 port, u32 vc, Flit flit, u32 flits, u32 cycles);
void account_credit(Frame& f, const CreditEvent& credit);
void account_stall(const Frame& f, u32 port);  // charges the time up to now on a stalled channel
// Call when the window ends. Charges the time up to now to packets that still wait.
void settle_blame(const Network& net, State& s);

// Prefetch the first cache line of the accounts of an input VC, of the slots behind an output VC, and of an output.
// Always inline, because GCC takes a function that only prefetches for one without effects, and removes its calls.
inline __attribute__((always_inline)) void prefetch_queued(const Network& net, const State& s, u32 input_vc) {
  __builtin_prefetch(s.job_queued.data() + std::size_t{input_vc} * net.accounted_jobs, 1);
}
inline __attribute__((always_inline)) void prefetch_downstream(const Network& net, const State& s, u32 output_vc) {
  __builtin_prefetch(s.job_downstream.data() + std::size_t{output_vc} * net.accounted_jobs, 1);
}
inline __attribute__((always_inline)) void prefetch_output(const Network& net, const State& s, u32 output) {
  const std::size_t row = std::size_t{output} * net.accounted_jobs;
  __builtin_prefetch(s.job_channels.data() + output, 1);
  __builtin_prefetch(s.job_waiting.data() + row, 1);
  __builtin_prefetch(s.wait_blame.data() + row * net.accounted_jobs, 1);
}

}  // namespace flitgym::workload
