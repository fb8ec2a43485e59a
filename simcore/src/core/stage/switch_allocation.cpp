// Switch allocation: selects the input VCs that move a flit through the crossbar in this cycle.
//
// A head wins its output VC together with the switch, or a cycle earlier with router.vc_allocation=before_switch or
// parallel. The input VC then owns the output VC until the tail has followed. A request without room downstream is
// parked at its output VC and causes no work until there is room again.
#include "core/stage/class_arbitration.hpp"
#include "core/stage/switch.hpp"

namespace flitgym {

namespace {

using namespace switching;

// Most routers have a single request in most cycles, and a single request needs no sorting. Returns its bit and sets
// `out_port`. Returns kNone if there are several requests.
template <Shape kShape>
inline __attribute__((always_inline)) u32 only_request(const Router<kShape>& at, u32& out_port) {
  if (!std::has_single_bit(*at.asked)) return kNone;
  out_port = static_cast<u32>(__builtin_ctzll(*at.asked));
  const u64* const mask = at.mask(out_port);
  if constexpr (kShape.mask_words == 2) {  // without a branch for the word that holds the request
    const u32 word = mask[0] == 0;
    return std::popcount(mask[0]) + std::popcount(mask[1]) == 1
               ? word * 64 + static_cast<u32>(__builtin_ctzll(mask[word]))
               : kNone;
  }
  u64 all = mask[0];
  u32 word = 0;
  for (u32 k = 1; k < at.words(); k++) {
    if (mask[k] == 0) continue;
    if (all) return kNone;
    all = mask[k];
    word = k;
  }
  return all & (all - 1) ? kNone : word * 64 + static_cast<u32>(__builtin_ctzll(all));
}

// Separable output-first allocator. Each output chooses by round robin among the (input, VC) pairs that request it. The
// outputs choose one after another, and skip inputs that an earlier output has chosen. The matching is therefore
// maximal (Dally & Towles, 19.3-19.4). The order of the outputs rotates with the cycle.
template <Shape kShape>
inline __attribute__((always_inline)) void round_robin(const Router<kShape>& at) {
  const Fabric& x = at.x;
  if constexpr (kShape.few_ports) {  // a single request needs no matching
    u32 only_port = 0;
    if (const u32 bit = only_request(at, only_port); bit != kNone) {
      Port& o = at.ports[only_port];
      if (at.busy(o.output_busy_until) || at.busy(at.ports[bit >> x.vc_shift].input_busy_until)) return;
      const Request request(at, only_port, bit);
      if (!has_room(at, request)) return;
      o.next_request = static_cast<u16>((bit + 1) & (at.words() * 64 - 1));
      return grant(at, request);
    }
  }
  const u64 group_mask = (u64{1} << (1u << x.vc_shift)) - 1;
  const u32 words = at.words(), start = kShape.few_ports ? x.now & 63 : x.now % (x.asked_words * 64);
  u64 used[kShape.mask_words ? kShape.mask_words : kMaxRadix * kMaxVcs / 64];
  for (u32 k = 0; k < words; k++) used[k] = 0;
  // A grant changes no data that another output reads. So each grant may follow its choice at once, or all grants may
  // follow after all choices. Runs that are not plain, or have packets of several flits, touch more memory per grant.
  // They grant after all choices, when the queues are in the cache.
  constexpr bool kAtOnce = kShape.plain && kShape.single_flit;
  u32 winners[kAtOnce ? 1 : kMaxRadix], count = 0;

  at.each_asked(start, [&](u32 out_port) __attribute__((always_inline)) {
    Port& o = at.ports[out_port];
    if (at.busy(o.output_busy_until)) return;
    const u64* const mask = at.mask(out_port);
    const u32 from = o.next_request;

    // First the requests from next_request on, then the requests before it, a word at a time.
    u32 bit = kNone;
    if constexpr (kShape.mask_words == 1 && kShape.one_cycle) {
      for (u64 m = mask[0] & ~used[0]; m;) {
        const u64 later = m >> from << from;
        const u32 candidate = static_cast<u32>(__builtin_ctzll(later ? later : m));
        const Request request(at, out_port, candidate);
        if (has_room(at, request)) [[likely]] {
          bit = candidate;
          if constexpr (kAtOnce) grant(at, request);
          break;
        }
        m &= ~(u64{1} << candidate);
      }
    } else {
      u32 word = from / 64, k = 0;
      for (u64 m = (mask[word] & ~used[word]) >> (from % 64) << (from % 64);;) {
        if (m == 0) {
          if (k++ == words) break;
          word = kShape.mask_words == 1 ? 0 : (word + 1) & (words - 1);
          m = mask[word] & ~used[word];
          if (k == words) m &= (u64{1} << (from % 64)) - 1;
          continue;
        }
        const u32 candidate = word * 64 + static_cast<u32>(__builtin_ctzll(m));
        m &= m - 1;
        if (at.busy(at.ports[candidate >> x.vc_shift].input_busy_until)) continue;
        const Request request(at, out_port, candidate);
        if (!has_room(at, request)) continue;
        bit = candidate;
        if constexpr (kAtOnce) grant(at, request);
        break;
      }
    }
    if (bit == kNone) return;
    used[bit / 64] |= group_mask << (bit % 64 >> x.vc_shift << x.vc_shift);
    o.next_request = static_cast<u16>((bit + 1) & (words * 64 - 1));
    if constexpr (!kAtOnce) winners[count++] = bit << kPortBits | out_port;
  });
  for (u32 k = 0; k < count; k++) grant(at, Request(at, winners[k] & kPortMask, winners[k] >> kPortBits));
}

constexpr u32 kFewKeys = 32;

// Writes one key for each request that has room downstream, in rising order. Returns the number of keys. Keys are
// ordered by State::served first, then by input and VC, then by output port. `free_from` is set to the first cycle in
// which another request may find its crossbar ports free.
template <Shape kShape>
inline __attribute__((always_inline)) u32 ordered_requests(const Router<kShape>& at, u64* keys, Cycle& free_from) {
  const Fabric& x = at.x;
  u32 n = 0;
  at.each_asked(0, [&](u32 out_port) {
    const Cycle output_until = at.ports[out_port].output_busy_until;
    if (at.busy(output_until)) {
      free_from = std::min(free_from, output_until);
      return;
    }
    at.each_request(out_port, [&](u32 bit) __attribute__((always_inline)) {
      const Cycle input_until = at.ports[bit >> x.vc_shift].input_busy_until;
      if (at.busy(input_until)) {
        free_from = std::min(free_from, input_until);
        return;
      }
      const Request request(at, out_port, bit);
      if (!has_room(at, request)) {
        // this request may have won its output VC just now; it requests the switch in the next cycle
        if (x.net.router.separate_vc_allocation) free_from = x.now;
        return;
      }
      // Insertion sort orders up to kFewKeys keys. Each insertion compares the new key with all keys, so no branch
      // depends on their order.
      u64 key = u64{x.served[at.first_vc | bit]} << 32 | bit << kPortBits | out_port;
      for (u32 k = 0; k < n && n < kFewKeys; k++) {
        const u64 other = keys[k];
        keys[k] = std::min(key, other);
        key = std::max(key, other);
      }
      keys[n++] = key;
    });
  });
  if (n > kFewKeys) std::sort(keys, keys + n);
  return n;
}

// Keeps only the first key of each input and of each output. Returns their number. The other keys are moved to `lost`.
template <bool kFewPorts, bool kKeepsLost>
inline __attribute__((always_inline)) u32 without_conflicts(const Fabric& x, u64* keys, u32 n, u64* lost) {
  u64 inputs[kFewPorts ? 1 : kMaxRadix / 64], outputs[kFewPorts ? 1 : kMaxRadix / 64];
  std::fill_n(inputs, kFewPorts ? 1 : x.asked_words, u64{0});
  std::fill_n(outputs, kFewPorts ? 1 : x.asked_words, u64{0});
  u32 left = 0;
  [[maybe_unused]] u32 losers = 0;
  for (u32 k = 0; k < n; k++) {
    const u32 bit = static_cast<u32>(keys[k]) >> kPortBits, out_port = keys[k] & kPortMask, in_port = bit >> x.vc_shift;
    u64 &input = inputs[kFewPorts ? 0 : in_port / 64], &output = outputs[kFewPorts ? 0 : out_port / 64];
    const u64 key = keys[k];
    const bool taken = (input >> (in_port % 64) | output >> (out_port % 64)) & 1;
    input |= u64{!taken} << (in_port % 64);
    output |= u64{!taken} << (out_port % 64);
    keys[left] = key;
    left += !taken;
    if constexpr (kKeepsLost) {
      lost[losers] = key;
      losers += taken;
    }
  }
  return left;
}

// Grants the requests of the whole router in order of priority. A request is granted if its input and its output are
// still free. Least-recently-served arbitration is the rule of Merlin's hr_router (xbar_arb_lru.h), which keeps one
// list of (input, VC) pairs. The pairs that are served in a cycle move to the end of the list in reverse order: the
// pair served first becomes the last one.
template <Shape kShape>
inline __attribute__((always_inline)) void by_priority(const Router<kShape>& at) {
  const Fabric& x = at.x;
  u32* const resting = kShape.whole_packets ? x.f.resting : nullptr;
  // A request is a candidate again when its two crossbar ports are free.
  const auto free_from = [&](u32 bit, u32 out_port) {
    return std::max(at.ports[out_port].output_busy_until, at.ports[bit >> x.vc_shift].input_busy_until);
  };
  u64 keys[kMaxRadix * kMaxVcs], lost[kShape.whole_packets ? kMaxRadix * kMaxVcs : 1];
  u32 n = 0, out_port = 0, losers = 0;
  if (const u32 bit = kShape.few_ports ? only_request(at, out_port) : kNone; bit != kNone) {
    if (const Cycle from = free_from(bit, out_port); at.busy(from)) {
      if (resting) resting[at.id] = std::min<Cycle>(from, kEndOfTime);
      return;
    }
    if (!has_room(at, Request(at, out_port, bit))) return;
    keys[n++] = bit << kPortBits | out_port;
  } else {
    Cycle from = kEndOfTime;
    const u32 all = ordered_requests(at, keys, from);
    n = without_conflicts<kShape.few_ports, kShape.whole_packets>(x, keys, all, lost);
    losers = all - n;
    if (resting) resting[at.id] = from;
  }
  for (u32 k = 0; k < n; k++) grant(at, Request(at, keys[k] & kPortMask, static_cast<u32>(keys[k]) >> kPortBits));
  if (resting && resting[at.id])  // 0: a grant has woken a parked request
    for (u32 k = 0; k < losers; k++)
      resting[at.id] = std::min(resting[at.id], free_from(static_cast<u32>(lost[k]) >> kPortBits, lost[k] & kPortMask));
  if (x.by_age) return;
  u32 stamp = x.stamps[at.id] + n;
  x.stamps[at.id] = stamp;
  for (u32 k = 0; k < n; k++) x.served[at.first_vc | static_cast<u32>(keys[k]) >> kPortBits] = --stamp;
}

// Grants in the order of the traffic classes' ranks, and within a rank in the order of the arbiter. Without output
// queues, the crossbar drives the channels, so a grant uses the class's share of the channel. A share matters only
// where several classes request the output. Otherwise, requests of one input for different outputs are in the order of
// priorities.
template <Shape kShape>
void by_class(const Router<kShape>& at) {
  constexpr bool kCrossbar = kShape.output_buffers;
  constexpr u32 kOrderBits = std::bit_width(kMaxRadix * kMaxVcs - 1);
  const Fabric& x = at.x;
  const TrafficClasses& t = *x.net.classes;
  const auto used = [&](u32 out_port) { return classes::used_at(x.f, at.first_port | out_port, kCrossbar); };
  const auto class_of = [&](u32 bit) { return class_of_vc(x.net, bit & ((1u << x.vc_shift) - 1)); };
  const bool rotates = x.net.router.arbiter == Arbiter::kRoundRobin;
  const u32 all_bits = at.words() * 64, all_ports = x.asked_words * 64;
  if (x.net.router.parallel_vc_allocation) allocate_vcs(at);
  u64 keys[kMaxRadix * kMaxVcs];
  Cycle free_from = 0;
  u32 requesting[kMaxRadix];  // by output: mask of classes
  std::fill_n(requesting, x.net.radix, 0u);
  const u32 all = ordered_requests(at, keys, free_from);
  for (u32 k = 0; k < all; k++)
    requesting[keys[k] & kPortMask] |= 1u << class_of(static_cast<u32>(keys[k]) >> kPortBits);
  u32 n = 0;
  for (u32 k = 0; k < all; k++) {
    const u32 request = static_cast<u32>(keys[k]), bit = request >> kPortBits, out_port = request & kPortMask;
    u32 rank = classes::rank(t, used(out_port), class_of(bit), x.now);
    if (rank == kNone) continue;
    if (std::has_single_bit(requesting[out_port])) rank = t.all[class_of(bit)].rank;
    u64 order = k;  // round robin: the outputs take turns, then the inputs of an output
    if (rotates)
      order = u64{(out_port - x.now) % all_ports} << kOrderBits | (bit - at.ports[out_port].next_request) % all_bits;
    keys[n++] = (u64{rank} << (kOrderBits + kPortBits) | order) << 32 | request;
  }
  std::sort(keys, keys + n);
  n = without_conflicts<false, false>(x, keys, n, nullptr);
  u32 stamp = x.stamps[at.id] += rotates || x.by_age ? 0 : n;
  for (u32 k = 0; k < n; k++) {
    const u32 bit = static_cast<u32>(keys[k]) >> kPortBits, out_port = keys[k] & kPortMask;
    const Request request(at, out_port, bit);
    const u32 flits = kShape.whole_packets ? x.packets[packet_of(request.in->front)].flits : 1;
    classes::charge(t, used(out_port), class_of(bit), flits * at.channels[out_port].flit_cycles, x.now, kCrossbar);
    grant(at, request);
    if (rotates) at.ports[out_port].next_request = static_cast<u16>((bit + 1) % all_bits);
    else if (!x.by_age) x.served[at.first_vc | bit] = --stamp;
  }
}

// Returns word `word` of the mask of routers whose requests must be considered (Network::resting). If packets move as
// trains, most of them wait several cycles for a crossbar port. The loop has no branch on the answer, because a branch
// predictor could not predict it.
inline u64 awake(const Frame& f, u32 word) {
  if (!f.resting) return ~u64{0};
  const u32 first = f.range.first_router + word * 64, count = std::min(f.range.end_router - first, 64u);
  u64 bits = 0;
  for (u32 k = 0; k < count; k++) bits |= u64{passed(f.resting[first + k], f.now)} << k;
  return bits;
}

enum class Order : u8 { kRoundRobin, kPriority, kClasses };

template <Shape kShape, Order kOrder>
void allocate_all(Frame& f) {
  constexpr bool kRoundRobin = kOrder == Order::kRoundRobin;
  const Fabric x(f);
  u64* const active = f.active;
  for (u32 word = 0; word < f.range.words; word++) {
    u64 bits = active[word];
    if constexpr (kShape.whole_packets && kOrder == Order::kPriority)
      if (bits) bits &= awake(f, word);
    for (; bits; bits &= bits - 1) {
      const Router<kShape> at(x, f.range.first_router + word * 64 + static_cast<u32>(__builtin_ctzll(bits)));
      if constexpr (kRoundRobin && !kShape.single_flit && !kShape.whole_packets && !kShape.bubble)
        if (f.net.router.parallel_vc_allocation) allocate_vcs(at);
      if constexpr (kRoundRobin) round_robin(at);
      else if constexpr (kOrder == Order::kClasses) by_class(at);
      else by_priority(at);
      if (!at.any_asked()) active[word] &= ~(bits & -bits);
    }
  }
  f.part.route_list.insert(f.part.route_list.end(), f.w.again.begin(), f.w.again.begin() + x.again_count);
}

template <Shape kShape>
void allocate(Frame& f) {
  if (f.net.router.arbiter == Arbiter::kRoundRobin) allocate_all<kShape, Order::kRoundRobin>(f);
  else allocate_all<kShape, Order::kPriority>(f);
}

// The functions below choose the shape for a network. Each instance takes 0.1 s or more to compile. So only the routers
// of most studies have instances that are specialised for all facts. These instances serve plain runs with one mask
// word, or with two mask words and packets of one flit. All other routers share shapes that read the facts at run time.
constexpr Shape few_ports(Shape shape, u32 mask_words = 0) {
  shape.few_ports = true;
  shape.mask_words = mask_words;
  return shape;
}
constexpr Shape known(Shape shape, u32 mask_words, bool one_cycle) {
  shape = few_ports(shape, mask_words);
  shape.plain = true;
  shape.one_cycle = one_cycle;
  return shape;
}

template <Shape kShape>
void allocate_flits(Frame& f) {
  const Network& net = f.net;
  const bool is_plain = plain(f) && !f.sensed && !net.routing_facts.reroutes;
  const bool one_cycle = !net.router.multi_cycle_switch, one_port_word = net.asked_words == 1;
  if (is_plain && net.request_words == 1)
    return one_cycle ? allocate<known(kShape, 1, true)>(f) : allocate<known(kShape, 1, false)>(f);
  if constexpr (kShape.single_flit)
    if (is_plain && net.request_words == 2 && one_port_word)
      return one_cycle ? allocate<known(kShape, 2, true)>(f) : allocate<known(kShape, 2, false)>(f);
  return one_port_word ? allocate<few_ports(kShape)>(f) : allocate<kShape>(f);
}

template <Shape kShape>
void allocate_packets(Frame& f) {
  if (f.net.request_words == 1) return allocate<few_ports(kShape, 1)>(f);
  if (f.net.request_words == 2 && f.net.asked_words == 1) return allocate<few_ports(kShape, 2)>(f);
  return f.net.asked_words == 1 ? allocate<few_ports(kShape)>(f) : allocate<kShape>(f);
}

template <bool kOutputBuffers>
void allocate_by_kind(Frame& f) {
  const Network& net = f.net;
  const bool bubble = net.routing_facts.bubble;
  const bool single_flit = net.most_packet_flits == 1 && !net.router.separate_vc_allocation;
  if (net.classes)
    return net.whole_packets
               ? allocate_all<Shape{.output_buffers = kOutputBuffers, .whole_packets = true}, Order::kClasses>(f)
               : allocate_all<Shape{.output_buffers = kOutputBuffers}, Order::kClasses>(f);
  if (net.whole_packets && bubble)
    allocate<Shape{.output_buffers = kOutputBuffers, .bubble = true, .whole_packets = true}>(f);
  else if (net.whole_packets) allocate_packets<Shape{.output_buffers = kOutputBuffers, .whole_packets = true}>(f);
  else if (bubble) allocate<Shape{.output_buffers = kOutputBuffers, .bubble = true}>(f);
  else if (single_flit) allocate_flits<Shape{.output_buffers = kOutputBuffers, .single_flit = true}>(f);
  else allocate_flits<Shape{.output_buffers = kOutputBuffers}>(f);
}

}  // namespace

void switch_allocation(Frame& f) {
  const RouterParams& router = f.net.router;
  if (router.crossbar_per_vc) return switch_allocation_per_vc(f);
  if (router.arbiter == Arbiter::kIslip) return switch_allocation_islip(f);
  router.output_depth > 0 ? allocate_by_kind<true>(f) : allocate_by_kind<false>(f);
}

}  // namespace flitgym
