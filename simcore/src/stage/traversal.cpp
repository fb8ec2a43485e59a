// Output side: a free output port (router with output buffers, or NIC) picks a virtual channel and sends one flit.
#include <bit>

#include "stage/stage.hpp"

namespace flitgym {

namespace {

void send(Frame& f, u32 port) {
  const Network& net = f.net;
  State& s = f.s;
  Port& o = s.ports[port];
  OutputVc* const vcs = &s.output_vcs[net.vc_id(port, 0)];
  const bool nic = net.is_nic(port), to_terminal = !nic && net.channels[port].kind == PortKind::kTerminal;
  o.awake = 0;

  // Round robin over the VCs that hold a flit and a credit for it, from next_vc on.
  const u32 from = o.next_vc;
  u32 vc = 0;
  u32 turn = std::rotr(o.waiting_vcs, static_cast<int>(from));
  for (; turn; turn &= turn - 1) {
    vc = (static_cast<u32>(__builtin_ctz(turn)) + from) & 31;
    if (vcs[vc].credits >= slots_needed(f, vcs[vc])) break;
  }
  if (!turn) {
    if (o.waiting_vcs) begin_stall(f, o);
    return;
  }

  OutputVc& out = vcs[vc];
  if (o.stalled) end_stall(f, o);
  const Flit flit = net.packet_flits == 1 ? pop_flit<true>(out, s.next.data(), s.packets.data()) : pop_flit<false>(out, s.next.data(), s.packets.data());
  if (out.count == 0) o.waiting_vcs &= ~(1u << vc);
  o.queued--;
  if (to_terminal) o.load--;  // terminals take everything at once
  else out.credits--;
  if (!net.router.packet_credits || (flit & kTail)) o.next_vc = static_cast<u8>(vc + 1 == net.vcs ? 0 : vc + 1);
  else o.next_vc = static_cast<u8>(vc);
  o.busy_until = f.now + net.channels[port].flit_cycles;
  if (o.waiting_vcs) schedule_port(f, o, port, o.busy_until);
  put_on_channel(f, o, port, vc, flit);
  s.totals.moves++;

  if (out.parked != kNone) wake_parked(net, s, out);
  if (nic && s.totals.backlogged) {
    const u32 terminal = port - net.router_ports;
    if (s.terminals[terminal].left > 0) fill_nic(f, terminal, true);
  }
}

}  // namespace

void traversal(Frame& f) {
  State& s = f.s;
  if (!s.ports_due.due(f.now)) return;
  f.w.ids.clear();
  s.ports_due.take(f.now, f.w.ids);
  constexpr std::size_t kAhead = 6;
  for (std::size_t i = 0; i < f.w.ids.size(); i++) {
    if (i + kAhead < f.w.ids.size()) {
      const u32 port = f.w.ids[i + kAhead];
      __builtin_prefetch(&s.ports[port], 1);
      __builtin_prefetch(&s.output_vcs[f.net.vc_id(port, 0)], 1);
    }
    send(f, f.w.ids[i]);
  }
}

}  // namespace flitgym
