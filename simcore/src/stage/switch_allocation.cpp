// Switch allocation: which input VCs move a flit through the crossbar in this cycle.
//
// A head wins its output VC together with the switch (VC allocation is part of the same grant); until its tail has
// followed, the output VC is owned by that input VC. A request that fails for lack of space downstream is parked with
// the output VC it waits for and costs nothing until space comes up.
#include <algorithm>

#include "stage/stage.hpp"

namespace flitgym {

namespace {

// The arrays a grant touches, fetched once per cycle.
struct Fabric {
  explicit Fabric(Frame& frame)
      : f(frame), net(frame.net), s(frame.s), input_vcs(s.input_vcs.data()), output_vcs(s.output_vcs.data()), ports(s.ports.data()), rings(s.input_flits.data()),
        channels(net.channels.data()), ready(s.ready.data()), vcs(net.vcs), radix(net.radix), depth(net.router.input_depth), shift(ready_shift(net.vcs)),
        words(s.ready_words), now(frame.now) {}
  Frame& f;
  const Network& net;
  State& s;
  InputVc* const input_vcs;
  OutputVc* const output_vcs;
  Port* const ports;
  Flit* const rings;
  const Channel* const channels;
  u64* const ready;
  const u32 vcs, radix, depth, shift, words;
  const Cycle now;

  void clear_ready(u32 router, u32 in_port, u32 in_vc) const {
    const u32 bit = in_port << shift | in_vc;
    ready[std::size_t{router} * words + bit / 64] &= ~(u64{1} << (bit % 64));
  }
};

// Can the flit in front go to its output VC now? If there is no room, the request is parked.
template <bool kOutputBuffers>
inline bool has_room(const Fabric& x, InputVc& in, u32 v, u32 router, u32 in_port, u32 in_vc) {
  const u32 port = router * x.radix + in.out_port;
  OutputVc& out = x.output_vcs[std::size_t{port} * x.vcs + in.out_vc];
  const Flit flit = in.front;
  if (in.count > 1) __builtin_prefetch(&x.rings[std::size_t{v} * x.depth + in.head + 1]);
  const bool owned = (flit & kHead) && out.owner != kNone;
  const u32 room = kOutputBuffers ? x.net.router.output_depth - out.count : out.credits;
  if (!owned && room >= slots_needed(x.f, flit)) [[likely]] return true;
  if (!kOutputBuffers && !owned) begin_stall(x.f, x.ports[port]);
  x.clear_ready(router, in_port, in_vc);
  in.parked = 1;
  in.park_next = out.parked;
  out.parked = v;
  return false;
}

template <bool kOutputBuffers>
inline __attribute__((always_inline)) void grant(const Fabric& x, u32 router, u32 in_port, u32 in_vc) {
  const Network& net = x.net;
  State& s = x.s;
  const u32 input = router * x.radix + in_port, v = input * x.vcs + in_vc;
  InputVc& in = x.input_vcs[v];
  const u32 output = router * x.radix + in.out_port, vc = in.out_vc;
  OutputVc& out = x.output_vcs[std::size_t{output} * x.vcs + vc];
  Port& o = x.ports[output];
  const Channel& back = x.channels[input];

  const Flit flit = pop_flit(in, &x.rings[std::size_t{v} * x.depth], x.depth);
  if (flit & kWatched) [[unlikely]] watch(x.f, flit, "wins the switch to", output, vc);

  // The freed slot goes back upstream as a credit.
  if (!net.router.packet_credits) {
    s.credit_lines.lines[back.line].push({back.peer * x.vcs + in_vc, 1});
  } else if (flit & kTail) {
    s.credit_lines.lines[back.line].push({back.peer * x.vcs + in_vc, flit & kHead ? 1u : s.packets[packet_of(flit)].flits});
  }

  if (flit & kTail) {
    in.routed = 0;
    if (net.learns && back.kind != PortKind::kTerminal) {
      const PacketDetail& d = s.details[packet_of(flit)];
      if (d.value >= 0) s.feedback_lines.lines[back.line].push({back.peer, d.row, static_cast<float>(d.reward * net.cycle_ns) + d.value});
    }
    x.clear_ready(router, in_port, in_vc);
    if (in.count > 0) {
      __builtin_prefetch(&s.packets[packet_of(in.front)], 1);
      request_route(x.f, v, x.now + 1);
    }
    if (!(flit & kHead)) {
      out.owner = kNone;
      if (out.parked != kNone) wake_parked(net, s, out);
    }
  } else {
    if (in.count == 0) x.clear_ready(router, in_port, in_vc);
    out.owner = v;
  }

  s.totals.moves++;
  x.ports[input].input_busy_until = x.now + net.router.crossbar_cycles;
  if (kOutputBuffers) {
    o.output_busy_until = x.now + net.router.crossbar_cycles;
    enqueue_output(x.f, output, vc, flit, &s.output_flits[(std::size_t{output} * x.vcs + vc) * net.router.output_depth], net.router.output_depth, 1);
  } else {
    if (o.stalled) end_stall(x.f, o);
    if (x.channels[output].kind != PortKind::kTerminal) {
      out.credits--;
      o.load++;
    }
    o.output_busy_until = x.now + std::max(net.router.crossbar_cycles, x.channels[output].flit_cycles);
    put_on_channel(x.f, o, output, vc, flit);
  }
}

// Separable, input first (Dally & Towles, 19.3): every input picks one of its VCs, every output one of the inputs that
// picked it. Inputs that lost and hold other requests try those in the further iterations, if their outputs are free;
// the round-robin pointers move on only when both agreed.
template <bool kOutputBuffers>
void separable(const Fabric& x, u32 router) {
  const u32 group = 1u << x.shift, first_vc = router * x.radix * x.vcs;
  const u64 group_mask = (u64{1} << group) - 1;
  Port* const ports = &x.ports[std::size_t{router} * x.radix];
  InputVc* const input_vcs = &x.input_vcs[first_vc];
  const bool slow = x.net.router.multi_cycle_switch;
  u64 inputs_of[kMaxRadix], outputs = 0, matched = 0, several = 0;
  u8 vc_of[kMaxRadix];

  // From next_input_vc on and around: the VCs below it come as bits above the group.
  const auto propose = [&](u32 in_port, u32 asking) {
    const u32 from = (asking & (asking - 1)) ? ports[in_port].next_input_vc : 0;
    for (u64 m = (u64{asking} | u64{asking} << group) >> from & group_mask; m; m &= m - 1) {
      u32 vc = static_cast<u32>(__builtin_ctzll(m)) + from;
      if (vc >= group) vc -= group;
      const u32 local = in_port * x.vcs + vc;
      InputVc& in = input_vcs[local];
      if (matched >> in.out_port & 1) continue;
      if (slow && !passed(ports[in.out_port].output_busy_until, x.now)) continue;
      if (!has_room<kOutputBuffers>(x, in, first_vc + local, router, in_port, vc)) continue;
      const u64 taken = outputs >> in.out_port & 1;
      inputs_of[in.out_port] = (taken ? inputs_of[in.out_port] : 0) | u64{1} << in_port;
      outputs |= u64{1} << in.out_port;
      vc_of[in_port] = static_cast<u8>(vc);
      return;
    }
  };

  for (u32 word = 0; word < x.words; word++)
    for (u64 bits = x.ready[std::size_t{router} * x.words + word]; bits;) {
      const u32 base = static_cast<u32>(__builtin_ctzll(bits)) >> x.shift << x.shift;
      const u32 asking = static_cast<u32>(bits >> base & group_mask), in_port = (word * 64 + base) >> x.shift;
      bits &= ~(group_mask << base);
      if (slow && !passed(ports[in_port].input_busy_until, x.now)) continue;
      if (asking & (asking - 1)) several |= u64{1} << in_port;
      propose(in_port, asking);
    }

  for (u32 iteration = 0; outputs; iteration++) {
    u64 lost = 0;
    matched |= outputs;
    for (; outputs; outputs &= outputs - 1) {
      const u32 out_port = static_cast<u32>(__builtin_ctzll(outputs));
      Port& o = ports[out_port];
      const u64 inputs = inputs_of[out_port], later = inputs >> o.next_input << o.next_input;
      const u32 in_port = static_cast<u32>(__builtin_ctzll(later ? later : inputs)), vc = vc_of[in_port];
      lost |= inputs & ~(u64{1} << in_port);
      o.next_input = static_cast<u16>(in_port + 1 == x.radix ? 0 : in_port + 1);
      ports[in_port].next_input_vc = static_cast<u16>(vc + 1 == x.vcs ? 0 : vc + 1);
      grant<kOutputBuffers>(x, router, in_port, vc);
    }
    if (iteration + 1 == x.net.router.allocator_iterations) break;
    for (lost &= several; lost; lost &= lost - 1) {
      const u32 in_port = static_cast<u32>(__builtin_ctzll(lost)), bit = in_port << x.shift;
      propose(in_port, static_cast<u32>(x.ready[std::size_t{router} * x.words + bit / 64] >> (bit % 64) & group_mask));
    }
  }
}

// In order of priority: the whole router's requests, best first, each granted if its input and output are still free.
// Least recently served is the rule of Merlin's hr_router (xbar_arb_lru.h): one list of (input, VC) pairs; those served
// go to its end, the first served of a cycle last.
template <bool kOutputBuffers>
void by_priority(const Fabric& x, u32 router) {
  const u32 vc_mask = (1u << x.shift) - 1, first_vc = router * x.radix * x.vcs;
  Port* const ports = &x.ports[std::size_t{router} * x.radix];
  InputVc* const input_vcs = &x.input_vcs[first_vc];
  const bool by_age = x.net.router.arbiter == Arbiter::kAge;

  u64 keys[kMaxRadix * kMaxVcs];
  u32 n = 0;
  for (u32 word = 0; word < x.words; word++)
    for (u64 bits = x.ready[std::size_t{router} * x.words + word]; bits; bits &= bits - 1) {
      const u32 bit = word * 64 + static_cast<u32>(__builtin_ctzll(bits)), in_port = bit >> x.shift, vc = bit & vc_mask;
      const u32 local = in_port * x.vcs + vc;
      InputVc& in = input_vcs[local];
      if (!passed(ports[in_port].input_busy_until, x.now) || !passed(ports[in.out_port].output_busy_until, x.now)) continue;
      if (!has_room<kOutputBuffers>(x, in, first_vc + local, router, in_port, vc)) continue;
      const u32 rank = by_age ? ~(x.now - x.s.packets[packet_of(in.front)].generated) : in.served;
      // Insertion keeps the few keys sorted.
      const u64 key = u64{rank} << 32 | bit;
      u32 k = n++;
      for (; k > 0 && keys[k - 1] > key; k--) keys[k] = keys[k - 1];
      keys[k] = key;
    }

  u64 inputs = 0, outputs = 0;
  u32 served = 0;
  for (u32 k = 0; k < n; k++) {
    const u32 bit = static_cast<u32>(keys[k]), in_port = bit >> x.shift, vc = bit & vc_mask;
    const u32 out_port = input_vcs[in_port * x.vcs + vc].out_port;
    if ((inputs >> in_port & 1) || (outputs >> out_port & 1)) continue;
    inputs |= u64{1} << in_port;
    outputs |= u64{1} << out_port;
    keys[served++] = keys[k];
    grant<kOutputBuffers>(x, router, in_port, vc);
  }
  for (u32 k = served; k-- > 0;) {
    const u32 bit = static_cast<u32>(keys[k]);
    input_vcs[(bit >> x.shift) * x.vcs + (bit & vc_mask)].served = x.s.stamps[router]++;
  }
}

template <void (*kAllocate)(const Fabric&, u32)>
void allocate_all(Frame& f) {
  State& s = f.s;
  const Fabric x(f);
  for (u32 word = 0; word < s.active_routers.size(); word++)
    for (u64 bits = s.active_routers[word]; bits; bits &= bits - 1) {
      const u32 router = word * 64 + static_cast<u32>(__builtin_ctzll(bits));
      kAllocate(x, router);
      u64 left = 0;
      for (u32 k = 0; k < x.words; k++) left |= x.ready[std::size_t{router} * x.words + k];
      if (!left) s.active_routers[word] &= ~(bits & -bits);
    }
}

}  // namespace

void switch_allocation(Frame& f) {
  const bool output_buffers = f.net.router.output_depth > 0, separated = f.net.router.arbiter == Arbiter::kRoundRobin;
  if (separated) output_buffers ? allocate_all<separable<true>>(f) : allocate_all<separable<false>>(f);
  else output_buffers ? allocate_all<by_priority<true>>(f) : allocate_all<by_priority<false>>(f);
}

}  // namespace flitgym
