// Switch allocation for routers in which every input VC and every output VC has a crossbar port
// (crossbar_ports=per_vc). There is no contention for crossbar ports. Heads contend only for output VCs. The winner is
// the oldest head or the least recently served input VC, and the other flits of its packet follow without contention.
// So a router has one mask of requests. A packet stays in it from its head to its tail, even while its next flit has
// not arrived.
#include <algorithm>
#include <bit>

#include "core/stage/stage.hpp"

namespace flitgym {

namespace {

// A request as one number: InputVc::served, bit of the input VC within its router, output port. The smallest number is
// served first.
constexpr u32 kPortBits = std::bit_width(kMaxRadix - 1), kPortMask = kMaxRadix - 1;

struct Crossbar {
  explicit Crossbar(Frame& frame)
      : f(frame), net(frame.net), s(frame.s), input_vcs(s.input_vcs.data()), output_vcs(s.output_vcs.data()),
        ports(s.ports.data()), next(s.next.data()), packets(s.packets.data()), channels(net.channels.data()),
        credit_lines(f.part.credit_lines.lines.data()), requests(s.requests.data()), vc_shift(net.vc_shift),
        radix_shift(net.radix_shift), words(net.request_words), depth(net.router.output_depth),
        uncharged(net.router.charged_at_switch ? 0 : 0xffff) {}
  Frame& f;
  const Network& net;
  State& s;
  InputVc* const input_vcs;
  OutputVc* const output_vcs;
  Port* const ports;
  Flit* const next;
  const Packet* const packets;
  const Channel* const channels;
  DelayLine<CreditEvent>* const credit_lines;
  u64* const requests;
  const u32 vc_shift, radix_shift, words, depth;
  const u32 uncharged;  // as in switch.hpp

  u64* mask(u32 router) const { return &requests[(std::size_t{router} << radix_shift) * words]; }
  u32 room(const OutputVc& out) const { return std::min<u32>(depth, out.credits | uncharged) - out.count; }
  u32 first_vc(u32 router) const { return router << (radix_shift + vc_shift); }
};

// A request that fails waits at its output VC, or its head is routed again.
void put_off(const Crossbar& x, u32 router, u32 bit, OutputVc& out) {
  const u32 v = x.first_vc(router) | bit;
  InputVc& in = x.input_vcs[v];
  x.mask(router)[bit / 64] &= ~(u64{1} << (bit % 64));
  if (!x.net.routing_facts.reroutes || in.sent > 0) return park(x.f, out, v);
  in.out_vc = kNoVc;
  if (x.net.accounted_jobs) workload::account_unrouted(x.f, v, x.net.port(router, in.out_port));
  x.f.part.route_list.push_back(v);
}

// Whether the head in front can go to its output VC now. If there is no room, or another packet holds the VC, the
// request is put off: it waits at its output VC, or its head is routed again.
bool head_may_go(const Crossbar& x, u32 router, u32 bit, const InputVc& in, OutputVc& out) {
  const Network& net = x.net;
  const auto output_vc = static_cast<std::size_t>(&out - x.output_vcs);
  u32& owner = x.f.s.owners[output_vc];
  const u32 v = x.first_vc(router) | bit;
  const auto fits = [&] {
    u32 needed = slots_needed(x.f, in);
    if (net.routing_facts.bubble) {
      const u16 ring = net.ring_of_output[in.out_port];
      // a packet that enters the ring leaves room for another one
      if (ring != kNoRing && net.ring_of_input[bit >> x.vc_shift] != ring) needed += net.most_packet_flits;
    }
    return x.room(out) >= needed;
  };
  if (net.router.separate_vc_allocation) {
    // A head that wins the output VC can request the switch from the next cycle on.
    Cycle& since = x.f.s.owned_since[output_vc];
    if (owner == kNone && (!net.routing_facts.bubble || fits())) {
      owner = v;
      since = x.f.now;
    }
    if (owner == v && since == x.f.now) return false;
    const bool owned = owner != v && (!net.routing_facts.bubble || owner != kNone);
    if (!owned && fits()) return true;
  } else if (owner == kNone && fits()) {
    return true;
  }
  put_off(x, router, bit, out);
  return false;
}

template <bool kSingleFlit>
inline __attribute__((always_inline)) void grant(const Crossbar& x, u32 router, u32 bit) {
  const Network& net = x.net;
  Frame& f = x.f;
  const u32 v = x.first_vc(router) | bit, input = v >> x.vc_shift;
  InputVc& in = x.input_vcs[v];
  const u32 output = router << x.radix_shift | in.out_port, vc = in.out_vc;
  OutputVc& out = x.output_vcs[output << x.vc_shift | vc];
  u32& owner = f.s.owners[output << x.vc_shift | vc];
  const Channel& back = x.channels[input];

  const Flit flit = pop_flit<kSingleFlit>(in, x.next, x.packets);
  const u32 packet = packet_of(flit);
  const bool head = kSingleFlit || (flit & kHead), tail = kSingleFlit || (flit & kTail);
  if (flit & kWatched) [[unlikely]]
    watch(f, flit, "wins the switch to", output, vc);

  // The freed slot goes back upstream as a credit.
  const u16 freed = kSingleFlit || !net.router.packet_credits ? 1 : !tail ? 0 : x.packets[packet].flits;
  const u16 job = net.workload ? x.packets[packet].job : 0;
  if (kSingleFlit || freed > 0)
    x.credit_lines[back.credit_line].push({back.peer << x.vc_shift | net.vc_of(v), freed, job});

  if (head && net.learns) answer(f, back, packet);
  if (tail) {
    in.out_vc = kNoVc;
    if (net.accounted_jobs) workload::account_left(f, v, output, packet);
    x.mask(router)[bit / 64] &= ~(u64{1} << (bit % 64));
    if (in.count > 0) {
      __builtin_prefetch(&x.packets[packet_of(in.front)], 1);
      request_route(f, v, f.now + 1);
    }
    if (!kSingleFlit) {
      const bool owned = !head || net.router.separate_vc_allocation;
      if (owned) owner = kNone;
      // The age arbiter wakes one request at a time, and there may be room for the next request.
      if (out.parked != kNoVc && (owned || net.router.arbiter == Arbiter::kAge)) wake_parked(f, out);
    }
  } else if (head) {
    owner = v;
  }
  enqueue_output(f, x.ports[output], out, x.next, output, vc, flit, 1);
  if (f.sensed) f.sensed[net.sensed.at(output, vc)] += net.sensed.queue();
}

constexpr u32 kFewKeys = 32;

// Sorts distinct keys by the number of smaller keys. No branch depends on their order, which cannot be predicted, and
// the compiler compares several keys at once.
inline void sort_few(u64* keys, u32 n) {
  constexpr u32 kBlock = 8;
  u64 all[kFewKeys + kBlock];
  std::copy_n(keys, n, all);
  std::fill_n(&all[n], kBlock, ~u64{0});
  for (u32 i = 0; i < n; i++) {
    u64 rank = 0;
    for (u32 j = 0; j < n; j += kBlock)
      for (u32 k = 0; k < kBlock; k++) rank += all[j + k] < all[i];
    keys[rank] = all[i];
  }
}

template <bool kSingleFlit>
void allocate(const Crossbar& x, u32 router) {
  InputVc* const input_vcs = &x.input_vcs[x.first_vc(router)];
  OutputVc* const output_vcs = &x.output_vcs[x.first_vc(router)];
  u32* const served = &x.f.s.served[x.first_vc(router)];
  const u64* const mask = x.mask(router);
  const std::size_t rerouted = x.f.part.route_list.size();
  u64 keys[kMaxRadix * kMaxVcs + 1];        // the best request with room for each output VC
  u64 contended[kMaxRadix * kMaxVcs / 64];  // bit per output VC with such a request
  u16 place[kMaxRadix * kMaxVcs];           // index in `keys` of that request
  std::fill_n(contended, x.words, u64{0});
  std::fill_n(place, x.words * 64, u16{0});
  u32 n = 0, moves = 0;

  for (u32 word = 0; word < x.words; word++)
    for (u64 m = mask[word]; m; m &= m - 1) {
      const u32 bit = word * 64 + static_cast<u32>(__builtin_ctzll(m));
      InputVc& in = input_vcs[bit];
      const u32 at = u32{in.out_port} << x.vc_shift | in.out_vc;
      OutputVc& out = output_vcs[at];
      const u64 key = u64{served[bit]} << 32 | bit << kPortBits | in.out_port;
      if constexpr (kSingleFlit) {
        if (x.room(out) == 0) [[unlikely]] {
          put_off(x, router, bit, out);
          continue;
        }
      } else if (in.sent > 0) {  // the packet already holds the output VC
        if (in.count == 0) continue;
        if (x.room(out) == 0) put_off(x, router, bit, out);
        else keys[n++] = key;
        continue;
      } else if (!head_may_go(x, router, bit, in, out)) {
        continue;
      }
      // The least key of each output VC. Whether it has another request cannot be predicted.
      u64& there = contended[at / 64];
      const bool other = there >> (at % 64) & 1;
      const u32 k = select(other, u32{place[at]}, n);
      keys[n] = ~u64{0};
      keys[k] = std::min(key, keys[k]);
      there |= u64{1} << (at % 64);
      place[at] = static_cast<u16>(k);
      n += !other;
    }

  if (n <= kFewKeys) sort_few(keys, n);
  else std::sort(keys, keys + n);
  auto& list = x.f.part.route_list;  // heads that are routed again, in the order of their outputs
  std::sort(list.begin() + static_cast<std::ptrdiff_t>(rerouted), list.end(), [&](u32 a, u32 b) {
    const u32 port_a = x.input_vcs[a].out_port, port_b = x.input_vcs[b].out_port;
    return port_a != port_b ? port_a < port_b : a < b;
  });
  for (u32 k = 0; k < n; k++, moves++) grant<kSingleFlit>(x, router, static_cast<u32>(keys[k]) >> kPortBits);
  x.f.part.totals.moves += moves;
  if (x.net.router.arbiter != Arbiter::kLeastRecentlyServed) return;
  u32 stamp = x.s.stamps[router] += n;  // served VCs move to the end of the list, in reverse order
  for (u32 k = 0; k < n; k++) served[static_cast<u32>(keys[k]) >> kPortBits] = --stamp;
}

template <bool kSingleFlit>
void allocate_all(Frame& f) {
  const Crossbar x(f);
  for (u32 word = 0; word < f.range.words; word++)
    for (u64 bits = f.active[word]; bits; bits &= bits - 1) {
      const u32 router = f.range.first_router + word * 64 + static_cast<u32>(__builtin_ctzll(bits));
      allocate<kSingleFlit>(x, router);
      const u64* const mask = x.mask(router);
      if (std::any_of(mask, mask + x.words, [](u64 left) { return left != 0; })) continue;
      f.s.outputs_asked[router * f.net.asked_words] = 0;
      f.active[word] &= ~(bits & -bits);
    }
}

}  // namespace

void switch_allocation_per_vc(Frame& f) {
  if (f.net.most_packet_flits == 1 && !f.net.router.separate_vc_allocation) allocate_all<true>(f);
  else allocate_all<false>(f);
}

}  // namespace flitgym
