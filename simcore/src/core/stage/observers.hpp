// Observers of a run: the accounts of jobs (hosts/blame.hpp), the log of a watched packet (watch.cpp), and the
// occupancies that adaptive routings sense (Network::sensed). The stages report the events of a flit here. With kPlain,
// which plain() selects, reports to the accounts and the log compile to nothing; without kSenses, those of occupancies.
#pragma once

#include "core/hosts/blame.hpp"
#include "core/stage/frame.hpp"

namespace flitgym {

// src/core/watch.cpp: adds a line to the log of a watched packet.
void watch(Frame& f, Flit flit, const char* what, u32 port, u32 vc);

// kSenses: whether occupancies may be sensed.
template <bool kPlain = false, bool kSenses = !kPlain>
struct Observers {
  explicit Observers(Frame& frame) : f(frame) {}

  // A packet enters an input VC, or the NIC that fills it.
  void queued(u32 input_vc, u32 packet) const {
    if (accounts()) workload::account_queued(f, input_vc, packet);
  }
  // A head requests an output VC, or its request is revoked because it may choose its output again.
  void routed(u32 input_vc, u32 output) const {
    if (accounts()) workload::count_queue(f, input_vc, output, 1);
  }
  void unrouted(u32 input_vc, u32 output) const {
    if (accounts()) workload::count_queue(f, input_vc, output, -1);
  }
  // The tail has left an input VC.
  void left(u32 input_vc, u32 output, u32 packet) const {
    if (accounts()) workload::account_left(f, input_vc, output, packet);
  }
  // `flits` flits, starting with this one, start on a channel and occupy it for `cycles`.
  void sent(u32 port, u32 vc, Flit flit, u32 flits, u32 cycles) const {
    if (accounts()) workload::account_sent(f, port, vc, flit, flits, cycles);
    log(flit, "leaves on the channel of", port, vc);
  }
  void credited(const CreditEvent& credit) const {
    if (accounts()) workload::account_credit(f, credit);
  }
  // Packets wait for a channel that has no credits, or the stall ends.
  void stalled(u32 port) const {
    if (accounts() && port < net.router_ports) s.job_channels[port].stall_charged = f.now;
  }
  void resumed(u32 port) const {
    if (accounts() && port < net.router_ports) workload::account_stall(f, port);
  }
  void log(Flit flit, const char* what, u32 port, u32 vc) const {
    if (!kPlain && (flit & kWatched)) [[unlikely]]
      watch(f, flit, what, port, vc);
  }
  // Flits enter (negative: leave) the queue of a router's output VC, or take (return) slots downstream of it.
  void output_queue(u32 port, u32 vc, u32 flits) const { count(port, vc, flits * net.sensed.queue()); }
  void downstream(u32 port, u32 vc, u32 flits) const { count(port, vc, flits * net.sensed.slots()); }

  // Prefetch the data of the reports of an arrival, of a credit and of a departure: the first cache line of each array.
  // Always inline, because GCC takes a function that only prefetches for one without effects, and removes its calls.
  __attribute__((always_inline)) void prefetch_arrival(u32 input_vc) const {
    if (accounts()) __builtin_prefetch(s.job_queued.data() + std::size_t{input_vc} * net.accounted_jobs, 1);
  }
  __attribute__((always_inline)) void prefetch_credit(u32 output_vc) const {
    if (accounts() && output_vc >> net.vc_shift < net.router_ports)
      __builtin_prefetch(s.job_downstream.data() + std::size_t{output_vc} * net.accounted_jobs, 1);
  }
  __attribute__((always_inline)) void prefetch_output(u32 output) const {
    if (!accounts() || output >= net.router_ports) return;
    const std::size_t row = std::size_t{output} * net.accounted_jobs;
    __builtin_prefetch(s.job_channels.data() + output, 1);
    __builtin_prefetch(s.job_waiting.data() + row, 1);
    __builtin_prefetch(s.wait_blame.data() + row * net.accounted_jobs, 1);
  }

 private:
  bool accounts() const { return !kPlain && net.accounted_jobs; }
  void count(u32 port, u32 vc, u32 flits) const {
    if (kSenses && f.sensed && port < net.router_ports) f.sensed[net.sensed.at(port, vc)] += static_cast<u16>(flits);
  }

  Frame& f;
  const Network& net = f.net;
  State& s = f.s;
};

}  // namespace flitgym
