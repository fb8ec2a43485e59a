// Switch allocation: which input VCs move a flit through the crossbar in this cycle.
//
// A head wins its output VC together with the switch (VC allocation is part of the same grant); until its tail has
// followed, the output VC is owned by that input VC. A request that fails for lack of space downstream is parked with
// the output VC it waits for and costs nothing until space comes up.
#include <algorithm>
#include <bit>
#include <tuple>

#include "stage/train.hpp"

namespace flitgym {

namespace {

// What the compiler may know of a configuration: each combination that occurs gets its own straight code.
template <bool kPlain_, bool kOutputBuffers_, bool kSingleFlit_, bool kOneCycle_, u32 kWords_, bool kBubble_ = false,
          bool kWhole_ = false>
struct Shape {
  // nobody looks on or senses how full VCs are, no head chooses again
  static constexpr bool kPlain = kPlain_;
  static constexpr bool kOutputBuffers = kOutputBuffers_;  // else the crossbar drives the channels
  static constexpr bool kSingleFlit = kSingleFlit_;        // every packet is one flit, and no VC is held
  static constexpr bool kOneCycle = kOneCycle_;            // nothing in the switch is busy for more than a cycle
  static constexpr u32 kWords = kWords_;                   // mask words that a router's input VCs fill, 0: any number
  static constexpr bool kBubble = kBubble_;                // bubble flow control; else no packet enters a ring
  static constexpr bool kWhole = kWhole_;                  // packets keep together
};

// A request in one number: bit of the input VC within its router, output port.
constexpr u32 kPortBits = std::bit_width(kMaxRadix - 1), kPortMask = kMaxRadix - 1;
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
        by_age(net.router.arbiter == Arbiter::kAge), learns(net.learns) {}
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
  const bool by_age, learns;
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
// can go on (see routing/dimension_order_torus.cpp). Packets are of one size.
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
    if (x.net.accounted_jobs) account_unrouted(x.f, v, at.first_port | out_port);
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
  if (net.accounted_jobs) account_left(x.f, v, output, id);
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
    if (!S::kPlain && net.accounted_jobs) account_left(x.f, v, output, packet_of(flit));
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
  if constexpr (!S::kOneCycle) {
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

// Round robin at each output over the (input, VC) pairs that ask for it. The outputs take their turns in an order that
// rotates with the cycle, and an input that was granted is out for the others: a separable output-first allocator whose
// input stage ripples, so that the matching is maximal (Dally & Towles, 19.3-19.4).
template <class S, bool kFewPorts>
inline __attribute__((always_inline)) void round_robin(const Fabric& x, const Router& at) {
  const u64 group_mask = (u64{1} << (1u << x.vc_shift)) - 1;
  const u32 words = S::kWords ? S::kWords : x.words, start = kFewPorts ? x.now & 63 : x.now % (x.asked_words * 64);
  u64 used[S::kWords ? S::kWords : kMaxRadix * kMaxVcs / 64];
  for (u32 k = 0; k < words; k++) used[k] = 0;
  // No grant bears on another output's choice. Where much is to be looked at they come after all choices, when their
  // queues are in the cache.
  constexpr bool kAtOnce = S::kPlain && S::kSingleFlit;
  u32 winners[kAtOnce ? 1 : kMaxRadix], count = 0;

  at.each_asked<kFewPorts>(x, start, [&](u32 out_port) __attribute__((always_inline)) {
    Port& o = at.ports[out_port];
    if (!S::kOneCycle && !passed(o.output_busy_until, x.now)) return;
    const u64* const mask = at.mask<S>(x, out_port);
    const u32 from = o.next_request;

    // The requests from next_request on, then those before it; a word at a time.
    u32 bit = kNone;
    if constexpr (S::kWords == 1 && S::kOneCycle) {
      for (u64 m = mask[0] & ~used[0]; m;) {
        const u64 later = m >> from << from;
        const u32 candidate = static_cast<u32>(__builtin_ctzll(later ? later : m));
        const Request request(x, at, out_port, candidate);
        if (has_room<S>(x, at, request)) [[likely]] {
          bit = candidate;
          if constexpr (kAtOnce) grant<S>(x, at, request);
          break;
        }
        m &= ~(u64{1} << candidate);
      }
    } else {
      u32 word = from / 64, k = 0;
      for (u64 m = (mask[word] & ~used[word]) >> (from % 64) << (from % 64);;) {
        if (m == 0) {
          if (k++ == words) break;
          word = S::kWords == 1 ? 0 : (word + 1) & (words - 1);
          m = mask[word] & ~used[word];
          if (k == words) m &= (u64{1} << (from % 64)) - 1;
          continue;
        }
        const u32 candidate = word * 64 + static_cast<u32>(__builtin_ctzll(m));
        m &= m - 1;
        if (!S::kOneCycle && !passed(at.ports[candidate >> x.vc_shift].input_busy_until, x.now)) continue;
        const Request request(x, at, out_port, candidate);
        if (!has_room<S>(x, at, request)) continue;
        bit = candidate;
        if constexpr (kAtOnce) grant<S>(x, at, request);
        break;
      }
    }
    if (bit == kNone) return;
    used[bit / 64] |= group_mask << (bit % 64 >> x.vc_shift << x.vc_shift);
    o.next_request = static_cast<u16>((bit + 1) & (words * 64 - 1));
    if constexpr (!kAtOnce) winners[count++] = bit << kPortBits | out_port;
  });
  for (u32 k = 0; k < count; k++) grant<S>(x, at, Request(x, at, winners[k] & kPortMask, winners[k] >> kPortBits));
}

// In order of priority: the whole router's requests, best first, each granted if its input and output are still free.
// Least recently served is the rule of Merlin's hr_router (xbar_arb_lru.h): one list of (input, VC) pairs; those served
// go to its end, the first served of a cycle last.
template <class S, bool kFewPorts>
void by_priority(const Fabric& x, const Router& at) {
  const u32 words = S::kWords ? S::kWords : x.words;
  u64 keys[kMaxRadix * kMaxVcs];
  u32 n = 0;
  at.each_asked<kFewPorts>(x, 0, [&](u32 out_port) {
    if (!S::kOneCycle && !passed(at.ports[out_port].output_busy_until, x.now)) return;
    const u64* const mask = at.mask<S>(x, out_port);
    for (u32 word = 0; word < words; word++)
      for (u64 m = mask[word]; m; m &= m - 1) {
        const u32 bit = word * 64 + static_cast<u32>(__builtin_ctzll(m));
        if (!S::kOneCycle && !passed(at.ports[bit >> x.vc_shift].input_busy_until, x.now)) continue;
        const Request request(x, at, out_port, bit);
        if (!has_room<S>(x, at, request)) continue;
        // Insertion keeps the few keys sorted: rank, then input and VC.
        const u64 key = u64{request.in->served} << 32 | bit << kPortBits | out_port;
        u32 k = n++;
        for (; k > 0 && keys[k - 1] > key; k--) keys[k] = keys[k - 1];
        keys[k] = key;
      }
  });

  u64 inputs[kFewPorts ? 1 : kMaxRadix / 64], outputs[kFewPorts ? 1 : kMaxRadix / 64];
  std::fill_n(inputs, kFewPorts ? 1 : x.asked_words, u64{0});
  std::fill_n(outputs, kFewPorts ? 1 : x.asked_words, u64{0});
  u32 served = 0;
  for (u32 k = 0; k < n; k++) {
    const u32 bit = static_cast<u32>(keys[k]) >> kPortBits, out_port = keys[k] & kPortMask, in_port = bit >> x.vc_shift;
    u64 &input = inputs[kFewPorts ? 0 : in_port / 64], &output = outputs[kFewPorts ? 0 : out_port / 64];
    if ((input >> (in_port % 64) & 1) || (output >> (out_port % 64) & 1)) continue;
    input |= u64{1} << (in_port % 64);
    output |= u64{1} << (out_port % 64);
    keys[served++] = keys[k];
    grant<S>(x, at, Request(x, at, out_port, bit));
  }
  if (x.by_age) return;
  u32 stamp = x.stamps[at.id] + served;
  x.stamps[at.id] = stamp;
  for (u32 k = 0; k < served; k++) at.inputs[static_cast<u32>(keys[k]) >> kPortBits].served = --stamp;
}

// Most routers have one request at most times; it needs no order. Bit of it and its output port, or kNone.
template <class S>
inline __attribute__((always_inline)) u32 only_request(const Fabric& x, const Router& at, u32& out_port) {
  if (!std::has_single_bit(*at.asked)) return kNone;
  out_port = static_cast<u32>(__builtin_ctzll(*at.asked));
  const u64* const mask = at.mask<S>(x, out_port);
  u64 all = mask[0];
  u32 word = 0;
  for (u32 k = 1; k < (S::kWords ? S::kWords : x.words); k++) {
    if (mask[k] == 0) continue;
    if (all) return kNone;
    all = mask[k];
    word = k;
  }
  return all & (all - 1) ? kNone : word * 64 + static_cast<u32>(__builtin_ctzll(all));
}

template <class S, bool kFewPorts>
inline __attribute__((always_inline)) void prioritised(const Fabric& x, const Router& at) {
  u32 out_port = 0;
  const u32 bit = kFewPorts ? only_request<S>(x, at, out_port) : kNone;
  if (bit == kNone) return by_priority<S, kFewPorts>(x, at);
  if (!S::kOneCycle && !(passed(at.ports[out_port].output_busy_until, x.now) &&
                         passed(at.ports[bit >> x.vc_shift].input_busy_until, x.now)))
    return;
  const Request request(x, at, out_port, bit);
  if (!has_room<S>(x, at, request)) return;
  if (!x.by_age) request.in->served = x.stamps[at.id]++;
  grant<S>(x, at, request);
}

// Routers of up to 64 ports, as nearly all are, have one word of them.
template <class S, bool kFewPorts, bool kRotating>
void allocate_all(Frame& f) {
  const Fabric x(f);
  u64* const active = f.active;
  for (u32 word = 0; word < f.range.words; word++)
    for (u64 bits = active[word]; bits; bits &= bits - 1) {
      const Router at(x, f.range.first_router + word * 64 + static_cast<u32>(__builtin_ctzll(bits)));
      if constexpr (kRotating) round_robin<S, kFewPorts>(x, at);
      else prioritised<S, kFewPorts>(x, at);
      if (!at.template any_asked<kFewPorts>(x)) active[word] &= ~(bits & -bits);
    }
}

template <class S, bool kFewPorts>
void allocate(Frame& f) {
  if (f.net.router.arbiter == Arbiter::kRoundRobin) allocate_all<S, kFewPorts, true>(f);
  else allocate_all<S, kFewPorts, false>(f);
}

// Run-time facts of the network -> the code made for them. One and two words are for what is plain.
template <bool... kKnown>
void dispatch(Frame& f) {
  const Network& net = f.net;
  if constexpr (sizeof...(kKnown) == 4) {
    constexpr bool kPlain = std::get<0>(std::tuple(kKnown...)), kSingleFlit = std::get<2>(std::tuple(kKnown...));
    if constexpr (kPlain) {
      if (net.request_words == 1) return allocate<Shape<kKnown..., 1>, true>(f);
      if constexpr (kSingleFlit)
        if (net.request_words == 2 && net.asked_words == 1) return allocate<Shape<kKnown..., 2>, true>(f);
    }
    if (net.asked_words == 1) allocate<Shape<kKnown..., 0>, true>(f);
    else allocate<Shape<kKnown..., 0>, false>(f);
  } else {
    const bool facts[4] = {plain(f) && !f.sensed && !net.routing_facts.reroutes, net.router.output_depth > 0,
                           net.most_packet_flits == 1 && !net.router.separate_vc_allocation,
                           !net.router.multi_cycle_switch};
    if (facts[sizeof...(kKnown)]) dispatch<kKnown..., true>(f);
    else dispatch<kKnown..., false>(f);
  }
}

// Packets that keep together.
template <bool kOutputBuffers>
void allocate_packets(Frame& f) {
  constexpr bool kBubble = true, kWhole = true;
  const Network& net = f.net;
  if (net.routing_facts.bubble) allocate<Shape<false, kOutputBuffers, false, false, 0, kBubble, kWhole>, false>(f);
  else if (net.request_words == 1) allocate<Shape<false, kOutputBuffers, false, false, 1, false, kWhole>, true>(f);
  else if (net.asked_words == 1) allocate<Shape<false, kOutputBuffers, false, false, 0, false, kWhole>, true>(f);
  else allocate<Shape<false, kOutputBuffers, false, false, 0, false, kWhole>, false>(f);
}

}  // namespace

void switch_allocation(Frame& f) {
  if (f.net.whole_packets) {
    if (f.net.router.flit_by_flit) follow_crossbars(f);
    return f.net.router.output_depth > 0 ? allocate_packets<true>(f) : allocate_packets<false>(f);
  }
  if (f.net.router.crossbar_per_vc) switch_allocation_per_vc(f);
  else if (!f.net.routing_facts.bubble) dispatch<>(f);
  else if (f.net.router.output_depth > 0) allocate<Shape<false, true, false, false, 0, true>, false>(f);
  else allocate<Shape<false, false, false, false, 0, true>, false>(f);
}

}  // namespace flitgym
