// Switch allocation: which input VCs move a flit through the crossbar in this cycle.
//
// A head wins its output VC together with the switch (VC allocation is part of the same grant); until its tail has
// followed, the output VC is owned by that input VC. A request that fails for lack of space downstream is parked with
// the output VC it waits for and costs nothing until space comes up.
#include <algorithm>

#include "stage/stage.hpp"

namespace flitgym {

namespace {

void park(Frame& f, InputVc& in, u32 v, u32 router, u32 in_port, u32 in_vc, OutputVc& out) {
  const u32 bit = in_port << ready_shift(f.net.vcs) | in_vc;
  f.s.ready[std::size_t{router} * f.s.ready_words + bit / 64] &= ~(u64{1} << (bit % 64));
  in.parked = 1;
  in.park_next = out.parked;
  out.parked = v;
}

// Can the flit in front go to its output VC now? If there is no room, the request is parked.
template <bool kOutputBuffers>
bool has_room(Frame& f, InputVc& in, u32 v, u32 router, u32 in_port, u32 in_vc) {
  const Network& net = f.net;
  const u32 port = net.port(router, in.out_port);
  OutputVc& out = f.s.output_vcs[std::size_t{port} * net.vcs + in.out_vc];
  const Flit flit = f.s.input_flits[std::size_t{v} * net.router.input_depth + in.head];
  const bool owned = (flit & kHead) && out.owner != kNone;
  const u32 room = kOutputBuffers ? net.router.output_depth - out.count : out.credits;
  if (!owned && room >= slots_needed(f, flit)) return true;
  if (!kOutputBuffers && !owned) begin_stall(f, f.s.ports[port]);
  park(f, in, v, router, in_port, in_vc, out);
  return false;
}

template <bool kOutputBuffers>
void grant(Frame& f, u32 router, u32 in_port, u32 in_vc) {
  const Network& net = f.net;
  State& s = f.s;
  const u32 input = net.port(router, in_port), v = input * net.vcs + in_vc, upstream = net.peer[input];
  InputVc& in = s.input_vcs[v];
  const u32 output = net.port(router, in.out_port), vc = in.out_vc;
  OutputVc& out = s.output_vcs[std::size_t{output} * net.vcs + vc];

  const Flit flit = s.input_flits[std::size_t{v} * net.router.input_depth + in.head];
  in.head = static_cast<u16>(in.head + 1u == net.router.input_depth ? 0 : in.head + 1u);
  if (--in.count == 0) in.head = 0;
  if (flit & kWatched) watch(f, flit, "wins the switch to", output, vc);

  // The freed slot goes back upstream as a credit.
  if (!net.router.packet_credits) {
    s.credits_due.push(f.now + net.hop_cycles[input], {upstream * net.vcs + in_vc, 1});
  } else if (flit & kTail) {
    s.credits_due.push(f.now + net.hop_cycles[input], {upstream * net.vcs + in_vc, s.packets[packet_of(flit)].flits});
  }

  if (flit & kTail) {
    in.routed = 0;
    if (net.learns && net.kind[input] != PortKind::kTerminal) {
      const PacketDetail& d = s.details[packet_of(flit)];
      if (d.value >= 0)
        s.feedback_due.push(f.now + net.hop_cycles[input], {upstream, d.row, static_cast<float>(d.reward * net.cycle_ns) + d.value});
    }
    if (in.count > 0) {
      if (net.router.pipeline_cycles == 0) s.route_list.push_back(v);
      else s.routes_due.push(f.now + 1 + net.router.pipeline_cycles, v);
    }
  }
  if ((flit & kTail) || in.count == 0) {
    const u32 bit = in_port << ready_shift(net.vcs) | in_vc;
    s.ready[std::size_t{router} * s.ready_words + bit / 64] &= ~(u64{1} << (bit % 64));
  }
  if (!(flit & kTail)) {
    out.owner = v;
  } else if (!(flit & kHead)) {
    out.owner = kNone;
    if (out.parked != kNone) wake_parked(net, s, out);
  }

  s.crossbars[input].input_busy_until = f.now + net.router.crossbar_cycles;
  s.totals.moves++;
  if (kOutputBuffers) {
    s.crossbars[output].output_busy_until = f.now + net.router.crossbar_cycles;
    enqueue_output(f, output, vc, flit, &s.output_flits[(std::size_t{output} * net.vcs + vc) * net.router.output_depth], net.router.output_depth, 1);
  } else {
    OutputPort& o = s.ports[output];
    if (o.stalled) end_stall(f, o, output);
    if (net.kind[output] != PortKind::kTerminal) {
      out.credits--;
      o.load++;
    }
    s.crossbars[output].output_busy_until = f.now + std::max(net.router.crossbar_cycles, net.flit_cycles[output]);
    put_on_channel(f, output, vc, flit, net.peer[output], net.hop_cycles[output]);
  }
}

// Separable, input first, one iteration (Dally & Towles, 19.3): every input picks one of its VCs, every output one of
// the inputs that picked it; the round-robin pointers move on only when both agreed.
template <bool kOutputBuffers>
void separable(Frame& f, u32 router) {
  const Network& net = f.net;
  State& s = f.s;
  const u32 shift = ready_shift(net.vcs), group = 1u << shift;
  const u64 group_mask = group == 64 ? ~u64{0} : (u64{1} << group) - 1;
  Crossbar* const crossbars = &s.crossbars[std::size_t{router} * net.radix];
  InputVc* const input_vcs = &s.input_vcs[std::size_t{router} * net.radix * net.vcs];
  u64 inputs_of[kMaxRadix], outputs = 0;
  u8 vc_of[kMaxRadix];

  for (u32 word = 0; word < s.ready_words; word++) {
    u64 bits = s.ready[std::size_t{router} * s.ready_words + word];
    while (bits) {
      const u32 base = static_cast<u32>(__builtin_ctzll(bits)) >> shift << shift;
      const u32 vcs = static_cast<u32>(bits >> base & group_mask), in_port = (word * 64 + base) >> shift;
      bits &= ~(group_mask << base);
      if (!passed(crossbars[in_port].input_busy_until, f.now)) continue;
      const u32 from = crossbars[in_port].next_vc, later = vcs >> from << from;
      for (u32 pass = 0, m = later; pass < 2; pass++, m = vcs & ~later)
        for (; m; m &= m - 1) {
          const u32 vc = static_cast<u32>(__builtin_ctz(m)), local = in_port * net.vcs + vc;
          InputVc& in = input_vcs[local];
          if (!passed(crossbars[in.out_port].output_busy_until, f.now)) continue;
          if (!has_room<kOutputBuffers>(f, in, router * net.radix * net.vcs + local, router, in_port, vc)) continue;
          if (!(outputs >> in.out_port & 1)) inputs_of[in.out_port] = 0;
          outputs |= u64{1} << in.out_port;
          inputs_of[in.out_port] |= u64{1} << in_port;
          vc_of[in_port] = static_cast<u8>(vc);
          pass = 2;
          break;
        }
    }
  }

  for (; outputs; outputs &= outputs - 1) {
    const u32 out_port = static_cast<u32>(__builtin_ctzll(outputs));
    const u64 inputs = inputs_of[out_port], later = inputs >> crossbars[out_port].next_input << crossbars[out_port].next_input;
    const u32 in_port = static_cast<u32>(__builtin_ctzll(later ? later : inputs)), vc = vc_of[in_port];
    crossbars[out_port].next_input = static_cast<u8>(in_port + 1 == net.radix ? 0 : in_port + 1);
    crossbars[in_port].next_vc = static_cast<u8>(vc + 1 == net.vcs ? 0 : vc + 1);
    grant<kOutputBuffers>(f, router, in_port, vc);
  }
}

// In order of priority: the whole router's requests, best first, each granted if its input and output are still free.
// Least recently served is the rule of Merlin's hr_router (xbar_arb_lru.h): one list of (input, VC) pairs; those served
// go to its end, the first served of a cycle last.
template <bool kOutputBuffers>
void by_priority(Frame& f, u32 router) {
  const Network& net = f.net;
  State& s = f.s;
  const u32 shift = ready_shift(net.vcs), vc_mask = (1u << shift) - 1;
  Crossbar* const crossbars = &s.crossbars[std::size_t{router} * net.radix];
  InputVc* const input_vcs = &s.input_vcs[std::size_t{router} * net.radix * net.vcs];
  const bool by_age = net.router.arbiter == Arbiter::kAge;

  std::vector<u64>& keys = f.w.keys;
  keys.clear();
  for (u32 word = 0; word < s.ready_words; word++)
    for (u64 bits = s.ready[std::size_t{router} * s.ready_words + word]; bits; bits &= bits - 1) {
      const u32 bit = word * 64 + static_cast<u32>(__builtin_ctzll(bits)), in_port = bit >> shift, vc = bit & vc_mask;
      const u32 local = in_port * net.vcs + vc, v = router * net.radix * net.vcs + local;
      InputVc& in = input_vcs[local];
      if (!passed(crossbars[in_port].input_busy_until, f.now) || !passed(crossbars[in.out_port].output_busy_until, f.now)) continue;
      if (!has_room<kOutputBuffers>(f, in, v, router, in_port, vc)) continue;
      u32 rank = in.served;
      if (by_age) rank = ~(f.now - s.packets[packet_of(s.input_flits[std::size_t{v} * net.router.input_depth + in.head])].generated);
      keys.push_back(u64{rank} << 32 | bit);
    }
  if (keys.empty()) return;
  if (keys.size() > 1) std::sort(keys.begin(), keys.end());

  u64 inputs = 0, outputs = 0;
  u32 served = 0;
  for (const u64 key : keys) {
    const u32 bit = static_cast<u32>(key), in_port = bit >> shift, vc = bit & vc_mask;
    InputVc& in = input_vcs[in_port * net.vcs + vc];
    if ((inputs >> in_port & 1) || (outputs >> in.out_port & 1)) continue;
    inputs |= u64{1} << in_port;
    outputs |= u64{1} << in.out_port;
    keys[served++] = key;
    grant<kOutputBuffers>(f, router, in_port, vc);
  }
  if (by_age) return;
  for (u32 k = served; k-- > 0;) {
    const u32 bit = static_cast<u32>(keys[k]);
    input_vcs[(bit >> shift) * net.vcs + (bit & vc_mask)].served = s.stamps[router]++;
  }
}

template <void (*kAllocate)(Frame&, u32)>
void allocate_all(Frame& f) {
  State& s = f.s;
  for (u32 word = 0; word < s.active_routers.size(); word++)
    for (u64 bits = s.active_routers[word]; bits; bits &= bits - 1) {
      const u32 router = word * 64 + static_cast<u32>(__builtin_ctzll(bits));
      kAllocate(f, router);
      u64 left = 0;
      for (u32 k = 0; k < s.ready_words; k++) left |= s.ready[std::size_t{router} * s.ready_words + k];
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
