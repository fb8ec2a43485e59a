// Switch allocation: which input VCs move a flit through the crossbar in this cycle.
//
// A head wins its output VC together with the switch (VC allocation is part of the same grant); until its tail has
// followed, the output VC is owned by that input VC. A request that fails for lack of space downstream is parked with
// the output VC it waits for and costs nothing until space comes up.
#include <algorithm>
#include <bit>

#include "stage/train.hpp"

namespace flitgym {

namespace {

// What the compiler may know of a configuration: each combination that occurs gets its own straight code.
template <bool kOutputBuffers_, bool kSingleFlit_, bool kOneWord_, bool kOneCycle_, bool kBubble_ = false, bool kWhole_ = false>
struct Shape {
  static constexpr bool kOutputBuffers = kOutputBuffers_;  // else the crossbar drives the channels
  static constexpr bool kSingleFlit = kSingleFlit_;        // every packet is one flit, and no VC is held
  static constexpr bool kOneWord = kOneWord_;              // a router's input VCs fit one mask word
  static constexpr bool kOneCycle = kOneCycle_;            // nothing in the switch is busy for more than a cycle
  static constexpr bool kBubble = kBubble_;                // bubble flow control; else no packet enters a ring
  static constexpr bool kWhole = kWhole_;                  // packets keep together
};

// A request in one number: bit of the input VC within its router, output port.
constexpr u32 kPortBits = std::bit_width(kMaxRadix - 1), kPortMask = kMaxRadix - 1;
static_assert(kMaxRadix * kMaxVcs <= 1u << (32 - kPortBits));

// The arrays a grant touches, fetched once per cycle.
struct Fabric {
  explicit Fabric(Frame& frame)
      : f(frame), net(frame.net), s(frame.s), input_vcs(s.input_vcs.data()), output_vcs(s.output_vcs.data()), ports(s.ports.data()), next(s.next.data()), packets(s.packets.data()),
        channels(net.channels.data()), credit_lines(f.part.credit_lines.lines.data()), flit_lines(f.part.flit_lines.lines.data()), requests(s.requests.data()), asked(s.outputs_asked.data()), vc_shift(net.vc_shift),
        radix_shift(net.radix_shift), words(net.request_words), asked_words(net.asked_words), now(frame.now) {}
  Frame& f;
  const Network& net;
  State& s;
  InputVc* const input_vcs;
  OutputVc* const output_vcs;
  Port* const ports;
  Flit* const next;
  Packet* const packets;
  const Channel* const channels;
  DelayLine<CreditEvent>* const credit_lines;
  DelayLine<FlitEvent>* const flit_lines;
  u64* const requests;
  u64* const asked;
  const u32 vc_shift, radix_shift, words, asked_words;
  const Cycle now;

  u32 router_shift() const { return radix_shift + vc_shift; }
  // visit(output port) for each that is asked for, from port `start` on and round; nearly all routers have one word of ports.
  template <bool kFewPorts, class Visit>
  __attribute__((always_inline)) void each_asked(u32 router, u32 start, Visit&& visit) const {
    if constexpr (kFewPorts) {
      for (u64 turn = std::rotr(asked[router], static_cast<int>(start)); turn; turn &= turn - 1) visit((static_cast<u32>(__builtin_ctzll(turn)) + start) & 63);
      return;
    }
    const u64* const own = &asked[router * asked_words];
    const u32 first = start / 64;
    const u64 later = ~u64{0} << (start % 64);
    for (u32 k = 0; k <= asked_words; k++) {
      const u32 word = (first + k) % asked_words;
      for (u64 turn = own[word] & (k == 0 ? later : k == asked_words ? ~later : ~u64{0}); turn; turn &= turn - 1) visit(word * 64 + static_cast<u32>(__builtin_ctzll(turn)));
    }
  }
  template <bool kFewPorts>
  bool any_asked(u32 router) const {
    if constexpr (kFewPorts) return asked[router] != 0;
    return std::any_of(&asked[router * asked_words], &asked[(router + 1) * asked_words], [](u64 word) { return word != 0; });
  }
  template <class S>
  void clear_request(u32 router, u32 out_port, u32 bit) const {
    const std::size_t output = std::size_t{router} << radix_shift | out_port;
    if constexpr (S::kOneWord) {  // so do its ports
      if (!(requests[output] &= ~(u64{1} << bit))) asked[router] &= ~(u64{1} << out_port);
    } else {
      u64* const mask = &requests[output * words];
      u64 left = mask[bit / 64] &= ~(u64{1} << (bit % 64));
      for (u32 k = 0; k < words; k++) left |= mask[k];
      if (!left) asked[router * asked_words + out_port / 64] &= ~(u64{1} << (out_port % 64));
    }
  }
};

// Bubble flow control (Puente et al., ICPP 1999): a packet enters a ring, from a terminal or from another ring, only where there
// is room for one more behind it. So each ring always has room for a packet somewhere, and what is in it can go on (see
// routing/dimension_order_torus.cpp). Packets are of one size.
inline u32 slots_to_spare(const Fabric& x, const InputVc& in, u32 in_port, u32 out_port) {
  const u16 ring = x.net.ring_of_output[out_port];
  return ring == kNoRing || in.sent > 0 || x.net.ring_of_input[in_port] == ring ? 0 : x.net.most_packet_flits;
}

// Can the flit in front go to its output VC now? If there is no room, the request is parked.
template <class S>
inline __attribute__((always_inline)) bool has_room(const Fabric& x, u32 router, u32 out_port, u32 bit) {
  const u32 v = router << x.router_shift() | bit, output = router << x.radix_shift | out_port;
  InputVc& in = x.input_vcs[v];
  OutputVc& out = x.output_vcs[output << x.vc_shift | in.out_vc];
  const u32 room = S::kOutputBuffers ? x.net.router.output_depth - out.count : out.credits;
  bool owned = false;
  if constexpr (S::kSingleFlit) {
    if (room > 0) [[likely]] return true;
  } else {
    const auto fits = [&] {
      if constexpr (S::kBubble) return room >= slots_needed(x.f, in) + slots_to_spare(x, in, bit >> x.vc_shift, out_port);
      return room >= slots_needed(x.f, in);
    };
    if (x.net.router.separate_vc_allocation && in.sent == 0) {
      // Won: the switch can be asked for from the next cycle on. Who may not enter its ring yet must not hold up those in it.
      if (out.owner == kNone && (!S::kBubble || fits())) {
        out.owner = v;
        out.owned_since = x.now;
      }
      if (out.owner == v && out.owned_since == x.now) return false;
      owned = out.owner != v && (!S::kBubble || out.owner != kNone);
    } else {
      owned = in.sent == 0 && out.owner != kNone;
    }
    if (!owned && fits()) [[likely]] return true;
  }
  x.clear_request<S>(router, out_port, bit);
  if (x.net.routing_facts.reroutes && in.sent == 0) {  // it may choose another output: nobody waits for this one
    in.routed = 0;
    if (x.net.accounted_jobs) account_unrouted(x.f, v, output);
    x.f.part.route_list.push_back(v);
    return false;
  }
  if (!S::kOutputBuffers && !owned) begin_stall(x.f, x.ports[output]);
  park(x.f, out, v);
  return false;
}

// A packet that keeps together wins the switch: all that comes of it at once (train.hpp).
template <class S>
inline __attribute__((always_inline)) void grant_packet(const Fabric& x, u32 router, u32 out_port, u32 bit) {
  const Network& net = x.net;
  const u32 v = router << x.router_shift() | bit, input = v >> x.vc_shift, in_vc = v & ((1u << x.vc_shift) - 1);
  const u32 output = router << x.radix_shift | out_port;
  InputVc& in = x.input_vcs[v];
  const u32 vc = in.out_vc, id = packet_of(in.front);
  OutputVc& out = x.output_vcs[output << x.vc_shift | vc];
  Port& o = x.ports[output];
  const Channel& back = x.channels[input];
  Packet& p = x.packets[id];
  const u32 flits = p.flits, crossbar_cycles = net.router.crossbar_cycles;

  const Flit packet = pop_packet(in, x.next, flits);
  if (packet & kWatched) [[unlikely]] watch(x.f, packet | kHead, "wins the switch to", output, vc);
  x.credit_lines[back.credit_line].push({back.peer << x.vc_shift | in_vc, static_cast<u16>(flits), p.job});
  in.routed = 0;
  if (net.accounted_jobs) account_left(x.f, v, output, id);
  x.clear_request<S>(router, out_port, bit);
  if (net.learns && back.kind != PortKind::kTerminal) {
    const PacketDetail& d = x.s.details[id];
    if (d.value >= 0) x.f.part.feedback_lines.lines[back.line].push({back.peer, d.row, static_cast<float>(d.reward * net.cycle_ns) + d.value});
  }
  if (in.front != kNone) {
    __builtin_prefetch(&x.packets[packet_of(in.front)], 1);
    request_route(x.f, v, x.now + 1);
  }
  if (net.router.separate_vc_allocation) out.owner = kNone;
  if (out.parked != kNone && (net.router.separate_vc_allocation || net.router.arbiter == Arbiter::kAge)) wake_parked(x.f, out);
  x.f.part.totals.moves += flits;

  // The crossbar's ports stay with it until its tail has passed; without output buffers it passes onto the channel.
  const u32 flit_cycles = S::kOutputBuffers ? crossbar_cycles : std::max(crossbar_cycles, x.channels[output].flit_cycles);
  const bool follows = net.router.flit_by_flit && flits > 1;
  if (follows) [[unlikely]] follow_through_crossbar(x.f, v, output << x.vc_shift | vc, id);
  Cycle last;
  if constexpr (S::kOutputBuffers) {
    last = tail_passes(p, x.now, crossbar_cycles);
    p.tail = last + 1;
    enqueue_packet(x.f, o, out, output, vc, packet, flits, 1);
  } else {
    if (o.stalled) end_stall(x.f, o);
    if (x.channels[output].kind != PortKind::kTerminal) {
      out.credits = static_cast<u16>(out.credits - flits);
      o.load += flits;
    }
    last = start_on_channel(x.f, o, output, vc, packet, flit_cycles);
  }
  x.ports[input].input_busy_until = follows ? kHeld : last + crossbar_cycles;
  o.output_busy_until = follows ? kHeld : last + flit_cycles;
}

template <class S>
inline __attribute__((always_inline)) void grant(const Fabric& x, u32 router, u32 out_port, u32 bit) {
  if constexpr (S::kWhole) return grant_packet<S>(x, router, out_port, bit);
  const Network& net = x.net;
  State& s = x.s;
  const u32 v = router << x.router_shift() | bit, input = v >> x.vc_shift, in_vc = v & ((1u << x.vc_shift) - 1);
  const u32 output = router << x.radix_shift | out_port;
  InputVc& in = x.input_vcs[v];
  const u32 vc = in.out_vc;
  OutputVc& out = x.output_vcs[output << x.vc_shift | vc];
  Port& o = x.ports[output];
  const Channel& back = x.channels[input];

  const Flit flit = pop_flit<S::kSingleFlit>(in, x.next, x.packets);
  const bool head = S::kSingleFlit || (flit & kHead), tail = S::kSingleFlit || (flit & kTail);
  if (flit & kWatched) [[unlikely]] watch(x.f, flit, "wins the switch to", output, vc);

  // The freed slot goes back upstream as a credit.
  if (S::kSingleFlit || !net.router.packet_credits) {
    x.credit_lines[back.credit_line].push({back.peer << x.vc_shift | in_vc, 1, s.packets[packet_of(flit)].job});
  } else if (tail) {
    x.credit_lines[back.credit_line].push({back.peer << x.vc_shift | in_vc, head ? u16{1} : s.packets[packet_of(flit)].flits, s.packets[packet_of(flit)].job});
  }

  if (tail) {
    in.routed = 0;
    if (net.accounted_jobs) account_left(x.f, v, output, packet_of(flit));
    x.clear_request<S>(router, out_port, bit);
    if (net.learns && back.kind != PortKind::kTerminal) {
      const PacketDetail& d = s.details[packet_of(flit)];
      if (d.value >= 0) x.f.part.feedback_lines.lines[back.line].push({back.peer, d.row, static_cast<float>(d.reward * net.cycle_ns) + d.value});
    }
    if (in.count > 0) {
      __builtin_prefetch(&s.packets[packet_of(in.front)], 1);
      request_route(x.f, v, x.now + 1);
    }
    if (!S::kSingleFlit) {
      const bool owned = !head || net.router.separate_vc_allocation;
      if (owned) out.owner = kNone;
      // By age one is woken at a time, and there may be room for the next.
      if (out.parked != kNone && (owned || net.router.arbiter == Arbiter::kAge)) wake_parked(x.f, out);
    }
  } else {
    if (in.count == 0) x.clear_request<S>(router, out_port, bit);
    out.owner = v;
  }

  x.f.part.totals.moves++;
  if constexpr (!S::kOneCycle) {
    x.ports[input].input_busy_until = x.now + net.router.crossbar_cycles;
    o.output_busy_until = x.now + (S::kOutputBuffers ? net.router.crossbar_cycles : std::max(net.router.crossbar_cycles, x.channels[output].flit_cycles));
  }
  if constexpr (S::kOutputBuffers) {
    enqueue_output(x.f, o, out, x.next, output, vc, flit, 1);
  } else {
    if (o.stalled) end_stall(x.f, o);
    if (x.channels[output].kind != PortKind::kTerminal) {
      out.credits--;
      o.load++;
    }
    put_on_channel(x.f, x.flit_lines, o, output, vc, flit);
  }
}

// Round robin at each output over the (input, VC) pairs that ask for it. The outputs take their turns in an order that
// rotates with the cycle, and an input that was granted is out for the others: a separable output-first allocator whose
// input stage ripples, so that the matching is maximal (Dally & Towles, 19.3-19.4).
template <class S, bool kFewPorts>
void round_robin(const Fabric& x, u32 router) {
  const u64 group_mask = (u64{1} << (1u << x.vc_shift)) - 1;
  Port* const ports = &x.ports[router << x.radix_shift];
  const u32 words = S::kOneWord ? 1 : x.words, start = kFewPorts ? x.now & 63 : x.now % (x.asked_words * 64);
  u64 used[S::kOneWord ? 1 : kMaxRadix * kMaxVcs / 64];
  for (u32 k = 0; k < words; k++) used[k] = 0;
  u32 winners[kMaxRadix], count = 0;

  x.each_asked<kFewPorts>(router, start, [&](u32 out_port) {
    Port& o = ports[out_port];
    if (!S::kOneCycle && !passed(o.output_busy_until, x.now)) return;
    const u64* const mask = &x.requests[std::size_t{router << x.radix_shift | out_port} * words];
    const u32 from = o.next_request;

    // The requests from next_request on, then those before it; a word at a time.
    u32 bit = kNone;
    if constexpr (S::kOneWord && S::kOneCycle) {
      for (u64 m = mask[0] & ~used[0]; m;) {
        const u64 later = m >> from << from;
        const u32 candidate = static_cast<u32>(__builtin_ctzll(later ? later : m));
        if (has_room<S>(x, router, out_port, candidate)) [[likely]] {
          bit = candidate;
          break;
        }
        m &= ~(u64{1} << candidate);
      }
    } else {
      u32 word = from / 64, k = 0;
      for (u64 m = (mask[word] & ~used[word]) >> (from % 64) << (from % 64);;) {
        if (m == 0) {
          if (k++ == words) break;
          word = S::kOneWord ? 0 : (word + 1) & (words - 1);
          m = mask[word] & ~used[word];
          if (k == words) m &= (u64{1} << (from % 64)) - 1;
          continue;
        }
        const u32 candidate = word * 64 + static_cast<u32>(__builtin_ctzll(m));
        m &= m - 1;
        if (!S::kOneCycle && !passed(ports[candidate >> x.vc_shift].input_busy_until, x.now)) continue;
        if (!has_room<S>(x, router, out_port, candidate)) continue;
        bit = candidate;
        break;
      }
    }
    if (bit == kNone) return;
    used[bit / 64] |= group_mask << (bit % 64 >> x.vc_shift << x.vc_shift);
    o.next_request = static_cast<u16>((bit + 1) & (words * 64 - 1));
    winners[count++] = bit << kPortBits | out_port;
  });
  // No grant bears on another output's choice, so they can come after all of them, when their queues are in the cache.
  for (u32 k = 0; k < count; k++) grant<S>(x, router, winners[k] & kPortMask, winners[k] >> kPortBits);
}

// In order of priority: the whole router's requests, best first, each granted if its input and output are still free.
// Least recently served is the rule of Merlin's hr_router (xbar_arb_lru.h): one list of (input, VC) pairs; those served
// go to its end, the first served of a cycle last.
template <class S, bool kFewPorts>
void by_priority(const Fabric& x, u32 router) {
  Port* const ports = &x.ports[router << x.radix_shift];
  InputVc* const input_vcs = &x.input_vcs[router << x.router_shift()];
  const bool by_age = x.net.router.arbiter == Arbiter::kAge, per_vc = x.net.router.crossbar_per_vc;
  const u32 words = S::kOneWord ? 1 : x.words;

  // Most routers have one request at most times; it needs no order.
  if (kFewPorts && std::has_single_bit(x.asked[router])) {
    const u32 out_port = static_cast<u32>(__builtin_ctzll(x.asked[router]));
    const u64* const mask = &x.requests[std::size_t{router << x.radix_shift | out_port} * words];
    u32 set = 0, bit = 0;
    for (u32 word = 0; word < words; word++)
      if (mask[word]) {
        set += static_cast<u32>(std::popcount(mask[word]));
        bit = word * 64 + static_cast<u32>(__builtin_ctzll(mask[word]));
      }
    if (set == 1) {
      if (!S::kOneCycle && !per_vc && !(passed(ports[out_port].output_busy_until, x.now) && passed(ports[bit >> x.vc_shift].input_busy_until, x.now))) return;
      if (!has_room<S>(x, router, out_port, bit)) return;
      if (!by_age) input_vcs[bit].served = x.s.stamps[router]++;
      return grant<S>(x, router, out_port, bit);
    }
  }

  u64 keys[kMaxRadix * kMaxVcs];
  u32 n = 0;
  x.each_asked<kFewPorts>(router, 0, [&](u32 out_port) {
    if (!S::kOneCycle && !per_vc && !passed(ports[out_port].output_busy_until, x.now)) return;
    const u64* const mask = &x.requests[std::size_t{router << x.radix_shift | out_port} * words];
    for (u32 word = 0; word < words; word++)
      for (u64 m = mask[word]; m; m &= m - 1) {
        const u32 bit = word * 64 + static_cast<u32>(__builtin_ctzll(m));
        if (!S::kOneCycle && !per_vc && !passed(ports[bit >> x.vc_shift].input_busy_until, x.now)) continue;
        if (!has_room<S>(x, router, out_port, bit)) continue;
        const InputVc& in = input_vcs[bit];
        // Insertion keeps the few keys sorted: rank, then input and VC.
        const u64 key = u64{in.served} << 32 | bit << kPortBits | out_port;
        u32 k = n++;
        for (; k > 0 && keys[k - 1] > key; k--) keys[k] = keys[k - 1];
        keys[k] = key;
      }
  });

  u64 inputs[kFewPorts ? 1 : kMaxRadix / 64], outputs[kFewPorts ? 1 : kMaxRadix / 64];
  std::fill_n(inputs, kFewPorts ? 1 : x.asked_words, u64{0});
  std::fill_n(outputs, kFewPorts ? 1 : x.asked_words, u64{0});
  u32 vcs_taken[kMaxRadix];
  if (per_vc) std::fill_n(vcs_taken, x.net.radix, 0u);
  u32 served = 0;
  for (u32 k = 0; k < n; k++) {
    const u32 bit = static_cast<u32>(keys[k]) >> kPortBits, out_port = keys[k] & kPortMask, in_port = bit >> x.vc_shift;
    if (per_vc) {  // a request is an input VC's only one; what may clash is the output VC
      const u32 vc = u32{1} << input_vcs[bit].out_vc;
      if (vcs_taken[out_port] & vc) continue;
      vcs_taken[out_port] |= vc;
    } else {
      u64 &input = inputs[kFewPorts ? 0 : in_port / 64], &output = outputs[kFewPorts ? 0 : out_port / 64];
      if ((input >> (in_port % 64) & 1) || (output >> (out_port % 64) & 1)) continue;
      input |= u64{1} << (in_port % 64);
      output |= u64{1} << (out_port % 64);
    }
    keys[served++] = keys[k];
    grant<S>(x, router, out_port, bit);
  }
  if (by_age) return;
  u32 stamp = x.s.stamps[router] + served;
  x.s.stamps[router] = stamp;
  for (u32 k = 0; k < served; k++) input_vcs[static_cast<u32>(keys[k]) >> kPortBits].served = --stamp;
}

// Routers of up to 64 ports, as nearly all are, have one word of them.
template <class S, bool kFewPorts>
void allocate_all(Frame& f) {
  const Fabric x(f);
  const bool rotating = f.net.router.arbiter == Arbiter::kRoundRobin;
  for (u32 word = 0; word < f.range.words; word++)
    for (u64 bits = f.active[word]; bits; bits &= bits - 1) {
      const u32 router = f.range.first_router + word * 64 + static_cast<u32>(__builtin_ctzll(bits));
      if (rotating) round_robin<S, kFewPorts>(x, router);
      else by_priority<S, kFewPorts>(x, router);
      if (!x.any_asked<kFewPorts>(router)) f.active[word] &= ~(bits & -bits);
    }
}

// Run-time facts of the network -> the code made for them.
template <bool... kKnown>
void dispatch(Frame& f) {
  if constexpr (sizeof...(kKnown) == 4) {
    using Known = Shape<kKnown...>;
    if (Known::kOneWord || f.net.asked_words == 1) allocate_all<Known, true>(f);
    else if constexpr (!Known::kOneWord) allocate_all<Known, false>(f);
  } else {
    const Network& net = f.net;
    const bool facts[4] = {net.router.output_depth > 0, net.most_packet_flits == 1 && !net.router.separate_vc_allocation, net.request_words == 1, !net.router.multi_cycle_switch};
    if (facts[sizeof...(kKnown)]) dispatch<kKnown..., true>(f);
    else dispatch<kKnown..., false>(f);
  }
}

// Packets that keep together.
template <bool... kKnown>
void allocate_packets(Frame& f) {
  const Network& net = f.net;
  if constexpr (sizeof...(kKnown) == 2) {
    constexpr bool known[] = {kKnown...};
    using Known = Shape<known[0], false, known[1], false, false, true>;
    if (Known::kOneWord || net.asked_words == 1) allocate_all<Known, true>(f);
    else if constexpr (!Known::kOneWord) allocate_all<Known, false>(f);
  } else {
    const bool facts[2] = {net.router.output_depth > 0, net.request_words == 1};
    if (facts[sizeof...(kKnown)]) allocate_packets<kKnown..., true>(f);
    else allocate_packets<kKnown..., false>(f);
  }
}

}  // namespace

void switch_allocation(Frame& f) {
  const bool bubble = f.net.routing_facts.bubble, whole = f.net.whole_packets, buffers = f.net.router.output_depth > 0;
  if (whole && f.net.router.flit_by_flit) follow_crossbars(f);
  if (!bubble && whole) allocate_packets<>(f);
  else if (!bubble) dispatch<>(f);
  else if (whole && buffers) allocate_all<Shape<true, false, false, false, true, true>, false>(f);
  else if (whole) allocate_all<Shape<false, false, false, false, true, true>, false>(f);
  else if (buffers) allocate_all<Shape<true, false, false, false, true>, false>(f);
  else allocate_all<Shape<false, false, false, false, true>, false>(f);
}

}  // namespace flitgym
