// The switch of a router as its allocation sees it: who asks for which output, whether there is room, and what a grant
// moves. switch_allocation.cpp alone includes this; it says in which order who is asked.
#pragma once

#include <algorithm>
#include <bit>

#include "stage/train.hpp"

namespace flitgym::switching {

// What the compiler may know of a configuration: each combination in use gets its own straight code.
template <bool kPlain_, bool kOutputBuffers_, bool kSingleFlit_, bool kOneCycle_, u32 kWords_, bool kBubble_ = false,
          bool kWhole_ = false>
struct Shape {
  // nobody looks on or senses how full VCs are, no head chooses again
  static constexpr bool kPlain = kPlain_;
  static constexpr bool kOutputBuffers = kOutputBuffers_;  // else the crossbar drives the channels
  static constexpr bool kSingleFlit = kSingleFlit_;        // every packet is one flit, and no VC is held
  static constexpr bool kOneCycle = kOneCycle_;            // nothing in the switch is busy for longer; else it may be
  static constexpr u32 kWords = kWords_;                   // mask words that a router's input VCs fill, 0: any number
  static constexpr bool kBubble = kBubble_;                // bubble flow control; else no packet enters a ring
  static constexpr bool kWhole = kWhole_;                  // packets keep together
};

// A request in one number: bit of the input VC within its router, output port.
inline constexpr u32 kPortBits = std::bit_width(kMaxRadix - 1), kPortMask = kMaxRadix - 1;
static_assert(kMaxRadix * kMaxVcs <= 1u << (32 - kPortBits));

// The arrays a grant touches, fetched once per cycle.
struct Fabric {
  explicit Fabric(Frame& frame)
      : f(frame), net(frame.net), s(frame.s), input_vcs(s.input_vcs.data()), output_vcs(s.output_vcs.data()),
        ports(s.ports.data()), channels(net.channels.data()), requests(s.requests.data()),
        asked(s.outputs_asked.data()), stamps(s.stamps.data()), next(s.next.data()), packets(s.packets.data()),
        credit_lines(f.part.credit_lines.lines.data()), flit_lines(f.part.flit_lines.lines.data()),
        vc_shift(net.vc_shift), radix_shift(net.radix_shift), words(net.request_words), asked_words(net.asked_words),
        depth(net.router.output_depth), crossbar_cycles(net.router.crossbar_cycles), now(frame.now),
        by_age(net.router.arbiter == Arbiter::kAge), learns(net.learns), multi_cycle(net.router.multi_cycle_switch) {}
  Frame& f;
  const Network& net;
  State& s;
  InputVc* const input_vcs;
  OutputVc* const output_vcs;
  Port* const ports;
  const Channel* const channels;
  u64* const requests;
  u64* const asked;
  u32* const stamps;
  Flit* const next;
  Packet* const packets;
  DelayLine<CreditEvent>* const credit_lines;
  DelayLine<FlitEvent>* const flit_lines;
  const u32 vc_shift, radix_shift, words, asked_words, depth, crossbar_cycles;
  const Cycle now;
  const bool by_age, learns, multi_cycle;
};

// And a router's part of them. `bit` numbers its input VCs, as the request masks do.
struct Router {
  Router(const Fabric& x, u32 router)
      : id(router), first_port(router << x.radix_shift), first_vc(first_port << x.vc_shift),
        inputs(&x.input_vcs[first_vc]), outputs(&x.output_vcs[first_vc]), ports(&x.ports[first_port]),
        channels(&x.channels[first_port]), requests(&x.requests[std::size_t{first_port} * x.words]),
        asked(&x.asked[router * x.asked_words]) {}
  const u32 id, first_port, first_vc;
  InputVc* const inputs;    // by bit
  OutputVc* const outputs;  // by local port << vc_shift | vc
  Port* const ports;        // by local port, as the others
  const Channel* const channels;
  u64* const requests;
  u64* const asked;

  template <class S>
  __attribute__((always_inline)) u64* mask(const Fabric& x, u32 out_port) const {
    return &requests[out_port * (S::kWords ? S::kWords : x.words)];
  }
  // visit(output port) for each that is asked for, from port `start` on and round; nearly all routers have one word of
  // ports.
  template <bool kFewPorts, class Visit>
  __attribute__((always_inline)) void each_asked(const Fabric& x, u32 start, Visit&& visit) const {
    if constexpr (kFewPorts) {
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
  template <bool kFewPorts>
  bool any_asked(const Fabric& x) const {
    if constexpr (kFewPorts) return *asked != 0;
    return std::any_of(asked, asked + x.asked_words, [](u64 word) { return word != 0; });
  }
  template <class S>
  __attribute__((always_inline)) void clear_request(const Fabric& x, u32 out_port, u32 bit) const {
    u64* const own = mask<S>(x, out_port);
    if constexpr (S::kWords == 1) {  // so do its ports
      if (!(own[0] &= ~(u64{1} << bit))) *asked &= ~(u64{1} << out_port);
    } else {
      u64 left = own[bit / 64] &= ~(u64{1} << (bit % 64));
      for (u32 k = 0; k < (S::kWords ? S::kWords : x.words); k++) left |= own[k];
      if (!left) asked[out_port / 64] &= ~(u64{1} << (out_port % 64));
    }
  }
};

// Are the ports of the crossbar taken for a time? With bubble flow control State has the times in any case.
template <class S>
inline __attribute__((always_inline)) bool timed(const Fabric& x) {
  return !S::kOneCycle && (S::kBubble || x.multi_cycle);
}
template <class S>
inline __attribute__((always_inline)) bool busy(const Fabric& x, Cycle until) {
  return timed<S>(x) && !passed(until, x.now);
}

// An input VC that asks for an output.
struct Request {
  Request(const Fabric& x, const Router& at, u32 out_port_, u32 bit_)
      : out_port(out_port_), bit(bit_), in(&at.inputs[bit]), out(&at.outputs[out_port << x.vc_shift | in->out_vc]) {}
  const u32 out_port, bit;
  InputVc* const in;
  OutputVc* const out;
};

// Bubble flow control (Puente et al., ICPP 1999): a packet enters a ring, from a terminal or from another ring, only
// where there is room for one more behind it. So each ring always has room for a packet somewhere, and what is in it
// can go on (see routing/torus/dimension_order.cpp). Packets are of one size.
inline u32 slots_to_spare(const Fabric& x, const InputVc& in, u32 in_port, u32 out_port) {
  const u16 ring = x.net.ring_of_output[out_port];
  return ring == kNoRing || in.sent > 0 || x.net.ring_of_input[in_port] == ring ? 0 : x.net.most_packet_flits;
}

// Can the flit in front go to its output VC now? If there is no room, the request is parked.
template <class S>
inline __attribute__((always_inline)) bool has_room(const Fabric& x, const Router& at, const Request& request) {
  const u32 out_port = request.out_port, bit = request.bit, v = at.first_vc | bit;
  InputVc& in = *request.in;
  OutputVc& out = *request.out;
  const u32 room = S::kOutputBuffers ? x.depth - out.count : out.credits;
  bool owned = false;
  if constexpr (S::kSingleFlit) {
    if (room > 0) [[likely]]
      return true;
  } else {
    const auto fits = [&] {
      if constexpr (S::kBubble)
        return room >= slots_needed(x.f, in) + slots_to_spare(x, in, bit >> x.vc_shift, out_port);
      return room >= slots_needed(x.f, in);
    };
    if (x.net.router.separate_vc_allocation && in.sent == 0) {
      // Won: the switch can be asked for from the next cycle on. Who may not enter its ring yet must not hold up those
      // in it.
      if (out.owner == kNone && (!S::kBubble || fits())) {
        out.owner = v;
        out.owned_since = x.now;
      }
      if (out.owner == v && out.owned_since == x.now) return false;
      owned = out.owner != v && (!S::kBubble || out.owner != kNone);
    } else {
      owned = in.sent == 0 && out.owner != kNone;
    }
    if (!owned && fits()) [[likely]]
      return true;
  }
  at.clear_request<S>(x, out_port, bit);
  // it may choose another output: nobody waits for this one
  if (!S::kPlain && x.net.routing_facts.reroutes && in.sent == 0) {
    in.routed = 0;
    if (x.net.accounted_jobs) workload::account_unrouted(x.f, v, at.first_port | out_port);
    x.f.part.route_list.push_back(v);
    return false;
  }
  if (!S::kOutputBuffers && !owned) begin_stall(x.f, at.ports[out_port]);
  park(x.f, out, v);
  return false;
}

// A packet that keeps together wins the switch: all that comes of it at once (train.hpp).
template <class S>
inline __attribute__((always_inline)) void grant_packet(const Fabric& x, const Router& at, const Request& request) {
  const Network& net = x.net;
  const u32 out_port = request.out_port, bit = request.bit, in_port = bit >> x.vc_shift,
            in_vc = bit & ((1u << x.vc_shift) - 1);
  InputVc& in = *request.in;
  const u32 vc = in.out_vc, v = at.first_vc | bit, output = at.first_port | out_port, id = packet_of(in.front);
  OutputVc& out = *request.out;
  Port& o = at.ports[out_port];
  const Channel &back = at.channels[in_port], &channel = at.channels[out_port];
  Packet& p = x.packets[id];
  const u32 flits = p.flits;

  const Flit packet = pop_packet(in, x.next, flits);
  if (packet & kWatched) [[unlikely]]
    watch(x.f, packet | kHead, "wins the switch to", output, vc);
  x.credit_lines[back.credit_line].push({back.peer << x.vc_shift | in_vc, static_cast<u16>(flits), p.job});
  in.routed = 0;
  if (net.accounted_jobs) workload::account_left(x.f, v, output, id);
  at.clear_request<S>(x, out_port, bit);
  if (x.learns) answer(x.f, back, id);
  if (in.front != kNone) {
    __builtin_prefetch(&x.packets[packet_of(in.front)], 1);
    request_next_route(x.f, v);
  }
  if (net.router.separate_vc_allocation) out.owner = kNone;
  if (out.parked != kNone && (net.router.separate_vc_allocation || x.by_age)) wake_parked(x.f, out);
  x.f.part.totals.moves += flits;

  // The crossbar's ports stay with it until its tail has passed; without output buffers it passes onto the channel.
  const u32 flit_cycles = S::kOutputBuffers ? x.crossbar_cycles : std::max(x.crossbar_cycles, channel.flit_cycles);
  const bool follows = net.router.flit_by_flit && flits > 1;
  if (follows) [[unlikely]]
    follow_through_crossbar(x.f, v, output << x.vc_shift | vc, id);
  Cycle last;
  if constexpr (S::kOutputBuffers) {
    last = tail_passes(p, x.now, x.crossbar_cycles);
    p.tail = last + 1;
    enqueue_packet(x.f, o, out, output, vc, packet, flits, 1);
    if (x.f.sensed) x.f.sensed[net.sensed.at(output, vc)] += static_cast<u16>(flits * net.sensed.queue());
  } else {
    if (o.stalled) end_stall(x.f, o);
    if (channel.kind != PortKind::kTerminal) {
      out.credits = static_cast<u16>(out.credits - flits);
      o.load += flits;
      if (x.f.sensed) x.f.sensed[net.sensed.at(output, vc)] += static_cast<u16>(flits * net.sensed.slots());
    }
    last = start_on_channel(x.f, o, output, vc, packet, flit_cycles);
  }
  at.ports[in_port].input_busy_until = follows ? kHeld : last + x.crossbar_cycles;
  o.output_busy_until = follows ? kHeld : last + flit_cycles;
}

template <class S>
inline __attribute__((always_inline)) void grant(const Fabric& x, const Router& at, const Request& request) {
  if constexpr (S::kWhole) return grant_packet<S>(x, at, request);
  const Network& net = x.net;
  State& s = x.s;
  const u32 out_port = request.out_port, bit = request.bit, in_port = bit >> x.vc_shift,
            in_vc = bit & ((1u << x.vc_shift) - 1);
  InputVc& in = *request.in;
  const u32 vc = in.out_vc, v = at.first_vc | bit, output = at.first_port | out_port;
  OutputVc& out = *request.out;
  Port& o = at.ports[out_port];
  const Channel &back = at.channels[in_port], &channel = at.channels[out_port];

  const Flit flit = pop_flit<S::kSingleFlit>(in, x.next, x.packets);
  const bool head = S::kSingleFlit || (flit & kHead), tail = S::kSingleFlit || (flit & kTail);
  if (!S::kPlain && (flit & kWatched)) [[unlikely]]
    watch(x.f, flit, "wins the switch to", output, vc);

  // The freed slot goes back upstream as a credit. Whose it was, matters to accounts alone.
  const u16 job = S::kPlain ? u16{0} : x.packets[packet_of(flit)].job;
  if (S::kSingleFlit || !net.router.packet_credits) {
    x.credit_lines[back.credit_line].push({back.peer << x.vc_shift | in_vc, 1, job});
  } else if (tail) {
    x.credit_lines[back.credit_line].push(
        {back.peer << x.vc_shift | in_vc, head ? u16{1} : x.packets[packet_of(flit)].flits, job});
  }

  if (head && x.learns) answer(x.f, back, packet_of(flit));
  if (tail) {
    in.routed = 0;
    if (!S::kPlain && net.accounted_jobs) workload::account_left(x.f, v, output, packet_of(flit));
    at.clear_request<S>(x, out_port, bit);
    if (in.count > 0) {
      __builtin_prefetch(&s.packets[packet_of(in.front)], 1);
      request_next_route(x.f, v);
    }
    if (!S::kSingleFlit) {
      const bool owned = !head || net.router.separate_vc_allocation;
      if (owned) out.owner = kNone;
      // By age one is woken at a time, and there may be room for the next.
      if (out.parked != kNone && (owned || net.router.arbiter == Arbiter::kAge)) wake_parked(x.f, out);
    }
  } else {
    if (in.count == 0) at.clear_request<S>(x, out_port, bit);
    out.owner = v;
  }

  x.f.part.totals.moves++;
  if (timed<S>(x)) {
    at.ports[in_port].input_busy_until = x.now + x.crossbar_cycles;
    o.output_busy_until =
        x.now + (S::kOutputBuffers ? x.crossbar_cycles : std::max(x.crossbar_cycles, channel.flit_cycles));
  }
  if constexpr (S::kOutputBuffers) {
    enqueue_output<S::kSingleFlit>(x.f, o, out, x.next, output, vc, flit, 1);
    if (!S::kPlain && x.f.sensed) x.f.sensed[net.sensed.at(output, vc)] += net.sensed.queue();
  } else {
    if (o.stalled) end_stall(x.f, o);
    if (channel.kind != PortKind::kTerminal) {
      out.credits--;
      o.load++;
      if (!S::kPlain && x.f.sensed) x.f.sensed[net.sensed.at(output, vc)] += net.sensed.slots();
    }
    put_on_channel<S::kPlain>(x.f, x.flit_lines, channel, channel.peer << x.vc_shift | vc, o, output, vc, flit);
  }
}

}  // namespace flitgym::switching
