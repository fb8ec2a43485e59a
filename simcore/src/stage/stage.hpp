// What the stages of a cycle share: the frame they work in, and the few moves of a flit that happen in several places.
//
// A hop of a flit, in the order of the pipeline figure (Dally & Towles, ch. 16):
//   arrival            channel -> input VC
//   route computation  the head in front of an input VC asks for (output port, VC class): the decision batch
//   switch allocation  input VC -> output VC's ring (output buffers) or straight onto the channel (input-queued)
//   traversal          output ring -> channel, when the channel is free and a credit is there
#pragma once

#include "simcore/rng.hpp"
#include "simcore/state.hpp"

namespace flitgym {

struct Frame {
  const Network& net;
  State& s;
  Workspace& w;
  const Cycle now;
};

// The stages, each over everything that is due in this cycle.
void arrivals(Frame& f);
void credits(Frame& f);
void feedback(Frame& f);
void injection(Frame& f);
void traversal(Frame& f);
void route_requests(Frame& f);
void apply_routes(Frame& f);
void switch_allocation(Frame& f);

// stage/ejection.cpp: the flit has reached its terminal
void eject(Frame& f, u32 terminal, Flit flit);
// stage/injection.cpp: moves packets of the terminal's present round into its NIC while there is room
void fill_nic(Frame& f, u32 terminal, bool backlogged);
void start_sources(Frame& f);

// watch.cpp: one line of a watched packet's life
void watch(Frame& f, Flit flit, const char* what, u32 port, u32 vc);

// Times are compared through their difference, so that a busy_until of long ago never looks like the future.
inline bool passed(Cycle deadline, Cycle now) { return static_cast<i32>(now - deadline) >= 0; }

// ready: bit (in_port << ready_shift | vc) of router r's words
inline u32 ready_shift(u32 vcs) { return vcs <= 1 ? 0 : 32 - static_cast<u32>(__builtin_clz(vcs - 1)); }

inline void set_ready(const Network& net, State& s, u32 router, u32 in_port, u32 vc) {
  const u32 bit = in_port << ready_shift(net.vcs) | vc;
  s.ready[std::size_t{router} * s.ready_words + bit / 64] |= u64{1} << (bit % 64);
  s.active_routers[router / 64] |= u64{1} << (router % 64);
}

inline void set_ready(const Network& net, State& s, u32 input_vc) {
  const u32 port = net.port_of_vc(input_vc), router = net.router_of_port(port);
  set_ready(net, s, router, port - router * net.radix, input_vc - port * net.vcs);
}

// Space has come up for an output VC: everyone who waits for it asks again.
inline void wake_parked(const Network& net, State& s, OutputVc& out) {
  for (u32 v = out.parked; v != kNone;) {
    InputVc& in = s.input_vcs[v];
    in.parked = 0;
    set_ready(net, s, v);
    v = in.park_next;
  }
  out.parked = kNone;
}

inline void end_stall(const Frame& f, OutputPort& o, u32 port) {
  o.stalled = 0;
  if (f.s.window.open) f.s.port_stall[port] += f.now - o.stalled_since;
}

inline void begin_stall(const Frame& f, OutputPort& o) {
  if (o.stalled) return;
  o.stalled = 1;
  o.stalled_since = f.now;
}

inline void schedule_port(const Frame& f, OutputPort& o, u32 port, Cycle when) {
  o.awake = 1;
  f.s.ports_due.push(when, port);
}

// A flit enters the ring of an output VC, where it can be seen `delay` cycles from now (1 behind a crossbar).
inline void enqueue_output(Frame& f, u32 port, u32 vc, Flit flit, Flit* ring, u32 depth, u32 delay) {
  OutputPort& o = f.s.ports[port];
  OutputVc& out = f.s.output_vcs[std::size_t{port} * f.net.vcs + vc];
  u32 slot = u32{out.head} + out.count;
  if (slot >= depth) slot -= depth;
  ring[slot] = flit;
  out.count++;
  o.waiting_vcs |= 1u << vc;
  o.queued++;
  o.load++;
  if (o.awake) return;
  if (out.credits == 0) return begin_stall(f, o);
  const Cycle seen = f.now + delay;
  schedule_port(f, o, port, passed(o.busy_until, seen) ? seen + f.net.router.wake_cycles : o.busy_until);
}

// A flit starts on a channel now.
inline void put_on_channel(Frame& f, u32 port, u32 vc, Flit flit, u32 peer, u32 hop_cycles) {
  f.s.flits_due.push(f.now + hop_cycles, {peer * f.net.vcs + vc, flit});
  if (f.s.window.open) f.s.port_flits[port]++;
  if (flit & kWatched) watch(f, flit, "leaves on the channel of", port, vc);
}

// Slots of the downstream buffer that must be free before this flit may go there.
inline u32 slots_needed(const Frame& f, Flit flit) {
  if ((flit & (kHead | kTail)) != kHead || f.net.router.flow_control == FlowControl::kWormhole) return 1;
  return f.s.packets[packet_of(flit)].flits;
}

}  // namespace flitgym
