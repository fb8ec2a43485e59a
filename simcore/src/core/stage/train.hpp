// Trains: packets of several flits that keep together (router.crossbar_sharing=packet; Network::whole_packets).
//
// The model is that of Merlin's hr_router, extended by flit times:
//   - The head of a packet takes and returns buffer slots and credits for all flits of the packet. It may win the
//     switch only if its output VC has room for the whole packet. In the cycle in which it wins, its input VC returns
//     all credits, and the next packet moves to the front. The packet leaves the output queue when its head starts on
//     the channel.
//   - The other flits may still be in the buffer when the credits return. At an input, this is safe if the crossbar is
//     not slower than the links, because these flits then leave at least as fast as new flits can arrive. At an
//     output, these flits act like flits in an extra register for the packet that is being sent.
//   - A packet holds its crossbar input, its crossbar output and its channel until its tail has passed. Each flit takes
//     one flit time there, and passes after it has arrived. If flits arrive more slowly, there are gaps between
//     them, and no other packet uses the gaps.
//   - A packet is delivered, and its flits are counted, when its tail reaches the terminal.
//
// A place is a buffer, the crossbar or a channel. Flit k passes a place when it has arrived, but not earlier than a
// flit time after flit k - 1. If the arrival times are convex in k, the passing times are convex, too. In a NIC all
// flits arrive at once. So, for any rates of links and crossbar, the last of n flits passes at
//   max(time of the first + (n - 1) flit times, its own arrival).
// No result depends on the flits between head and tail. Therefore a packet can move as a train. A train is one entry
// per place with the time at which the packet's tail arrives (Packet::tail).
#pragma once

#include "core/stage/stage.hpp"

namespace flitgym {

// train.cpp: arrivals and traversal of packets that keep together.
void arrivals_of_packets(Frame& f);
void send_packets(Frame& f, u32 count);  // the first `count` of Workspace::ids are the ports

// The cycle in which the tail of a packet passes a place that its head passes at `first`.
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
  vc.front = front_after(vc, next);
  return packet;
}

// A packet starts on a channel, which takes a flit every `flit_cycles`. Returns the cycle in which the tail starts.
inline Cycle start_on_channel(Frame& f, Port& o, u32 port, u32 vc, Flit packet, u32 flit_cycles) {
  const Network& net = f.net;
  const Channel& channel = net.channels[port];
  Packet& p = f.s.packets[packet_of(packet)];
  const FlitEvent whole{net.vc_id(channel.peer, vc), packet | kHead | kTail};
  const Cycle last = tail_passes(p, f.now, flit_cycles);
  p.tail = last + net.delays[channel.line];
  if (net.is_nic(channel.peer)) {
    f.part.tails_due.push(p.tail, whole);
    if (net.workload) {  // read when the tail arrives; may extend over two lines
      const PacketPayload* const payload = &f.s.payloads[packet_of(packet)];
      __builtin_prefetch(payload);
      __builtin_prefetch(&payload->reserved);
    }
  } else {
    f.part.flit_lines.lines[channel.line].push(whole);
  }
  o.flits += p.flits;
  Observers(f).sent(port, vc, packet | kHead, p.flits, last + channel.flit_cycles - f.now);
  return last;
}

}  // namespace flitgym
