#include "core/stage/acknowledgement.hpp"

#include "core/stage/stage.hpp"
#include "simcore/graph.hpp"
#include "simcore/rng.hpp"
#include "simcore/traffic_classes.hpp"

namespace flitgym {

u32 idle_cycles(const Network& net, const Graph& graph, u32 source, u32 destination) {
  const u32 from = net.terminal_router[source], to = net.terminal_router[destination];
  const double ns = flight(net, graph, from, to) + hop_ns(net, net.port(to, net.terminal_port[destination]));
  return net.router.wake_cycles + net.hop_cycles(net.nic(source)) + static_cast<u32>(std::lround(ns / net.cycle_ns));
}

namespace control {

constexpr u32 kLongestWait = 1023;  // cycles to the next try of a paced source; it may be one of several

// An acknowledgement leaves `destination` and comes back to `source`.
static void send(const Network& net, State& s, Acknowledgement ack, Cycle now) {
  const u32 from = net.partition_of(net.terminal_router[ack.destination]),
            to = net.partition_of(net.terminal_router[ack.source]);
  const u32 back = idle_cycles(net, graph_now(net, s), ack.destination, ack.source);
  ack.delay += back;
  Acknowledgements& own = s.acknowledgements[from];
  if (from == to) own.due.push(now + back, ack);
  else own.sent.push_back({ack, now, now + std::max(back, net.lookahead)});
}

// Cycles of a packet from the acceptance by the NIC to the arrival of its tail, without queueing.
static u32 idle_time(const Network& net, const Graph& graph, const Packet& p) {
  const u32 from = net.terminal_router[p.source], to = net.terminal_router[p.destination];
  // A path of more hops takes longer in proportion.
  const u32 least = distance(net, graph, from, to);
  const double more = p.hops > least ? static_cast<double>(p.hops - least) / std::max(1u, least) : 0;
  const u32 detour = static_cast<u32>(more * flight(net, graph, from, to) / net.cycle_ns);
  return idle_cycles(net, graph, p.source, p.destination) + detour + (p.flits - 1u) * net.flit_cycles_host;
}

// A delivered packet becomes its acknowledgement. Its number, which random choices of routings use, is not a number of
// the data of its terminal.
static void turn_round(Frame& f, u32 id, const Acknowledgement& ack) {
  const Control& c = *f.net.control;
  const Packet data = f.s.packets[id];
  Packet& p = f.s.packets[id] = Packet{};
  p.source = data.destination;
  p.destination = data.source;
  p.sequence = static_cast<u32>(mix64(u64{data.source} << 32 | data.sequence)) | 1u << 31;
  p.generated = p.injected = f.now;
  p.flits = static_cast<u16>(c.ack_flits);
  p.job = data.job;
  p.marked = 1;  // so that no router marks it
  p.traffic_class = static_cast<u8>(c.ack_class);
  inject_acknowledgement(f, id);
  reinterpret_cast<Acknowledgement*>(c.acks.of(f.s))[id] = ack;
}

// The acknowledgement of a delivered packet. In the place of the delay, it has the cycle of the packet's acceptance.
static Acknowledgement acknowledgement_of(Frame& f, const Packet& p) {
  const Control& c = *f.net.control;
  return {p.source,
          p.destination,
          p.injected,
          idle_time(f.net, graph_now(f.net, f.s), p),
          c.spec->grant ? c.spec->grant(f.net, f.s, c, p, f.now) : 0,
          p.flits,
          p.marked};
}

static u32* pace_of(Frame& f, u32 source, u32 destination) {
  const Control& c = *f.net.control;
  const std::size_t places = f.net.memories[c.pace.memory].rows;
  const std::size_t own = f.net.terminal_router[source] * places + c.place[source];
  return c.pace.of(f.s) + 2 * (own * c.flows + destination % c.flows);
}

bool may_go(Frame& f, u32 source, u32 destination, u32 flits) {
  const Control& c = *f.net.control;
  SenderFlow& flow = flow_of(f.net, f.s, source, destination);
  if (c.spec->elapsed) c.spec->elapsed(c, flow, f.now);
  const Cycle from = c.pace.kept()    ? std::max(pace_of(f, source, destination)[0], f.now)
                     : c.spec->may_go ? c.spec->may_go(c, flow, flits, f.now)
                                      : go_by_window(flow, flits, f.now);
  if (from <= f.now) return true;
  if (from == kNone) return false;
  Cycle& next_try = f.s.next_try[source];
  if (next_try != kNone && next_try <= from) return false;
  next_try = std::min(from, f.now + kLongestWait);
  f.s.acknowledgements[f.k].paced.push(next_try, source);
  return false;
}

void sent(Frame& f, u32 source, u32 destination, u32 flits) {
  const Control& c = *f.net.control;
  SenderFlow& flow = flow_of(f.net, f.s, source, destination);
  flow.in_flight += flits;
  if (c.pace.kept()) {
    u32* const pace = pace_of(f, source, destination);
    if (pace[0] < f.now) pace[0] = f.now, pace[1] = 0;
    const double gap =
        static_cast<double>(flits) * static_cast<double>(f.net.flit_cycles_host) / static_cast<double>(flow.window);
    const u64 end = static_cast<u64>(gap * 65536) + pace[1];
    pace[0] += static_cast<Cycle>(end >> 16);
    pace[1] = end & 0xffff;
  }
  if (c.spec->sent) c.spec->sent(c, flow, flits, f.now);
}

// The queue of a packet: the input VC that it leads, and the queue of its traffic class at the output port that it has
// chosen.
void mark(const Network& net, State& s, const Batch& b) {
  const Control& c = *net.control;
  if (c.mark_flits == kNone) return;
  for (u32 i = 0; i < b.count; i++) {
    const u32 port = net.port(b.router[i], b.out_port[i]);
    u32 queued = s.ports[port].queued;
    if (net.classes) {
      const u32 first = class_of_vc(net, b.in_vc[i]) * net.class_vcs;
      queued = 0;
      for (u32 vc = first; vc < first + net.class_vcs; vc++) queued += s.output_vcs[net.vc_id(port, vc)].count;
    }
    if (queued + s.input_vcs[b.input_vc[i]].count <= c.mark_flits) continue;
    const bool last = net.channels[port].kind == PortKind::kTerminal;
    Packet& p = s.packets[b.packet[i]];
    if ((c.marks_at_end && !last) || p.marked) continue;
    p.marked = 1;
    if (c.notices) send(net, s, {p.source, p.destination, 0, 0, 0, 0, 1}, b.now);
  }
}

bool delivered(Frame& f, u32 id) {
  const Network& net = f.net;
  const Packet& p = f.s.packets[id];
  if (const Acknowledgement* const carried_one = carried(net, f.s, id)) {
    Acknowledgement& ack = f.w.acknowledgements.emplace_back(*carried_one);
    ack.delay = f.now - ack.delay;
    ack.idle += idle_time(net, graph_now(net, f.s), p);
    return true;
  }
  if (net.control->ack_flits) {
    f.w.answered.push_back(id);
    return false;
  }
  Acknowledgement ack = acknowledgement_of(f, p);
  ack.delay = f.now - ack.delay;
  ack.idle += idle_cycles(net, graph_now(net, f.s), p.destination, p.source);
  send(net, f.s, ack, f.now);
  return true;
}

void returned(Frame& f) {
  const Control& c = *f.net.control;
  State& s = f.s;
  Acknowledgements& own = s.acknowledgements[f.k];
  const auto fill = [&](u32 terminal) {
    if (s.terminals[terminal].left > 0) fill_nic(f, terminal, true);
  };
  for (const u32 id : f.w.answered) turn_round(f, id, acknowledgement_of(f, s.packets[id]));
  f.w.answered.clear();
  std::vector<Acknowledgement>& due = f.w.acknowledgements;  // also those that packets have brought
  if (own.due.due(f.now)) own.due.take(f.now, due);
  if (own.far_due.due(f.now)) own.far_due.take(f.now, due);
  // The acknowledgements of a flow with several destinations may come from several partitions.
  if (c.flows < f.net.terminals) std::ranges::stable_sort(due, {}, &Acknowledgement::destination);
  for (const Acknowledgement& ack : due) {
    SenderFlow& flow = flow_of(f.net, s, ack.source, ack.destination);
    if (c.spec->elapsed) c.spec->elapsed(c, flow, f.now);
    flow.in_flight -= ack.flits;
    const bool in_round = flow.next == 0;
    if (c.spec->acknowledged) c.spec->acknowledged(c, flow, ack, f.now);
    if (c.period && in_round && flow.next) own.asking.push_back(static_cast<u32>(&flow - s.sender_flows.data()));
    if (f.part.window.open && ack.flits > 0) {
      own.totals.packets++;
      own.totals.marked += ack.marked;
      own.totals.window += static_cast<double>(flow.window);
    }
    fill(ack.source);
  }
  due.clear();
  if (!own.paced.due(f.now)) return;
  f.w.ids.clear();
  own.paced.take(f.now, f.w.ids);
  for (const u32 terminal : f.w.ids)
    if (s.next_try[terminal] == f.now) {  // else an earlier try has replaced this one
      s.next_try[terminal] = kNone;
      fill(terminal);
    }
}

void shape(const Network& net, State& s, Shaper& make) {
  make(s.sender_flows, std::size_t{net.terminals} * net.control->flows, net.control->first);
  make(s.next_try, net.terminals, kNone);
  s.acknowledgements.resize(net.partitions());
  for (Acknowledgements& own : s.acknowledgements) {
    make(own.due, net.control->longest_return);
    make(own.far_due, std::max(net.control->longest_return, net.lookahead));
    make(own.paced, kLongestWait);
  }
}

// In the order of time and, within a cycle, of the senders, so that it does not depend on the calls of run().
void hand_over(const Network& net, State& s, Cycle from, Cycle until, u32 first, u32 end) {
  std::vector<std::size_t> next(net.partitions(), 0);
  for (Cycle t = from; t != until; t++)
    for (u32 k = 0; k < net.partitions(); k++)
      for (const auto& sent = s.acknowledgements[k].sent; next[k] < sent.size() && sent[next[k]].sent == t; next[k]++) {
        const SentAcknowledgement& one = sent[next[k]];
        const u32 to = net.partition_of(net.terminal_router[one.content.source]);
        if (to - first < end - first) s.acknowledgements[to].far_due.push(one.due, one.content);
      }
}

bool idle(const State& s, u32 k) {
  const Acknowledgements& own = s.acknowledgements[k];
  return own.due.empty() && own.far_due.empty() && own.paced.empty();
}

}  // namespace control

}  // namespace flitgym
