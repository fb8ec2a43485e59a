// Traversal: a free output port of a NIC or a router with output buffers selects a VC and sends one flit.
#include "core/stage/class_arbitration.hpp"
#include "core/stage/train.hpp"

namespace flitgym {

template <bool kPlain, bool kSingleFlit>
static void send_all(Frame& f, u32 count) {
  const Network& net = f.net;
  State& s = f.s;
  Port* const ports = s.ports.data();
  OutputVc* const output_vcs = s.output_vcs.data();
  const Channel* const channels = net.channels.data();
  const Flit* next = s.next.data();
  const Packet* packets = s.packets.data();
  DelayLine<FlitEvent>* const lines = f.part.flit_lines.lines.data();
  const u32* const due = f.w.ids.data();
  const u32 look = events_ahead(net);
  const u32 vc_shift = net.vc_shift, vcs = net.vcs, router_ports = net.router_ports,
            accepting_ports = net.router.terminal_credits ? 0 : router_ports;
  const bool per_packet = net.router.packet_links;
  const Observers<kPlain, true> observers(f);
  u32 sent = 0;

  for (u32 i = 0; i < count; i++) {
    const u32 ahead = due[i + look];
    __builtin_prefetch(&ports[ahead], 1);
    __builtin_prefetch(&output_vcs[ahead << vc_shift], 1);
    if (vcs > 2) __builtin_prefetch(&output_vcs[ahead << vc_shift] + 3, 1);
    if (look == kMostAhead) __builtin_prefetch(&next[probably_next(f, due[i + look / 2])]);

    const u32 port = due[i];
    Port& o = ports[port];
    OutputVc* const own = &output_vcs[port << vc_shift];
    o.awake = 0;

    // Round robin over the VCs that hold a flit and a credit for it, from next_vc on.
    const u32 from = o.next_vc;
    u32 vc = 0, turn = std::rotr(o.waiting_vcs, static_cast<int>(from));
    if (!kPlain && net.classes) {
      const auto credits = [&](u32 k) { return own[k].credits >= slots_needed(f, own[k]); };
      const bool goes_on = per_packet && own[from].sent > 0 && (turn & 1) && credits(from);  // with its packet
      if (!goes_on) turn = std::rotr(classes::served_first(f, o, port, credits), static_cast<int>(from));
    }
    for (; turn; turn &= turn - 1) {
      vc = (static_cast<u32>(__builtin_ctz(turn)) + from) & 31;
      if (own[vc].credits >= (kSingleFlit ? 1 : slots_needed(f, own[vc]))) break;
    }
    if (!turn) {
      if (o.waiting_vcs && !o.awake) begin_stall(f, o);
      continue;
    }

    sent++;
    OutputVc& out = own[vc];
    if (o.stalled) end_stall(f, o);
    const Flit flit = pop_flit<kSingleFlit>(out, next, packets);
    o.waiting_vcs &= ~(u32{out.count == 0} << vc);
    o.queued--;
    const Channel& channel = channels[port];
    const u32 to_terminal = u32{channel.kind == PortKind::kTerminal} & u32{port < accepting_ports};
    o.load -= to_terminal;  // terminals accept every flit at once
    out.credits = static_cast<u16>(out.credits - (1 - to_terminal));
    observers.output_queue(port, vc, ~0u);
    observers.downstream(port, vc, 1 - to_terminal);
    o.next_vc = static_cast<u16>(!kSingleFlit && per_packet && !(flit & kTail) ? vc : vc + 1 == vcs ? 0 : vc + 1);
    o.busy_until = f.now + channel.flit_cycles;
    if (o.waiting_vcs) schedule_port(f, o, port, o.busy_until);
    if (!kPlain && net.classes) classes::charge_channel(f, port, vc, 1);
    put_on_channel<kPlain>(f, lines, channel, channel.peer << vc_shift | vc, o, port, vc, flit);

    if (out.parked != kNoVc) wake_parked(f, out);
    if (port >= router_ports && f.part.totals.backlogged && s.terminals[port - router_ports].left > 0) {
      fill_nic(f, port - router_ports, true);
      next = s.next.data(), packets = s.packets.data();  // the pool may have grown
    }
  }
  f.part.totals.moves += sent;
}

void traversal(Frame& f) {
  if (!f.part.ports_due.due(f.now)) return;
  f.w.ids.clear();
  f.part.ports_due.take(f.now, f.w.ids);
  const u32 count = static_cast<u32>(f.w.ids.size());
  // The added ids are only prefetched. They are ports that are due in the next cycle, as far as there are any.
  f.w.ids.resize(count + kMostAhead, f.w.ids.back());
  f.part.ports_due.peek(f.now + 1, f.w.ids.data() + count, kMostAhead);
  if (f.net.whole_packets) return send_packets(f, count);
  specialise([&](auto plain_run, auto single_flit) { send_all<plain_run, single_flit>(f, count); }, plain(f),
             f.net.most_packet_flits == 1);
}

}  // namespace flitgym
