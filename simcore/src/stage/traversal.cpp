// Output side: a free output port (router with output buffers, or NIC) picks a virtual channel and sends one flit.
#include <bit>

#include "stage/train.hpp"

namespace flitgym {

namespace {

// kPlain: nobody looks on or senses how full VCs are.
template <bool kPlain, bool kSingleFlit>
void send_all(Frame& f) {
  const Network& net = f.net;
  State& s = f.s;
  Port* const ports = s.ports.data();
  OutputVc* const output_vcs = s.output_vcs.data();
  const Channel* const channels = net.channels.data();
  const Flit* next = s.next.data();
  const Packet* packets = s.packets.data();
  DelayLine<FlitEvent>* const lines = f.part.flit_lines.lines.data();
  constexpr u32 kAhead = 6;
  const u32 count = static_cast<u32>(f.w.ids.size());
  f.w.ids.resize(count + kAhead);  // what is asked for ahead of the last ones does not matter
  const u32 vc_shift = net.vc_shift, vcs = net.vcs, router_ports = net.router_ports;
  const bool per_packet = net.router.packet_links;
  u32 stalled = 0;

  for (const u32 *due = f.w.ids.data(), *const end = due + count; due != end; due++) {
    const u32 ahead = due[kAhead];
    __builtin_prefetch(&ports[ahead], 1);
    __builtin_prefetch(&output_vcs[ahead << vc_shift], 1);
    if (vcs > 2) __builtin_prefetch(&output_vcs[ahead << vc_shift] + 2, 1);

    const u32 port = *due;
    Port& o = ports[port];
    OutputVc* const own = &output_vcs[port << vc_shift];
    o.awake = 0;

    // Round robin over the VCs that hold a flit and a credit for it, from next_vc on.
    const u32 from = o.next_vc, waiting = o.waiting_vcs;
    u32 vc = 0, turn = std::rotr(waiting, static_cast<int>(from));
    for (; turn; turn &= turn - 1) {
      vc = (static_cast<u32>(__builtin_ctz(turn)) + from) & 31;
      if (own[vc].credits >= (kSingleFlit ? 1 : slots_needed(f, own[vc]))) break;
    }
    if (!turn) {
      if (waiting) begin_stall(f, o);
      stalled++;
      continue;
    }

    OutputVc& out = own[vc];
    if (o.stalled) end_stall(f, o);
    const Flit flit = pop_flit<kSingleFlit>(out, next, packets);
    const u32 left = out.count == 0 ? waiting & ~(1u << vc) : waiting;
    o.waiting_vcs = left;
    o.queued--;
    const Channel& channel = channels[port];
    const bool to_terminal = channel.kind == PortKind::kTerminal && port < router_ports;
    if (to_terminal) o.load--;  // terminals take everything at once
    else out.credits--;
    if (!kPlain && f.sensed && port < router_ports) {
      const int slots = to_terminal ? 0 : net.sensed.slots();
      f.sensed[net.sensed.at(port, vc)] += static_cast<u16>(slots - net.sensed.queue());
    }
    o.next_vc = static_cast<u16>(!kSingleFlit && per_packet && !(flit & kTail) ? vc : vc + 1 == vcs ? 0 : vc + 1);
    o.busy_until = f.now + channel.flit_cycles;
    if (left) schedule_port(f, o, port, o.busy_until);
    put_on_channel<kPlain>(f, lines, channel, channel.peer << vc_shift | vc, o, port, vc, flit);

    if (out.parked != kNone) wake_parked(f, out);
    if (port >= router_ports && f.part.totals.backlogged && s.terminals[port - router_ports].left > 0) {
      fill_nic(f, port - router_ports, true);
      next = s.next.data(), packets = s.packets.data();  // the pool may have grown
    }
  }
  f.part.totals.moves += count - stalled;
}

}  // namespace

void traversal(Frame& f) {
  if (f.net.whole_packets) return traversal_of_packets(f);
  if (!f.part.ports_due.due(f.now)) return;
  f.w.ids.clear();
  f.part.ports_due.take(f.now, f.w.ids);
  const bool simple = plain(f) && !f.sensed;
  if (f.net.most_packet_flits == 1) simple ? send_all<true, true>(f) : send_all<false, true>(f);
  else simple ? send_all<true, false>(f) : send_all<false, false>(f);
}

}  // namespace flitgym
