// What reaches a node in this cycle: flits, credits, learning feedback.
#include "stage/stage.hpp"

namespace flitgym {

void arrivals(Frame& f) {
  const Network& net = f.net;
  State& s = f.s;
  f.w.flits.clear();
  s.flits_due.take(f.now, f.w.flits);
  const FlitEvent* events = f.w.flits.data();
  const std::size_t n = f.w.flits.size();
  const u32 router_vcs = net.router_ports * net.vcs, depth = net.router.input_depth;
  InputVc* const input_vcs = s.input_vcs.data();
  Flit* const rings = s.input_flits.data();
  constexpr std::size_t kAhead = 6;

  for (std::size_t i = 0; i < n; i++) {
    // The three lines an arrival touches lie anywhere in memory: ask for them a few events early.
    if (i + kAhead < n) {
      const FlitEvent& e = events[i + kAhead];
      __builtin_prefetch(&s.packets[packet_of(e.flit)], 1);
      if (e.vc < router_vcs) {
        __builtin_prefetch(&input_vcs[e.vc], 1);
        __builtin_prefetch(&rings[std::size_t{e.vc} * depth], 1);
      }
    }
    const FlitEvent e = events[i];
    if (e.vc >= router_vcs) {
      eject(f, net.port_of_vc(e.vc) - net.router_ports, e.flit);
      continue;
    }
    InputVc& in = input_vcs[e.vc];
    u32 slot = u32{in.head} + in.count;
    if (slot >= depth) slot -= depth;
    rings[std::size_t{e.vc} * depth + slot] = e.flit;
    in.count++;

    if (e.flit & kHead) {
      Packet& p = s.packets[packet_of(e.flit)];
      const u32 port = net.port_of_vc(e.vc);
      if (net.kind[port] != PortKind::kTerminal) {
        p.hops++;
        if (net.learns) s.details[packet_of(e.flit)].reward = f.now - p.arrived;
      }
      p.arrived = f.now;
      if (in.count == 1) {
        if (net.router.pipeline_cycles == 0) f.w.routes.push_back(e.vc);
        else s.routes_due.push(f.now + net.router.pipeline_cycles, e.vc);
      }
      if (e.flit & kWatched) watch(f, e.flit, "arrives in the input buffer of", port, e.vc - port * net.vcs);
    } else if (in.count == 1) {
      set_ready(net, s, e.vc);  // the next flit of a packet whose head has gone ahead
    }
  }
}

void credits(Frame& f) {
  const Network& net = f.net;
  State& s = f.s;
  f.w.credits.clear();
  s.credits_due.take(f.now, f.w.credits);
  const bool output_buffers = net.router.output_depth > 0;

  for (const CreditEvent& e : f.w.credits) {
    const u32 port = net.port_of_vc(e.vc), vc = e.vc - port * net.vcs;
    OutputVc& out = s.output_vcs[e.vc];
    OutputPort& o = s.ports[port];
    out.credits = static_cast<u16>(out.credits + e.flits);
    o.load -= e.flits;
    if (!output_buffers && !net.is_nic(port)) {
      if (o.stalled && out.parked != kNone) end_stall(f, o, port);
      if (out.parked != kNone) wake_parked(net, s, out);
      continue;
    }
    if (o.awake) continue;  // it looks at its queues when it is done
    if (o.waiting_vcs >> vc & 1) {
      if (o.stalled) end_stall(f, o, port);
      schedule_port(f, o, port, passed(o.busy_until, f.now) ? f.now + net.router.wake_cycles : o.busy_until);
    } else if (passed(o.busy_until, f.now)) {
      // An idle port that gets a credit starts its clock as well, as Merlin's does (portControl.cc): a flit that
      // comes before it has run out need not wait for a whole one.
      o.busy_until = f.now + net.router.wake_cycles;
    }
  }
}

void feedback(Frame& f) {
  f.w.feedback.clear();
  f.s.feedback_due.take(f.now, f.w.feedback);
  if (f.s.totals.frozen) return;
  for (const FeedbackEvent& e : f.w.feedback) f.net.learn(f.net, f.s, e.port, e.row, e.target);
}

}  // namespace flitgym
