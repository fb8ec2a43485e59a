// Data and functions of switch allocation in a router: the requests for each output, the room at that output, and the
// grant of a request. The including file decides the order in which requests are considered.
#pragma once

#include "core/stage/credit_queue.hpp"
#include "core/stage/train.hpp"

namespace flitgym::switching {

// Facts about a router and a run as compile-time constants. The compiler generates separate code for each shape in use.
struct Shape {
  bool plain = false;  // no watched packet and no accounts of jobs (frame.hpp), no sensed occupancies, no head that
                       // is routed again; false: read at run time
  bool output_buffers = false;  // false: the crossbar drives the channels
  bool single_flit = false;     // every packet has one flit, and no packet holds an output VC
  bool one_cycle = false;       // crossbar ports are busy for one cycle per flit; false: read at run time
  bool few_ports = false;       // the mask of output ports is one word (up to 64 ports); false: any number of words
  bool bubble = false;          // bubble flow control; false: packets enter no rings
  bool whole_packets = false;   // packets keep together (train.hpp)
  bool per_vc = false;          // every input VC and output VC has a crossbar port
  bool queued_credits = false;  // an input sends one credit per flit time (credit_queue.hpp)
  u32 mask_words = 0;           // 64-bit words of the mask of input VCs; 0: read at run time
};

// A request packed into one number: the upper bits number the input VC within its router, the lower bits the output
// port.
inline constexpr u32 kPortBits = std::bit_width(kMaxRadix - 1), kPortMask = kMaxRadix - 1;
static_assert(kMaxRadix * kMaxVcs <= 1u << (32 - kPortBits));

// The arrays that a grant touches, fetched once per cycle.
struct Fabric {
  explicit Fabric(Frame& frame) : f(frame) {}
  Frame& f;
  const Network& net = f.net;
  State& s = f.s;
  InputVc* const input_vcs = s.input_vcs.data();
  OutputVc* const output_vcs = s.output_vcs.data();
  Port* const ports = s.ports.data();
  const Channel* const channels = net.channels.data();
  u64* const requests = s.requests.data();
  u64* const asked = s.outputs_asked.data();
  u32* const served = s.served.data();
  u32* const owners = s.owners.data();
  u32* const stamps = s.stamps.data();
  Flit* const next = s.next.data();
  Packet* const packets = s.packets.data();
  DelayLine<CreditEvent>* const credit_lines = f.part.credit_lines.lines.data();
  DelayLine<FlitEvent>* const flit_lines = f.part.flit_lines.lines.data();
  const u32 vc_shift = net.vc_shift, radix_shift = net.radix_shift, words = net.request_words;
  const u32 asked_words = net.asked_words, depth = net.router.output_depth;
  const u32 crossbar_cycles = net.router.crossbar_cycles;
  const Cycle now = f.now;
  const bool by_age = net.router.arbiter == Arbiter::kAge;
  // this value, OR-ed to a credit count, removes the limit by credits unless the switch takes the credits
  const u32 uncharged = net.router.charged_at_switch ? 0 : 0xffff;
  const bool learns = net.learns, multi_cycle = net.router.multi_cycle_switch;
  // Heads that request a route in the next cycle, written without branches; null if the router has a pipeline.
  u32* const again = net.router.pipeline_cycles == 0 ? f.w.again.data() : nullptr;
  mutable u32 again_count = 0;
};

// A router's part of these arrays. `bit` is the number of an input VC in the router, as in the request masks.
template <Shape kShape>
struct Router {
  Router(const Fabric& fabric, u32 router) : x(fabric), id(router) {}
  const Fabric& x;
  const u32 id, first_port = id << x.radix_shift, first_vc = first_port << x.vc_shift;
  InputVc* const inputs = &x.input_vcs[first_vc];                        // by bit
  OutputVc* const outputs = &x.output_vcs[first_vc];                     // by local port << vc_shift | vc
  Port* const ports = &x.ports[first_port];                              // by local port
  const Channel* const channels = &x.channels[first_port];               // by local port
  u64* const requests = &x.requests[std::size_t{first_port} * x.words];  // by local output port: mask of input VCs
  u64* const asked = &x.asked[id * x.asked_words];                       // mask of output ports with a request

  __attribute__((always_inline)) u32 words() const { return kShape.mask_words ? kShape.mask_words : x.words; }
  __attribute__((always_inline)) u64* mask(u32 out_port) const { return &requests[out_port * words()]; }

  // Calls visit(output port) for each port with a request, in cyclic order from port `start`.
  template <class Visit>
  __attribute__((always_inline)) void each_asked(u32 start, Visit&& visit) const {
    if constexpr (kShape.few_ports) {
      for (u64 turn = std::rotr(*asked, static_cast<int>(start)); turn; turn &= turn - 1)
        visit((static_cast<u32>(__builtin_ctzll(turn)) + start) & 63);
      return;
    }
    const u32 first = start / 64;
    const u64 later = ~u64{0} << (start % 64);
    for (u32 k = 0; k <= x.asked_words; k++) {
      const u32 word = (first + k) % x.asked_words;
      for (u64 turn = asked[word] & (k == 0 ? later : k == x.asked_words ? ~later : ~u64{0}); turn; turn &= turn - 1)
        visit(word * 64 + static_cast<u32>(__builtin_ctzll(turn)));
    }
  }
  // Calls visit(bit) for each input VC in the mask of an output.
  template <class Visit>
  __attribute__((always_inline)) void each_request(u32 out_port, Visit&& visit) const {
    for (u32 word = 0; word < words(); word++)
      for (u64 m = mask(out_port)[word]; m; m &= m - 1) visit(word * 64 + static_cast<u32>(__builtin_ctzll(m)));
  }
  bool any_asked() const {
    if constexpr (kShape.few_ports) return *asked != 0;
    return std::any_of(asked, asked + x.asked_words, [](u64 word) { return word != 0; });
  }
  __attribute__((always_inline)) void clear_request(u32 out_port, u32 bit) const {
    if constexpr (kShape.per_vc) out_port = 0;  // Network::request_mask
    u64* const own = mask(out_port);
    // With one word of input VCs, there are at most 64 ports. So the mask of ports has one word, too.
    if constexpr (kShape.mask_words == 1) {
      const u64 left = own[0] &= ~(u64{1} << bit);
      *asked &= ~(u64{left == 0} << out_port);  // without a branch, which would often be mispredicted
    } else {
      u64 left = own[bit / 64] &= ~(u64{1} << (bit % 64));
      for (u32 k = 0; k < words(); k++) left |= own[k];
      if (!left) asked[out_port / 64] &= ~(u64{1} << (out_port % 64));
    }
  }

  // Whether crossbar ports stay busy after a grant. The shape for bubble flow control does not read multi_cycle.
  __attribute__((always_inline)) bool timed() const {
    return !kShape.one_cycle && !kShape.per_vc && (kShape.bubble || x.multi_cycle);
  }
  __attribute__((always_inline)) bool busy(Cycle until) const { return timed() && !passed(until, x.now); }
};

// A request of an input VC for an output.
struct Request {
  template <Shape kShape>
  Request(const Router<kShape>& at, u32 out_port_, u32 bit_)
      : out_port(out_port_), bit(bit_), in(&at.inputs[bit]), out(&at.outputs[out_port << at.x.vc_shift | in->out_vc]) {}
  const u32 out_port, bit;
  InputVc* const in;
  OutputVc* const out;
};

// Bubble flow control (Puente et al., ICPP 1999): a packet that enters a ring, from a terminal or from another ring,
// must leave room for one more packet. So a ring never fills up, and its packets can always advance
// (see routing/torus/dimension_order.cpp). All packets have the same size.
inline u32 slots_to_spare(const Fabric& x, const InputVc& in, u32 in_port, u32 out_port) {
  const u16 ring = x.net.ring_of_output[out_port];
  return ring == kNoRing || in.sent > 0 || x.net.ring_of_input[in_port] == ring ? 0 : x.net.most_packet_flits;
}

// Whether the flit in front can go to its output VC now. A request without room is parked.
template <Shape kShape>
inline __attribute__((always_inline)) bool has_room(const Router<kShape>& at, const Request& request) {
  const Fabric& x = at.x;
  const u32 out_port = request.out_port, bit = request.bit, v = at.first_vc | bit;
  InputVc& in = *request.in;
  OutputVc& out = *request.out;
  const u32 output_vc = at.first_vc | out_port << x.vc_shift | in.out_vc;
  const u32 room = kShape.output_buffers ? std::min<u32>(x.depth, out.credits | x.uncharged) - out.count : out.credits;
  bool owned = false;
  if constexpr (kShape.single_flit) {
    if (room > 0) [[likely]]
      return true;
  } else {
    const auto fits = [&] {
      if constexpr (kShape.bubble)
        return room >= slots_needed(x.f, in) + slots_to_spare(x, in, bit >> x.vc_shift, out_port);
      return room >= slots_needed(x.f, in);
    };
    if (x.net.router.separate_vc_allocation && in.sent == 0) {
      u32& owner = x.owners[output_vc];
      if (x.net.router.parallel_vc_allocation && owner != v) return false;  // allocate_vcs() considers it again
      // A head that wins the output VC requests the switch from the next cycle on. A packet that may not enter its ring
      // yet must not block the packets in the ring, so it does not win the VC.
      if (owner == kNone && (!kShape.bubble || fits())) {
        owner = v;
        x.s.owned_since[output_vc] = x.now;
      }
      if (owner == v && x.s.owned_since[output_vc] == x.now) return false;
      owned = owner != v && (!kShape.bubble || owner != kNone);
    } else if (!kShape.whole_packets) {  // a packet that keeps together never holds a VC from one cycle to the next
      owned = in.sent == 0 && x.owners[output_vc] != kNone;
    }
    if (!owned && fits()) [[likely]]
      return true;
  }
  at.clear_request(out_port, bit);
  // The head chooses its output again, so it does not wait for this one.
  if (!kShape.plain && x.net.routing_facts.reroutes && in.sent == 0) {
    in.out_vc = kNoVc;
    Observers(x.f).unrouted(v, at.first_port | out_port);
    x.f.part.route_list.push_back(v);
    return false;
  }
  if ((!kShape.output_buffers || x.uncharged == 0) && !owned && !kShape.per_vc) begin_stall(x.f, at.ports[out_port]);
  park(x.f, out, v);
  return false;
}

// VC allocation of router.vc_allocation=parallel. Each head that has no output VC gets the free VC of its class with
// the most room. The heads of an output take turns as in switch allocation. A head that has got a VC requests the
// switch from the next cycle on.
template <Shape kShape>
inline void allocate_vcs(const Router<kShape>& at) {
  const Fabric& x = at.x;
  const u32 words = at.words();
  at.each_asked(0, [&](u32 out_port) {
    OutputVc* const own = &at.outputs[out_port << x.vc_shift];
    const u32 first_vc = at.first_vc | out_port << x.vc_shift;
    u32* const owners = &x.owners[first_vc];
    const u32 from = at.ports[out_port].next_request,
              step = at.channels[out_port].kind == PortKind::kTerminal ? 1 : x.net.routing_facts.classes;
    const u64 later = ~u64{0} << (from % 64);
    for (u32 k = 0; k <= words; k++) {
      const u32 word = (from / 64 + k) % words;
      for (u64 m = at.mask(out_port)[word] & (k == 0 ? later : k == words ? ~later : ~u64{0}); m; m &= m - 1) {
        const u32 bit = word * 64 + static_cast<u32>(__builtin_ctzll(m)), v = at.first_vc | bit;
        InputVc& in = at.inputs[bit];
        if (in.sent > 0 || owners[in.out_vc] == v) continue;
        u32 best = kNone;
        const u32 first = in.out_vc / x.net.class_vcs * x.net.class_vcs;  // of its traffic class
        for (u32 vc = first + in.out_vc % step; vc < first + x.net.class_vcs; vc += step)
          if (owners[vc] == kNone &&
              (best == kNone || own[vc].credits - own[vc].count > own[best].credits - own[best].count))
            best = vc;
        if (best == kNone) continue;
        in.out_vc = static_cast<u16>(best);
        owners[best] = v;
        x.s.owned_since[first_vc | best] = x.now;
      }
    }
  });
}

// A request wins the switch. If packets keep together, all flits of the packet are accounted for at once (train.hpp).
template <Shape kShape>
inline __attribute__((always_inline)) void grant(const Router<kShape>& at, const Request& request) {
  constexpr bool kWhole = kShape.whole_packets;
  const Fabric& x = at.x;
  const Network& net = x.net;
  State& s = x.s;
  const u32 out_port = request.out_port, bit = request.bit, in_port = bit >> x.vc_shift,
            in_vc = bit & ((1u << x.vc_shift) - 1);
  InputVc& in = *request.in;
  const u32 vc = in.out_vc, v = at.first_vc | bit, output = at.first_port | out_port;
  OutputVc& out = *request.out;
  Port& o = at.ports[out_port];
  const Channel &back = at.channels[in_port], &channel = at.channels[out_port];
  const Observers<kShape.plain> observers(x.f);

  const u32 flits = kWhole ? x.packets[packet_of(in.front)].flits : 1;
  const Flit flit =
      kWhole ? pop_packet(in, x.next, flits) | kHead : pop_flit<kShape.single_flit>(in, x.next, x.packets);
  const u32 id = packet_of(flit);
  const bool head = kWhole || kShape.single_flit || (flit & kHead),
             tail = kWhole || kShape.single_flit || (flit & kTail);
  observers.log(flit, "wins the switch to", output, vc);

  // The freed slots go back upstream as a credit. Only the accounts of jobs read the field `job` of a credit.
  const u16 job = kShape.plain ? u16{0} : static_cast<u16>(workload::account_of(net, x.packets[id]));
  if constexpr (kShape.queued_credits) {
    islip_port(net, net.islip.of(s), at.first_port | in_port).push_credit(in_vc, job);
  } else if (kWhole || kShape.single_flit || !net.router.packet_credits) {
    x.credit_lines[back.credit_line].push({back.peer << x.vc_shift | in_vc, static_cast<u16>(flits), job});
  } else if (tail) {
    x.credit_lines[back.credit_line].push({back.peer << x.vc_shift | in_vc, head ? u16{1} : x.packets[id].flits, job});
  }

  if (head && x.learns) answer(x.f, back, id);
  if (tail) {
    in.out_vc = kNoVc;
    observers.left(v, output, id);
    at.clear_request(out_port, bit);
    if (kShape.single_flit && kShape.plain && x.again) {
      // A prefetch of an unmapped address takes as long as a walk of the page tables.
      __builtin_prefetch(&s.packets[packet_of(in.front == kNone ? flit : in.front)], 1);
      x.again[x.again_count] = v;
      x.again_count += in.count > 0;
    } else if (in.count > 0) {
      __builtin_prefetch(&s.packets[packet_of(in.front)], 1);
      request_next_route(x.f, v);
    }
    if (!kShape.single_flit) {
      const bool owned = !head || net.router.separate_vc_allocation;
      if (owned) x.owners[output << x.vc_shift | vc] = kNone;
      // The age arbiter wakes one request at a time, and there may be room for the next request.
      if (out.parked != kNoVc && (owned || x.by_age)) wake_parked(x.f, out);
    }
  } else {
    if (in.count == 0 && !kShape.per_vc) at.clear_request(out_port, bit);
    x.owners[output << x.vc_shift | vc] = v;
  }
  x.f.part.totals.moves += flits;

  // Without output buffers, the crossbar drives the channel, and the flits take slots downstream.
  const u32 flit_cycles = kShape.output_buffers ? x.crossbar_cycles : std::max(x.crossbar_cycles, channel.flit_cycles);
  if constexpr (!kShape.output_buffers) {
    if (o.stalled) end_stall(x.f, o);
    const bool credits = channel.kind != PortKind::kTerminal || (!kWhole && net.router.terminal_credits);
    const u16 slots = credits ? static_cast<u16>(flits) : u16{0};
    out.credits = static_cast<u16>(out.credits - slots);
    o.load += slots;
    observers.downstream(output, vc, slots);
  } else {
    observers.output_queue(output, vc, flits);
  }
  if constexpr (kWhole) {  // the crossbar's ports stay with the packet until its tail has passed
    Packet& p = x.packets[id];
    const Flit packet = flit & ~kHead;
    Cycle last;
    if constexpr (kShape.output_buffers) {
      last = tail_passes(p, x.now, x.crossbar_cycles);
      p.tail = last + 1;
      push_packet(out, x.next, packet, flits);
      queue_grows(x.f, o, out, output, vc, flits, 1);
    } else {
      last = start_on_channel(x.f, o, output, vc, packet, flit_cycles);
    }
    at.ports[in_port].input_busy_until = last + x.crossbar_cycles;
    o.output_busy_until = last + flit_cycles;
    return;
  }
  if (at.timed()) {
    at.ports[in_port].input_busy_until = x.now + x.crossbar_cycles;
    o.output_busy_until = x.now + flit_cycles;
  }
  if constexpr (kShape.output_buffers) {
    push_flit<kShape.single_flit>(out, x.next, flit);
    queue_grows(x.f, o, out, output, vc, 1, 1);
  } else {
    put_on_channel<kShape.plain>(x.f, x.flit_lines, channel, channel.peer << x.vc_shift | vc, o, output, vc, flit);
  }
}

}  // namespace flitgym::switching
