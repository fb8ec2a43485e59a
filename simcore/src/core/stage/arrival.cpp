// Arrival: flits, credits and learning feedback that reach a node in this cycle.
#include "core/stage/train.hpp"

namespace flitgym {

// The template parameters are facts of a run. kPlain: no watched packet and no accounts of jobs (frame.hpp).
// kSingleFlit: every packet has one flit. kLearns: the routing learns.
template <bool kPlain, bool kSingleFlit, bool kLearns>
static void arrive(Frame& f, DelayLine<FlitEvent>& line) {
  const Network& net = f.net;
  State& s = f.s;
  const u32 due = line.due(f.now), router_vcs = net.vc_id(net.router_ports, 0), vc_shift = net.vc_shift;
  const FlitEvent* const items = line.items.data();
  const u32 mask = line.mask, look = events_ahead(net);
  InputVc* const input_vcs = s.input_vcs.data();
  Flit* const next = s.next.data();
  Packet* const packets = s.packets.data();
  const Channel* const channels = net.channels.data();
  PacketDetail* const details = s.details.data();
  const Observers<kPlain> observers(f);
  const bool still_requests = net.router.crossbar_per_vc;  // a packet requests its output until its tail has gone

  // Whether a flit reaches an empty buffer cannot be predicted, so the list of requests is written without a branch.
  const u32 pipeline = net.router.pipeline_cycles;
  std::vector<u32>& asking = pipeline == 0 ? f.w.routes : f.part.route_list;
  const bool listed = kSingleFlit && pipeline <= 1;
  std::size_t asked = asking.size();
  if (listed) asking.resize(asked + (due - line.first));
  u32* const list = asking.data();

  for (u32 n = line.first; n != due; n++) {
    // After the last event, `ahead` is an older event. Prefetching its data is harmless.
    const FlitEvent& ahead = items[(n + look) & mask];
    __builtin_prefetch(&packets[packet_of(ahead.flit)], 1);
    if (kLearns) __builtin_prefetch(&details[packet_of(ahead.flit)], 1);
    // For a terminal, the address lies outside the array. Prefetching it is harmless.
    __builtin_prefetch(&input_vcs[ahead.vc], 1);

    const FlitEvent e = items[n & mask];
    if (e.vc >= router_vcs) {
      const u32 nic = net.port_of_vc(e.vc);
      if (net.router.terminal_credits) {
        const Channel& back = channels[nic];
        f.part.credit_lines.lines[back.credit_line].push(
            {net.vc_id(back.peer, net.vc_of(e.vc)), 1,
             static_cast<u16>(workload::account_of(net, packets[packet_of(e.flit)]))});
      }
      eject(f, nic - net.router_ports, e.flit);
      continue;
    }
    InputVc& in = input_vcs[e.vc];
    push_flit<kSingleFlit>(in, next, e.flit);

    if (kSingleFlit || (e.flit & kHead)) {
      const u32 id = packet_of(e.flit);
      const bool over_link = channels[e.vc >> vc_shift].kind != PortKind::kTerminal;
      packets[id].hops = static_cast<u8>(packets[id].hops + over_link);
      if (over_link) observers.queued(e.vc, id);
      if (kLearns) {
        PacketDetail& d = details[id];
        d.reward = f.now - d.arrived;
        d.arrived = f.now;
      }
      if (listed) {
        list[asked] = e.vc;
        asked += in.count == 1;
      } else if (in.count == 1) {
        request_route(f, e.vc, f.now);
      }
      observers.log(e.flit, "arrives in the input buffer of", net.port_of_vc(e.vc), net.vc_of(e.vc));
    } else if (in.count == 1 && !still_requests) {
      set_request(f, e.vc, in.out_port);  // the flits before this one have already left
    }
  }
  if (listed) asking.resize(asked);
  line.first = due;
}

// kPlain: no watched packet, no accounts of jobs (frame.hpp) and no sensed occupancies. kOutputBuffers: a credit lets
// a flit leave its output queue; false: it lets a flit at an input request the switch.
template <bool kPlain, bool kOutputBuffers>
static void credit(Frame& f, DelayLine<CreditEvent>& line) {
  const Network& net = f.net;
  State& s = f.s;
  const u32 due = line.due(f.now);
  const CreditEvent* const items = line.items.data();
  const u32 mask = line.mask, look = events_ahead(net);
  const u32 wake = net.router.wake_cycles, vc_shift = net.vc_shift, router_ports = net.router_ports;
  OutputVc* const output_vcs = s.output_vcs.data();
  Port* const ports = s.ports.data();
  const Observers<kPlain> observers(f);

  for (u32 n = line.first; n != due; n++) {
    const u32 ahead = items[(n + look) & mask].vc;
    __builtin_prefetch(&output_vcs[ahead], 1);
    __builtin_prefetch(&ports[ahead >> vc_shift], 1);
    observers.prefetch_credit(ahead);

    const CreditEvent e = items[n & mask];
    const u32 port = e.vc >> vc_shift;
    OutputVc& out = output_vcs[e.vc];
    Port& o = ports[port];
    observers.credited(e);
    out.credits = static_cast<u16>(out.credits + e.flits);
    o.load -= e.flits;
    observers.downstream(port, net.vc_of(e.vc), 0u - e.flits);
    if (!kOutputBuffers && port < router_ports) {
      if (out.parked == kNoVc) continue;
      if (o.stalled) end_stall(f, o);
      wake_parked(f, out);
      continue;
    }
    // If a send of this port is scheduled (awake), this send examines all queues of the port. An idle port that gets a
    // credit starts its wake-up time, as in Merlin (portControl.cc). A flit that arrives during the wake-up waits only
    // for the remaining time.
    const bool wanted = o.waiting_vcs >> net.vc_of(e.vc) & 1, free = passed(o.busy_until, f.now);
    o.busy_until = select(!o.awake & !wanted & free, f.now + wake, o.busy_until);
    if (!o.awake & wanted) [[unlikely]] {
      if (o.stalled) end_stall(f, o);
      schedule_port(f, o, port, free ? edge(f, f.now + wake) : o.busy_until);
    }
  }
  line.first = due;
}

void arrivals(Frame& f) {
  if (f.net.whole_packets) return arrivals_of_packets(f);
  specialise(
      [&](auto plain_run, auto single_flit, auto learns) {
        for (auto& line : f.part.flit_lines.lines)
          if (line.first != line.due(f.now)) arrive<plain_run, single_flit, learns>(f, line);
      },
      plain(f), f.net.most_packet_flits == 1, f.net.learns);
}

void credits(Frame& f) {
  specialise(
      [&](auto plain_run, auto output_buffers) {
        for (auto& line : f.part.credit_lines.lines)
          if (line.first != line.due(f.now)) credit<plain_run, output_buffers>(f, line);
      },
      plain(f) && !f.sensed, f.net.router.output_depth > 0 && !f.net.router.charged_at_switch);
}

void feedback(Frame& f) {
  for (auto& line : f.part.feedback_lines.lines) {
    const u32 due = line.due(f.now), look = events_ahead(f.net);
    for (u32 n = line.first; n != due; n++) {
      // `ahead` may be an event of a later cycle, or an older one.
      const FeedbackEvent& ahead = line.at(n + look);
      const LearnedTable& table = f.net.feedback;
      if (table.rows) __builtin_prefetch(table.place(f.s, f.net.router_of_port(ahead.port), ahead.row), 1);
      const FeedbackEvent e = line.at(n);
      if (!f.part.totals.frozen) f.net.learn(f.net, f.s, e.port, e.row, e.target);
    }
    line.first = due;
  }
}

}  // namespace flitgym
