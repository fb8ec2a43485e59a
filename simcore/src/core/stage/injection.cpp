// Injection: each source has a generation clock and a bounded NIC buffer. An open-loop source needs no memory for its
// infinite queue. While the NIC is full the clock waits, and each packet keeps the time at which it should have been
// generated.
#include "core/hosts/engine.hpp"
#include "core/stage/acknowledgement.hpp"
#include "core/stage/generation.hpp"
#include "core/stage/train.hpp"
#include "simcore/stats.hpp"
#include "simcore/traffic_classes.hpp"

namespace flitgym {

// If the load changes before the next tick, Bernoulli trials draw the remaining time again, because they have no
// memory. A fixed interval is stretched in proportion.
u64 tick_across_changes(const Network& net, Terminal& x, u32 terminal, u64 from) {
  if (std::ranges::all_of(net.gap_fixed, [](u64 fixed) { return fixed == kNever; })) return kNever;
  while (from >= step_end(net, x)) next_step(net, x, terminal);
  double remaining = 1;
  for (;;) {
    const u64 step_gap = gap(net, terminal, x.round, x.step);
    const u64 span = step_gap == kNever
                         ? kNever
                         : static_cast<u64>(static_cast<double>(step_gap) * remaining) - (from - gap_begin(net, from));
    const u64 change = step_end(net, x);
    const u64 left = change - from;
    if (span != kNever && (span < left || (span == left && net.trial_at_change))) return from + span;
    if (change == kNever) return kNever;
    if (net.fixed_interval && step_gap != kNever)
      remaining *= 1 - static_cast<double>(change - from) / static_cast<double>(span);
    from = change;
    next_step(net, x, terminal);
    worked(8);  // at a low load, millions of steps pass without a tick
  }
}

// A tick beyond the end of the wheel is first scheduled at the end of the wheel, and there scheduled again.
static inline __attribute__((always_inline)) void schedule(Frame& f, const Terminal& x, u32 terminal) {
  if (x.next_tick == kNever) return;
  const Cycle due = cycle_of(x.next_tick), limit = f.now + f.part.sources_due.longest();
  f.part.sources_due.push(passed(limit, due) ? limit : due, terminal);
}

static void begin_round(Frame& f, Terminal& x, u32 terminal) {
  if (!f.net.on_off) x.tick = cycle_of(x.next_tick);
  x.index = 0;
  x.left = f.net.round_size(f.net.seed, terminal, x.round, x.step);
  x.round++;
  if (f.part.window.open) f.part.window.generated += x.left;
}

// The VC of the NIC with the most room for another packet, among those of a traffic class, which begin at `first`. If
// several VCs have the same room, the lowest number wins. With iSLIP, the VCs with a credit take turns (BookSim2,
// trafficmanager.cpp: _Step).
static u32 injection_vc(const Network& net, const State& s, u32 nic, u32 first) {
  const OutputVc* const own = &s.output_vcs[net.vc_id(nic, first)];
  const u32 vcs = net.router.injection_vcs;
  if (net.router.arbiter == Arbiter::kIslip) {
    for (u32 k = 0; k < vcs; k++)
      if (const u32 vc = (s.ports[nic].next_vc + k) % vcs; own[vc].credits > own[vc].count) return vc;
    return s.ports[nic].next_vc % vcs;
  }
  u32 best = 0;
  for (u32 vc = 1; vc < vcs; vc++)
    if (own[vc].credits - own[vc].count > own[best].credits - own[best].count) best = vc;
  return first + best;
}

static inline u32 next_size(const Network& net, const Terminal& x, u32 terminal) {
  const u32 least = net.least_packet_flits, most = net.most_packet_flits;
  return least == most ? least
                       : least + below(draw(net.seed, u64{terminal} << 32 | x.sequence, kDrawSize), most - least + 1);
}

static u32 new_packet(Frame& f) {
  const Network& net = f.net;
  State& s = f.s;
  if (net.partitions() > 1)
    throw CoreError(
        "a partition has no free packets left for this window (src/core/partition.cpp); if the state is from a "
        "snapshot, the snapshot may be damaged");
  s.packets.emplace_back();
  s.next.push_back(kNone);
  if (net.learns) s.details.emplace_back();
  return static_cast<u32>(s.packets.size()) - 1;
}

// A packet enters the queue of the NIC of `terminal`. kPlain: no watched packet and no accounts of jobs (frame.hpp).
template <bool kPlain>
static inline __attribute__((always_inline)) void enqueue(Frame& f, u32 id, u32 terminal, u32 flits, u32 traffic_class,
                                                          Flit watched) {
  const Network& net = f.net;
  State& s = f.s;
  const Observers<kPlain> observers(f);
  if (!net.packet_memories.empty()) begin_packet(net, s, id);
  if (net.learns) s.details[id] = {f.now, 0, -1.0f, 0};

  const u32 nic = net.nic(terminal);
  Port& o = s.ports[nic];
  const u32 vc = injection_vc(net, s, nic, kPlain ? 0 : traffic_class * net.class_vcs);
  OutputVc& out = s.output_vcs[net.vc_id(nic, vc)];
  observers.queued(net.vc_id(net.channels[nic].peer, vc), id);
  if (net.whole_packets) {
    s.packets[id].tail = f.now;
    push_packet(out, s.next.data(), id << kFlitShift | watched, flits);
    queue_grows(f, o, out, nic, vc, flits, 0);
  } else if (flits == 1 && o.queued == 0 && net.router.wake_cycles == 0 && net.router.edge_mask == 0 &&
             net.router.arbiter != Arbiter::kIslip && (kPlain || !net.classes) && !o.awake && out.credits > 0 &&
             passed(o.busy_until, f.now)) {
    // An idle NIC without wake-up time sends in this cycle. The packet bypasses the queue, with the same result.
    out.credits--;
    o.load++;
    const Channel& channel = net.channels[nic];
    o.busy_until = f.now + channel.flit_cycles;
    put_on_channel<kPlain>(f, f.part.flit_lines.lines.data(), channel, net.vc_id(channel.peer, vc), o, nic, vc,
                           id << kFlitShift | kHead | kTail | watched);
    f.part.totals.moves++;
  } else
    for (u32 k = 0; k < flits; k++) {
      push_flit(out, s.next.data(), id << kFlitShift | (k == 0 ? kHead : 0) | (k + 1 == flits ? kTail : 0) | watched);
      queue_grows(f, o, out, nic, vc, 1, 0);
    }
  f.part.totals.packets_in_network++;
  f.part.totals.flits_in_network += flits;
  f.part.totals.flits_accepted += flits;
  observers.log(id << kFlitShift | kHead | kTail | watched, "is accepted by", nic, vc);
}

// A new packet enters the NIC of `terminal`, whose clock is x.
template <bool kPlain>
static inline __attribute__((always_inline)) u32 accept(Frame& f, Terminal& x, u32 terminal, u32 destination, u32 flits,
                                                        Cycle generated, u32 job, u32 traffic_class) {
  const Network& net = f.net;
  State& s = f.s;
  u32 id;
  if (f.part.free_packets.empty()) [[unlikely]] {
    id = new_packet(f);
  } else {
    id = f.part.free_packets.back();
    f.part.free_packets.pop_back();
  }
  const auto own_class = static_cast<u8>(traffic_class);
  s.packets[id] = {terminal, destination,          x.sequence, generated, f.now, static_cast<u16>(flits), 0, kUndecided,
                   0,        static_cast<u8>(job), 0,          own_class, 0};
  if (net.control) control::sent(f, terminal, destination, flits);
  Flit watched = 0;
  for (std::size_t k = 0; !kPlain && k + 1 < s.watched.size(); k += 2)
    if (s.watched[k] == terminal && s.watched[k + 1] == x.sequence) watched = kWatched;
  enqueue<kPlain>(f, id, terminal, flits, traffic_class, watched);
  x.sequence++;
  if (f.part.window.open) f.part.window.accepted++;
  return id;
}

template <bool kPlain>
static inline __attribute__((always_inline)) void fill(Frame& f, Terminal& x, u32 terminal, bool backlogged,
                                                       const u64* gap = nullptr) {
  const Network& net = f.net;
  const Port& nic = f.s.ports[net.nic(terminal)];
  const u32 own_class = !kPlain && net.classes ? net.classes->of_terminal[terminal] : 0;
  for (;;) {
    while (x.left > 0) {
      const u32 flits = next_size(net, x, terminal);
      if (nic.queued + flits > net.router.nic_depth) break;
      const u32 stream = net.on_off && net.on_off->one_destination ? x.step : x.sequence;
      const u32 to = net.destination(net.seed, terminal, stream, x.round - 1, x.index, x.step);
      if (net.control && !control::may_go(f, terminal, to, flits)) break;
      accept<kPlain>(f, x, terminal, to, flits, cycle_of(x.next_tick), 0, own_class);
      x.index++;
      x.left--;
    }
    if (x.left > 0) {
      if (!backlogged) f.part.totals.backlogged++;
      return;
    }
    // The round is complete. If the backlog is lost, the clock starts again now. If it is kept, the next round may be
    // due.
    u64 from = x.next_tick;
    if (backlogged && !net.router.keep_backlog) {
      from = u64{f.now} << 32;
      if (f.part.window.open) f.part.window.missed += packets_missed(net, f.s, x, f.now);
    }
    x.next_tick = gap ? after(net, from, *gap) : next_tick(net, x, terminal, from);
    gap = nullptr;
    if (x.next_tick == kNever || !passed(cycle_of(x.next_tick), f.now)) break;
    begin_round(f, x, terminal);
  }
  if (backlogged) f.part.totals.backlogged--;
  schedule(f, x, terminal);
}

constexpr std::size_t kBlock = 64;

template <bool kPlain>
static void begin_rounds(Frame& f) {
  Terminal* const terminals = f.s.terminals.data();
  const std::vector<u32>& ids = f.w.ids;
  const bool one_load = f.net.load_steps == 1;
  u64 gaps[kBlock];  // gaps that follow the next rounds of up to kBlock sources
  for (std::size_t k = 0; k < ids.size(); k++) {
    // The gap after a round depends only on the terminal and the number of the round. A separate loop lets the
    // processor overlap the draws of several gaps.
    if (one_load && k % kBlock == 0)
      for (std::size_t j = k; j < std::min(k + kBlock, ids.size()); j++)
        gaps[j - k] = gap(f.net, ids[j], terminals[ids[j]].round + 1, 0);
    Terminal& x = terminals[ids[k]];
    if (!passed(cycle_of(x.next_tick), f.now)) {
      schedule(f, x, ids[k]);
      continue;
    }
    begin_round(f, x, ids[k]);
    fill<kPlain>(f, x, ids[k], false, one_load ? &gaps[k % kBlock] : nullptr);
  }
}

u32 inject_packet(Frame& f, u32 terminal, u32 destination, u32 flits, Cycle generated, u32 job, u32 traffic_class) {
  Terminal& x = f.s.terminals[terminal];
  return plain(f) ? accept<true>(f, x, terminal, destination, flits, generated, job, 0)
                  : accept<false>(f, x, terminal, destination, flits, generated, job, traffic_class);
}

void inject_acknowledgement(Frame& f, u32 id) {
  const Packet& p = f.s.packets[id];
  const u32 nic = f.net.nic(p.source), vc = injection_vc(f.net, f.s, nic, p.traffic_class * f.net.class_vcs);
  if (f.s.output_vcs[f.net.vc_id(nic, vc)].count + p.flits > 65535)  // OutputVc::count
    throw CoreError("more than 65,535 flits wait in a VC of the NIC of terminal ", p.source,
                    ", since acknowledgements enter it at once; smaller windows let fewer arrive");
  plain(f) ? enqueue<true>(f, id, p.source, p.flits, 0, 0)
           : enqueue<false>(f, id, p.source, p.flits, p.traffic_class, 0);
}

void fill_nic(Frame& f, u32 terminal, bool backlogged) {
  if (f.net.workload) return workload::fill_from_outbox(f, terminal);
  Terminal& x = f.s.terminals[terminal];
  plain(f) ? fill<true>(f, x, terminal, backlogged) : fill<false>(f, x, terminal, backlogged);
}

void start_sources(Frame& f) {
  for (u32 t = 0; t < f.net.terminals; t++) {
    worked(8);
    if (f.net.partition_of(f.net.terminal_router[t]) != f.k) continue;
    Terminal& x = f.s.terminals[t];
    x.next_tick = first_tick(f.net, x, t);
    schedule(f, x, t);
  }
}

void stop_sources(const Network& net, State& s) {
  for (u32 k = 0; k < net.partitions(); k++) {
    partition(s, k).totals.sources_stopped = 1;
    partition(s, k).totals.backlogged = 0;
  }
  for (Terminal& x : s.terminals) x.left = 0;
}

void injection(Frame& f) {
  if (!f.part.sources_due.due(f.now)) return;
  f.w.ids.clear();
  f.part.sources_due.take(f.now, f.w.ids);
  if (f.part.totals.sources_stopped) return;
  if (plain(f)) begin_rounds<true>(f);
  else begin_rounds<false>(f);
}

}  // namespace flitgym
