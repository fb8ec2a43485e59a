// Switch allocation for routers in which every input VC and every output VC has a crossbar port
// (crossbar_ports=per_vc). There is no contention for crossbar ports. Heads contend only for output VCs. The winner is
// the oldest head or the least recently served input VC, and the other flits of its packet follow without contention.
// So a router has one mask of requests. A packet stays in it from its head to its tail, even while its next flit has
// not arrived.
#include "core/stage/switch.hpp"

namespace flitgym {

namespace {

using namespace switching;

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

// Requests are sorted by one number: InputVc::served, bit of the input VC within its router, output port. The smallest
// number is served first.
template <Shape kShape>
void allocate(const Router<kShape>& at) {
  const Fabric& x = at.x;
  u32* const served = &x.served[at.first_vc];
  const std::size_t rerouted = x.f.part.route_list.size();
  u64 keys[kMaxRadix * kMaxVcs + 1];        // the best request with room for each output VC
  u64 contended[kMaxRadix * kMaxVcs / 64];  // bit per output VC with such a request
  u16 place[kMaxRadix * kMaxVcs];           // index in `keys` of that request
  std::fill_n(contended, x.words, u64{0});
  std::fill_n(place, x.words * 64, u16{0});
  u32 n = 0;

  at.each_request(0, [&](u32 bit) __attribute__((always_inline)) {
    const InputVc& in = at.inputs[bit];
    const u64 key = u64{served[bit]} << 32 | bit << kPortBits | in.out_port;
    if (!kShape.single_flit && in.sent > 0 && in.count == 0) return;  // the packet's next flit has not arrived
    const bool holds = !kShape.single_flit && in.sent > 0;            // the packet holds the output VC
    if (!has_room(at, Request(at, in.out_port, bit))) [[unlikely]]
      return;
    if (holds) {
      keys[n++] = key;
      return;
    }
    // The least key of each output VC. Whether it has another request cannot be predicted.
    const u32 to = u32{in.out_port} << x.vc_shift | in.out_vc;
    u64& there = contended[to / 64];
    const bool other = there >> (to % 64) & 1;
    const u32 k = select(other, u32{place[to]}, n);
    keys[n] = ~u64{0};
    keys[k] = std::min(key, keys[k]);
    there |= u64{1} << (to % 64);
    place[to] = static_cast<u16>(k);
    n += !other;
  });

  if (n <= kFewKeys) sort_few(keys, n);
  else std::sort(keys, keys + n);
  auto& list = x.f.part.route_list;  // heads that are routed again, in the order of their outputs
  std::sort(list.begin() + static_cast<std::ptrdiff_t>(rerouted), list.end(), [&](u32 a, u32 b) {
    const u32 port_a = x.input_vcs[a].out_port, port_b = x.input_vcs[b].out_port;
    return port_a != port_b ? port_a < port_b : a < b;
  });
  for (u32 k = 0; k < n; k++) {
    const u32 bit = static_cast<u32>(keys[k]) >> kPortBits;
    grant(at, Request(at, static_cast<u32>(keys[k]) & kPortMask, bit));
  }
  if (x.net.router.arbiter != Arbiter::kLeastRecentlyServed) return;
  u32 stamp = x.stamps[at.id] += n;  // served VCs move to the end of the list, in reverse order
  for (u32 k = 0; k < n; k++) served[static_cast<u32>(keys[k]) >> kPortBits] = --stamp;
}

template <Shape kShape>
void allocate_all(Frame& f) {
  const Fabric x(f);
  for (u32 word = 0; word < f.range.words; word++)
    for (u64 bits = f.active[word]; bits; bits &= bits - 1) {
      const Router<kShape> at(x, f.range.first_router + word * 64 + static_cast<u32>(__builtin_ctzll(bits)));
      allocate(at);
      if (!at.any_asked()) f.active[word] &= ~(bits & -bits);
    }
}

}  // namespace

void switch_allocation_per_vc(Frame& f) {
  if (f.net.routing_facts.bubble) allocate_all<Shape{.output_buffers = true, .bubble = true, .per_vc = true}>(f);
  else if (f.net.most_packet_flits == 1 && !f.net.router.separate_vc_allocation)
    allocate_all<Shape{.output_buffers = true, .single_flit = true, .per_vc = true}>(f);
  else allocate_all<Shape{.output_buffers = true, .per_vc = true}>(f);
}

}  // namespace flitgym
