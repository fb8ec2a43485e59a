// The stages of a cycle, the frame in which they work, and the moves of a flit that several stages share.
//
// A hop of a flit takes these stages (Dally & Towles, ch. 16):
//   arrival            channel -> input VC
//   route computation  the head in front of an input VC gets an output port and a VC class
//   switch allocation  input VC -> queue of the output VC (output buffers) or channel (input-queued router)
//   traversal          output queue -> channel, when the channel is free and there is a credit
#pragma once

#include <type_traits>

#include "core/stage/observers.hpp"
#include "simcore/rng.hpp"

namespace flitgym {

// The stages. Each handles everything that is due in this cycle.
void arrivals(Frame& f);
void credits(Frame& f);
void feedback(Frame& f);
void injection(Frame& f);
void traversal(Frame& f);
void route_requests(Frame& f);
void verify_routes(const Frame& f);                               // throws CoreError if a choice is invalid
void apply_routes(Frame& f, const Batch& b, u32 begin, u32 end);  // for requests begin .. end-1 of the batch
void switch_allocation(Frame& f);
void switch_allocation_per_vc(Frame& f);  // for routers in which every VC has a crossbar port
void switch_allocation_islip(Frame& f);   // for the arbiter kIslip

// ejection.cpp: a flit has reached its terminal.
void eject(Frame& f, u32 terminal, Flit flit);
// injection.cpp: moves packets of the terminal's present round into its NIC while there is room.
void fill_nic(Frame& f, u32 terminal, bool backlogged);
// injection.cpp: a packet enters the NIC, which has room for it. Returns its id.
u32 inject_packet(Frame& f, u32 terminal, u32 destination, u32 flits, Cycle generated, u32 job, u32 traffic_class);
// injection.cpp: the acknowledgement of a delivered packet, which has its id, enters the NIC.
void inject_acknowledgement(Frame& f, u32 packet);
void start_sources(Frame& f);
void stop_sources(const Network& net, State& s);  // permanently; packets that wait outside the NICs are given up

// Passes run-time facts as compile-time constants: calls work() with std::true_type or std::false_type for each fact.
// The compiler generates separate code for each combination of facts.
template <class Work>
void specialise(Work work) {
  work();
}
template <class Work, class... Facts>
void specialise(Work work, bool fact, Facts... others) {
  if (fact) specialise([&](auto... known) { work(std::true_type{}, known...); }, others...);
  else specialise([&](auto... known) { work(std::false_type{}, known...); }, others...);
}

inline bool passed(Cycle deadline, Cycle now) { return now >= deadline; }

// Each event touches random cache lines, which are prefetched this many events in advance. A state of several MiB does
// not fit the second-level cache, and the next level takes hundreds of cycles.
inline constexpr u32 kMostAhead = 16, kLargeState = 6 << 20;  // events, bytes
inline u32 events_ahead(const Network& net) { return net.memory_bytes > kLargeState ? kMostAhead : 6; }

// The packet in front of an input VC has a route and requests its output.
inline void set_request(const Frame& f, u32 input_vc, u32 out_port) {
  const Network& net = f.net;
  State& s = f.s;
  const u32 router = input_vc >> (net.radix_shift + net.vc_shift), bit = input_vc & net.vc_mask();
  const u32 asked = net.request_port(out_port);
  s.requests[std::size_t{net.port(router, asked)} * net.request_words + bit / 64] |= u64{1} << (bit % 64);
  s.outputs_asked[router * net.asked_words + asked / 64] |= u64{1} << (asked % 64);
  const u32 own = router - f.range.first_router;
  f.active[own / 64] |= u64{1} << (own % 64);
  if (f.resting) f.resting[router] = 0;
}

// A request without room waits in the list of its output VC. With the age arbiter the list is in the order of service:
// first the packet that holds the VC, then the others by age.
inline void park(const Frame& f, OutputVc& out, u32 input_vc) {
  const Network& net = f.net;
  State& s = f.s;
  const u32 first = input_vc & ~net.vc_mask();
  u16* link = &out.parked;
  if (net.router.arbiter == Arbiter::kAge)
    if (const u32 owner = s.owners[&out - s.output_vcs.data()]; owner != input_vc)
      while (*link != kNoVc && (owner == (first | *link) || s.served[first | *link] <= s.served[input_vc]))
        link = &s.park_next[first | *link];
  s.park_next[input_vc] = *link;
  *link = static_cast<u16>(input_vc & net.vc_mask());
}

// An output VC has room again, so the requests in its list are made again. With the age arbiter, only the first request
// is made again, because it would win. With bubble flow control, all requests are made again, because a later request
// may need less room.
inline void wake_parked(const Frame& f, OutputVc& out) {
  const Network& net = f.net;
  State& s = f.s;
  const bool one = net.router.arbiter == Arbiter::kAge && !net.routing_facts.bubble;
  const u32 first = static_cast<u32>(&out - s.output_vcs.data()) & ~net.vc_mask();
  while (out.parked != kNoVc) {
    const u32 v = first | out.parked;
    set_request(f, v, s.input_vcs[v].out_port);
    out.parked = s.park_next[v];
    s.park_next[v] = kNotParked;
    if (one) return;
  }
}

inline void end_stall(Frame& f, Port& o) {
  Observers(f).resumed(static_cast<u32>(&o - f.s.ports.data()));
  o.stalled = 0;
  if (f.part.window.open) o.stall += f.now - o.stalled_since;
}

inline void begin_stall(Frame& f, Port& o) {
  if (o.stalled) return;
  o.stalled = 1;
  o.stalled_since = f.now;
  Observers(f).stalled(static_cast<u32>(&o - f.s.ports.data()));
}

inline void schedule_port(const Frame& f, Port& o, u32 port, Cycle when) {
  o.awake = 1;
  f.part.ports_due.push(when, port);
}

// The first cycle from `when` on in which flits may start on links.
inline Cycle edge(const Frame& f, Cycle when) { return when | f.net.router.edge_mask; }

// Feedback to the upstream router when the head of a packet wins the switch here: the time of the hop plus this
// router's estimate of the remaining time. It is sent when the head wins, because the next router may overwrite the
// packet's details before the tail wins.
inline void answer(Frame& f, const Channel& back, u32 packet) {
  const PacketDetail& d = f.s.details[packet];
  const bool sent = (back.kind != PortKind::kTerminal) & (d.value >= 0);
  f.part.feedback_lines.lines[back.line].push_if(
      sent, {back.peer, d.row, static_cast<float>(d.reward * f.net.cycle_ns) + d.value});
}

// A packet is in front of an input VC from cycle `front_at` (now or later). Its head requests a route after the
// router's pipeline.
inline __attribute__((always_inline)) void request_route(Frame& f, u32 input_vc, Cycle front_at) {
  const Cycle due = front_at + f.net.router.pipeline_cycles;
  if (due == f.now) f.w.routes.push_back(input_vc);
  else if (due == f.now + 1) f.part.route_list.push_back(input_vc);
  else f.part.routes_due.push(due, input_vc);
}

// The same for a packet that is in front from the next cycle on, without the code of the present cycle in every grant.
inline __attribute__((always_inline)) void request_next_route(Frame& f, u32 input_vc) {
  const u32 pipeline = f.net.router.pipeline_cycles;
  if (pipeline == 0) f.part.route_list.push_back(input_vc);
  else f.part.routes_due.push(f.now + 1 + pipeline, input_vc);
}

// As a number, because the queue may be empty.
inline std::uintptr_t address_of_link(const Flit* next, Flit packet) {
  return reinterpret_cast<std::uintptr_t>(next) + sizeof(Flit) * std::uintptr_t{packet_of(packet)};
}

// A flit enters a queue behind the other flits of its packet.
template <bool kSingleFlit = false, class Vc>
inline void push_flit(Vc& vc, Flit* next, Flit flit) {
  vc.count++;
  if (!kSingleFlit && !(flit & kHead)) return;
  const Flit packet = flit & ~(kHead | kTail);
  const auto front = reinterpret_cast<std::uintptr_t>(&vc.front), link = address_of_link(next, vc.back);
  *reinterpret_cast<Flit*>(select(vc.front == kNone, front, link)) = packet;
  vc.back = packet;
}

// The link from the first packet of a queue to the packet behind it, or any address if there is none. Threads share the
// cache lines of `next`, so an entry is read only where a packet follows.
template <class Vc>
inline const Flit* link_of_front(const Vc& vc, const Flit* next) {
  const auto own = reinterpret_cast<std::uintptr_t>(&vc.front), link = address_of_link(next, vc.front);
  return reinterpret_cast<const Flit*>(select(vc.front == vc.back, own, link));
}
template <class Vc>
inline Flit front_after(const Vc& vc, const Flit* next) {
  return select(vc.front == vc.back, kNone, *link_of_front(vc, next));
}

// The first flit of a queue leaves it.
template <bool kSingleFlit, class Vc>
inline Flit pop_flit(Vc& vc, const Flit* next, const Packet* packets) {
  Flit flit = vc.front;
  vc.count--;
  if (kSingleFlit) {
    flit |= kHead | kTail;
  } else {
    if (vc.sent++ == 0) flit |= kHead;
    if (vc.sent == packets[packet_of(flit)].flits) flit |= kTail;
  }
  if (flit & kTail) {
    if (!kSingleFlit) vc.sent = 0;
    vc.front = front_after(vc, next);
  }
  return flit;
}

// Number of downstream slots that must be free before the first flit of this queue may go there.
template <class Vc>
inline u32 slots_needed(const Frame& f, const Vc& vc) {
  if (f.net.most_packet_flits == 1 || vc.sent > 0 || f.net.router.flow_control == FlowControl::kWormhole) return 1;
  return f.s.packets[packet_of(vc.front)].flits;
}

// Flits have entered the queue of an output VC. The first can leave after `delay` cycles (1 after a crossbar).
inline void queue_grows(Frame& f, Port& o, const OutputVc& out, u32 port, u32 vc, u32 flits, u32 delay) {
  o.waiting_vcs |= 1u << vc;
  o.queued += flits;
  o.load += flits;
  if (o.awake) return;
  if (out.credits == 0) return begin_stall(f, o);
  const u32 wake = f.net.router.wake_cycles;
  schedule_port(f, o, port,
                passed(o.busy_until, f.now) ? edge(f, f.now + (wake > delay ? wake : delay)) : o.busy_until);
}

// The packet that leaves a port next if its output VC has a credit, to be prefetched; packet 0 if that queue is empty.
inline u32 probably_next(const Frame& f, u32 port) {
  const Port& o = f.s.ports[port];
  const u32 ready = std::rotr(o.waiting_vcs, static_cast<int>(o.next_vc)) | 1u << 31;
  const u32 vc = (static_cast<u32>(std::countr_zero(ready)) + o.next_vc) & ((1u << f.net.vc_shift) - 1);
  const Flit front = f.s.output_vcs[f.net.vc_id(port, vc)].front;
  return select(front == kNone, 0u, packet_of(front));
}

// A flit starts on the channel of `port` now, towards the VC `to` of its peer.
template <bool kPlain>
inline __attribute__((always_inline)) void put_on_channel(Frame& f, DelayLine<FlitEvent>* lines, const Channel& channel,
                                                          u32 to, Port& o, u32 port, u32 vc, Flit flit) {
  lines[channel.line].push({to, flit});
  o.flits++;
  Observers<kPlain>(f).sent(port, vc, flit, 1, channel.flit_cycles);
}

}  // namespace flitgym
