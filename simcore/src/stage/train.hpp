// Packets of several flits that keep together everywhere (router.crossbar_sharing=packet; Network::whole_packets).
//
// The model is that of Merlin's hr_router, with flits that take their time:
//   - What a packet claims or gives back it does with its head and for all of its flits: the count of a queue, room,
//     credits. It wins the switch where its output VC has room for all of it; in that cycle its input VC returns
//     the credits and turns to the packet behind. As its head starts on the channel it has left the output queue.
//     (What is still there of it leaves an input as fast as the credits can bring others in, while the crossbar is no
//     slower than the links; at an output it is as if the packet being sent stood in a register of its own.)
//   - Its flits follow. An input and an output of the crossbar, and a channel, stay with a packet until its tail has
//     passed; each flit takes its flit time there, and none passes before it has come. Where a slow link or crossbar
//     comes before a fast one there are gaps, which nobody else fills.
//   - It is delivered, and its flits are counted, when its tail reaches the terminal.
//
// Flit k of n passes a place at the latest of: when it has come, and a flit time after flit k - 1. So if the times at
// which flits come are convex in k, those at which they pass are, too; in a NIC they have all come at once. Then the
// last one passes at
//   max(time of the first + (n - 1) flit times, when it has come),
// whatever the rates of links and crossbar, and nothing depends on those in between. So a packet can move as a train:
// one entry per place, which carries when its tail has come (Packet::tail). That is what runs here; follow.cpp moves
// flit by flit.
#pragma once

#include <algorithm>

#include "stage/follow.hpp"
#include "stage/stage.hpp"

namespace flitgym {

// train.cpp: the stages for packets that keep together
void arrivals_of_packets(Frame& f);
void traversal_of_packets(Frame& f);

// When the tail of a packet passes a place that its head passes at `first`.
inline Cycle tail_passes(const Packet& p, Cycle first, u32 flit_cycles) {
  return std::max(first + (p.flits - 1u) * flit_cycles, p.tail);
}

template <class Vc>
inline void push_packet(Vc& vc, Flit* next, Flit packet, u32 flits) {
  if (vc.front == kNone) vc.front = packet;
  else next[packet_of(vc.back)] = packet;
  vc.back = packet;
  vc.count = static_cast<u16>(vc.count + flits);
}

template <class Vc>
inline Flit pop_packet(Vc& vc, const Flit* next, u32 flits) {
  const Flit packet = vc.front;
  vc.count = static_cast<u16>(vc.count - flits);
  vc.front = packet == vc.back ? kNone : next[packet_of(packet)];
  return packet;
}

// A packet enters the queue of an output VC; its head can leave `delay` cycles from now at the earliest.
inline void enqueue_packet(Frame& f, Port& o, OutputVc& out, u32 port, u32 vc, Flit packet, u32 flits, u32 delay) {
  push_packet(out, f.s.next.data(), packet, flits);
  o.waiting_vcs |= 1u << vc;
  o.queued += flits;
  o.load += flits;
  if (o.awake) return;
  if (out.credits == 0) return begin_stall(f, o);
  const u32 wake = f.net.router.wake_cycles;
  if (passed(o.busy_until, f.now)) schedule_port(f, o, port, f.now + std::max(wake, delay));
  else schedule_when_free(f, o, port);
}

// A packet starts on a channel, which takes a flit every `flit_cycles`. Returns the cycle in which its tail does, or
// kHeld.
inline Cycle start_on_channel(Frame& f, Port& o, u32 port, u32 vc, Flit packet, u32 flit_cycles) {
  const Network& net = f.net;
  const Channel& channel = net.channels[port];
  Packet& p = f.s.packets[packet_of(packet)];
  const bool all = p.flits == 1 || !net.router.flit_by_flit;
  const FlitEvent head{net.vc_id(channel.peer, vc), packet | kHead | (all ? kTail : 0)};
  Cycle last;
  if (net.router.flit_by_flit) [[unlikely]] {
    f.part.flit_lines.lines[channel.line].push(head);
    last = p.flits == 1 ? f.now : kHeld;
    follow_on_channel(f, port, vc, packet_of(packet));
  } else {
    last = tail_passes(p, f.now, flit_cycles);
    p.tail = last + net.delays[channel.line];
    if (net.is_nic(channel.peer)) f.part.tails_due.push(p.tail, head);
    else f.part.flit_lines.lines[channel.line].push(head);
  }
  o.flits += p.flits;
  // Flit by flit, follow.cpp charges those that wait, cycle by cycle.
  const u32 busy = net.router.flit_by_flit ? 0 : last + channel.flit_cycles - f.now;
  if (net.accounted_jobs) workload::account_sent(f, port, vc, packet | kHead, p.flits, busy);
  if (packet & kWatched) [[unlikely]]
    watch(f, packet | kHead, "leaves on the channel of", port, vc);
  return last;
}

}  // namespace flitgym
