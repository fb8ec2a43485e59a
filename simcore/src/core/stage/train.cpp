// Arrival and traversal of packets that keep together, as one entry each (train.hpp).
#include "core/stage/train.hpp"

#include "core/stage/class_arbitration.hpp"

namespace flitgym {

// Each packet touches random cache lines. They are prefetched this many packets in advance.
constexpr u32 kAhead = 6;

static void arrive(Frame& f, DelayLine<FlitEvent>& line) {
  const Network& net = f.net;
  State& s = f.s;
  const u32 due = line.due(f.now);
  const FlitEvent* const items = line.items.data();
  const u32 mask = line.mask;
  InputVc* const input_vcs = s.input_vcs.data();
  Packet* const packets = s.packets.data();
  const Observers observers(f);
  const bool learns = net.learns;

  for (u32 n = line.first; n != due; n++) {
    const FlitEvent& ahead = items[(n + kAhead) & mask];  // after the last event: an old event, harmless
    __builtin_prefetch(&packets[packet_of(ahead.flit)], 1);
    if (learns) __builtin_prefetch(&s.details[packet_of(ahead.flit)], 1);
    if (ahead.vc < net.input_vc_count()) {
      __builtin_prefetch(&input_vcs[ahead.vc], 1);
      observers.prefetch_arrival(ahead.vc);
    }

    const FlitEvent e = items[n & mask];
    const u32 id = packet_of(e.flit), port = net.port_of_vc(e.vc);
    Packet& p = packets[id];
    InputVc& in = input_vcs[e.vc];
    if (in.front == kNone) request_route(f, e.vc, f.now);
    push_packet(in, s.next.data(), e.flit & ~(kHead | kTail), p.flits);
    if (net.channels[port].kind != PortKind::kTerminal) {
      observers.queued(e.vc, id);
      p.hops++;
    }
    if (learns) {
      PacketDetail& d = s.details[id];
      d.reward = f.now - d.arrived;
      d.arrived = f.now;
    }
    observers.log(e.flit, "arrives in the input buffer of", port, net.vc_of(e.vc));
  }
  line.first = due;
}

template <bool kClasses>
static void send(Frame& f, u32 port) {
  const Network& net = f.net;
  State& s = f.s;
  Port& o = s.ports[port];
  OutputVc* const own = &s.output_vcs[net.vc_id(port, 0)];
  o.awake = 0;

  // Round robin over the VCs that hold a packet and the credits for it, from next_vc on.
  const u32 from = o.next_vc;
  u32 vc = 0, flits = 0, ready = o.waiting_vcs;
  if constexpr (kClasses)
    ready = classes::served_first(f, o, port,
                                  [&](u32 k) { return own[k].credits >= s.packets[packet_of(own[k].front)].flits; });
  u32 turn = std::rotr(ready, static_cast<int>(from));
  for (; turn; turn &= turn - 1) {
    vc = (static_cast<u32>(std::countr_zero(turn)) + from) & 31;
    flits = s.packets[packet_of(own[vc].front)].flits;
    if (own[vc].credits >= flits) break;
  }
  if (!turn) {
    if (o.waiting_vcs && !o.awake) begin_stall(f, o);
    return;
  }

  OutputVc& out = own[vc];
  if (o.stalled) end_stall(f, o);
  const Flit packet = pop_packet(out, s.next.data(), flits);
  if (out.count == 0) o.waiting_vcs &= ~(1u << vc);
  else __builtin_prefetch(&s.packets[packet_of(out.front)], 1);  // the next one of this VC
  o.queued -= flits;
  if (net.is_nic(net.channels[port].peer)) o.load -= flits;  // terminals accept every flit at once
  else out.credits = static_cast<u16>(out.credits - flits);
  const Observers observers(f);
  observers.output_queue(port, vc, 0u - flits);
  observers.downstream(port, vc, net.is_nic(net.channels[port].peer) ? 0 : flits);
  o.next_vc = static_cast<u16>(vc + 1 == net.vcs ? 0 : vc + 1);
  const u32 flit_cycles = net.channels[port].flit_cycles;
  if constexpr (kClasses) classes::charge_channel(f, port, vc, flits);
  const Cycle last = start_on_channel(f, o, port, vc, packet, flit_cycles);
  o.busy_until = last + flit_cycles;
  if (o.waiting_vcs) schedule_port(f, o, port, o.busy_until);
  f.part.totals.moves += flits;

  if (out.parked != kNoVc) wake_parked(f, out);
  const u32 terminal = port - net.router_ports;
  if (net.is_nic(port) && f.part.totals.backlogged && s.terminals[terminal].left > 0) fill_nic(f, terminal, true);
}

void arrivals_of_packets(Frame& f) {
  for (auto& line : f.part.flit_lines.lines)
    if (line.first != line.due(f.now)) arrive(f, line);
  if (!f.part.tails_due.due(f.now)) return;
  f.w.tails.clear();
  f.part.tails_due.take(f.now, f.w.tails);
  for (const FlitEvent& e : f.w.tails) eject(f, f.net.port_of_vc(e.vc) - f.net.router_ports, e.flit);
}

void send_packets(Frame& f, u32 count) {
  const u32* const due = f.w.ids.data();
  const Observers observers(f);
  for (u32 i = 0; i < count; i++) {
    const u32 ahead = due[i + kAhead];
    __builtin_prefetch(&f.s.ports[ahead], 1);
    __builtin_prefetch(&f.s.output_vcs[f.net.vc_id(ahead, 0)], 1);
    if (f.net.vcs > 2) __builtin_prefetch(&f.s.output_vcs[f.net.vc_id(ahead, 0)] + 3, 1);
    observers.prefetch_output(ahead);
    observers.prefetch_credit(f.net.vc_id(ahead, 0));
    const u32 packet = probably_next(f, due[i + kAhead / 2]);
    __builtin_prefetch(&f.s.packets[packet], 1);
    __builtin_prefetch(&f.s.next[packet]);
    f.net.classes ? send<true>(f, due[i]) : send<false>(f, due[i]);
  }
}

}  // namespace flitgym
