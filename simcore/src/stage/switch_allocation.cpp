// Switch allocation: which input VCs move a flit through the crossbar in this cycle.
//
// A head wins its output VC together with the switch (VC allocation is part of the same grant); until its tail has
// followed, the output VC is owned by that input VC. A request that fails for lack of space downstream is parked with
// the output VC it waits for and costs nothing until space comes up.
#include <algorithm>
#include <bit>

#include "stage/switch.hpp"

namespace flitgym {

namespace {

using namespace switching;

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
    if (busy<S>(x, o.output_busy_until)) return;
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
        if (busy<S>(x, at.ports[candidate >> x.vc_shift].input_busy_until)) continue;
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

// Keys of all requests that have room, best first: rank, then input and VC, then output port.
template <class S, bool kFewPorts>
inline __attribute__((always_inline)) u32 ordered_requests(const Fabric& x, const Router& at, u64* keys) {
  const u32 words = S::kWords ? S::kWords : x.words;
  u32 n = 0;
  at.each_asked<kFewPorts>(x, 0, [&](u32 out_port) {
    if (busy<S>(x, at.ports[out_port].output_busy_until)) return;
    const u64* const mask = at.mask<S>(x, out_port);
    for (u32 word = 0; word < words; word++)
      for (u64 m = mask[word]; m; m &= m - 1) {
        const u32 bit = word * 64 + static_cast<u32>(__builtin_ctzll(m));
        if (busy<S>(x, at.ports[bit >> x.vc_shift].input_busy_until)) continue;
        const Request request(x, at, out_port, bit);
        if (!has_room<S>(x, at, request)) continue;
        // Insertion keeps the few keys sorted.
        const u64 key = u64{request.in->served} << 32 | bit << kPortBits | out_port;
        u32 k = n++;
        for (; k > 0 && keys[k - 1] > key; k--) keys[k] = keys[k - 1];
        keys[k] = key;
      }
  });
  return n;
}

// Leaves the first key of each input and of each output.
template <bool kFewPorts>
inline __attribute__((always_inline)) u32 without_conflicts(const Fabric& x, u64* keys, u32 n) {
  u64 inputs[kFewPorts ? 1 : kMaxRadix / 64], outputs[kFewPorts ? 1 : kMaxRadix / 64];
  std::fill_n(inputs, kFewPorts ? 1 : x.asked_words, u64{0});
  std::fill_n(outputs, kFewPorts ? 1 : x.asked_words, u64{0});
  u32 left = 0;
  for (u32 k = 0; k < n; k++) {
    const u32 bit = static_cast<u32>(keys[k]) >> kPortBits, out_port = keys[k] & kPortMask, in_port = bit >> x.vc_shift;
    u64 &input = inputs[kFewPorts ? 0 : in_port / 64], &output = outputs[kFewPorts ? 0 : out_port / 64];
    if ((input >> (in_port % 64) & 1) || (output >> (out_port % 64) & 1)) continue;
    input |= u64{1} << (in_port % 64);
    output |= u64{1} << (out_port % 64);
    keys[left++] = keys[k];
  }
  return left;
}

// In order of priority: the whole router's requests, best first, each granted if its input and output are still free.
// Least recently served is the rule of Merlin's hr_router (xbar_arb_lru.h): one list of (input, VC) pairs; those served
// go to its end, the first served of a cycle last.
template <class S, bool kFewPorts>
inline __attribute__((always_inline)) void by_priority(const Fabric& x, const Router& at) {
  u64 keys[kMaxRadix * kMaxVcs];
  u32 n = 0, out_port = 0;
  if (const u32 bit = kFewPorts ? only_request<S>(x, at, out_port) : kNone; bit != kNone) {
    if (busy<S>(x, at.ports[out_port].output_busy_until) || busy<S>(x, at.ports[bit >> x.vc_shift].input_busy_until))
      return;
    if (!has_room<S>(x, at, Request(x, at, out_port, bit))) return;
    keys[n++] = bit << kPortBits | out_port;
  } else {
    n = without_conflicts<kFewPorts>(x, keys, ordered_requests<S, kFewPorts>(x, at, keys));
  }
  for (u32 k = 0; k < n; k++)
    grant<S>(x, at, Request(x, at, keys[k] & kPortMask, static_cast<u32>(keys[k]) >> kPortBits));
  if (x.by_age) return;
  u32 stamp = x.stamps[at.id] + n;
  x.stamps[at.id] = stamp;
  for (u32 k = 0; k < n; k++) at.inputs[static_cast<u32>(keys[k]) >> kPortBits].served = --stamp;
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
      else by_priority<S, kFewPorts>(x, at);
      if (!at.template any_asked<kFewPorts>(x)) active[word] &= ~(bits & -bits);
    }
}

template <class S, bool kFewPorts>
void allocate(Frame& f) {
  if (f.net.router.arbiter == Arbiter::kRoundRobin) allocate_all<S, kFewPorts, true>(f);
  else allocate_all<S, kFewPorts, false>(f);
}

// Run-time facts of the network -> the code made for them. The routers of most studies have one mask word, or two with
// packets of one flit: these have code that knows the number of words and that nobody looks on. The other routers share
// code that asks at run time, since each combination takes the compiler a tenth of a second and more.
template <bool kOutputBuffers, bool kSingleFlit>
void dispatch(Frame& f) {
  const Network& net = f.net;
  const bool is_plain = plain(f) && !f.sensed && !net.routing_facts.reroutes;
  if (is_plain && net.request_words == 1) {
    if (net.router.multi_cycle_switch) allocate<Shape<true, kOutputBuffers, kSingleFlit, false, 1>, true>(f);
    else allocate<Shape<true, kOutputBuffers, kSingleFlit, true, 1>, true>(f);
    return;
  }
  if constexpr (kSingleFlit) {
    if (is_plain && net.request_words == 2 && net.asked_words == 1) {
      if (net.router.multi_cycle_switch) allocate<Shape<true, kOutputBuffers, true, false, 2>, true>(f);
      else allocate<Shape<true, kOutputBuffers, true, true, 2>, true>(f);
      return;
    }
  }
  if (net.asked_words == 1) allocate<Shape<false, kOutputBuffers, kSingleFlit, false, 0>, true>(f);
  else allocate<Shape<false, kOutputBuffers, kSingleFlit, false, 0>, false>(f);
}

template <bool kOutputBuffers>
void dispatch(Frame& f) {
  if (f.net.most_packet_flits == 1 && !f.net.router.separate_vc_allocation) dispatch<kOutputBuffers, true>(f);
  else dispatch<kOutputBuffers, false>(f);
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
  else if (!f.net.routing_facts.bubble) f.net.router.output_depth > 0 ? dispatch<true>(f) : dispatch<false>(f);
  else if (f.net.router.output_depth > 0) allocate<Shape<false, true, false, false, 0, true>, false>(f);
  else allocate<Shape<false, false, false, false, 0, true>, false>(f);
}

}  // namespace flitgym
