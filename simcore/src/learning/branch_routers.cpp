// Copies routers of the trunk into a branch, compares them with the trunk, and drops them when they are equal again.
#include <algorithm>
#include <bit>
#include <cstring>

#include "learning/branch.hpp"

namespace flitgym::learning {

namespace {

// Calls visit(cycle, item) for the items due within `span` cycles from now.
template <class Visit>
void each_due(const Wheel<u32>& w, Cycle now, u32 span, Visit&& visit) {
  const u32 mask = static_cast<u32>(w.first.size()) - 1;
  for (Cycle when = now; when != now + span; when++)
    for (u32 c = w.first[when & mask]; c != kNone; c = w.chunks[c].next)
      for (u32 k = 0; k < w.chunks[c].count; k++) visit(when, w.chunks[c].items[k]);
}
template <class Gone>
bool remove_due(Wheel<u32>& w, Cycle now, u32 span, Gone&& gone) {
  const u32 mask = static_cast<u32>(w.first.size()) - 1;
  bool any = false;
  for (Cycle when = now; when != now + span; when++)
    for (u32 c = w.first[when & mask]; c != kNone; c = w.chunks[c].next) {
      auto& chunk = w.chunks[c];
      const auto left = static_cast<u32>(std::remove_if(chunk.items, chunk.items + chunk.count, gone) - chunk.items);
      any |= left != chunk.count;
      chunk.count = left;
    }
  return any;
}

// All times in the past are equivalent.
bool same_time(Cycle a, Cycle b, Cycle now) { return a == b || (now >= a && now >= b); }

}  // namespace

u32 Branches::new_packet(Branch& x) const {
  State& s = x.s;
  u32 id;
  if (s.part.free_packets.empty()) {
    id = static_cast<u32>(s.packets.size());
    s.packets.emplace_back();
    s.next.push_back(kNone);
    if (net_.learns) s.details.emplace_back();
  } else {
    id = s.part.free_packets.back();
    s.part.free_packets.pop_back();
  }
  for (const u32 k : net_.packet_memories) {
    const std::size_t bytes = s.packets.size() * net_.memories[k].entry_bytes();
    if (s.memory[k].size() < bytes) s.memory[k].resize(bytes);
  }
  return id;
}

u32 Branches::adopt(Branch& x, u32 of_run) const {
  State& s = x.s;
  const u32 id = new_packet(x);
  s.packets[id] = begin_.packets[of_run];
  if (net_.learns) s.details[id] = begin_.details[of_run];
  for (const u32 k : net_.packet_memories) {
    const std::size_t size = net_.memories[k].entry_bytes();
    std::memcpy(s.memory[k].data() + id * size, begin_.memory[k].data() + of_run * size, size);
  }
  return id;
}

u32 Branches::adopt(Branch& x, const Load& of_run) const {
  State& s = x.s;
  const u32 id = new_packet(x);
  s.packets[id] = of_run.packet;
  if (net_.learns) s.details[id] = of_run.detail;
  const u8* from = log_memories_.data() + of_run.memories;
  for (const u32 k : net_.packet_memories) {
    const std::size_t size = net_.memories[k].entry_bytes();
    std::memcpy(s.memory[k].data() + id * size, from, size);
    from += size;
  }
  return id;
}

void Branches::take(Branch& x, u32 router) {
  State& s = x.s;
  const State& t = begin_;
  const Cycle now = t.part.totals.now;
  const bool slept = x.is_asleep(router);
  const u32 run_stamp = x.run_stamp[router], own_stamp = s.stamps[router];
  const auto queue = [&](auto& to, const auto& from) {
    if (from.front == kNone) return;
    u32 of_run = packet_of(from.front), id = adopt(x, of_run);
    to.front = id << kFlitShift;
    while (of_run != packet_of(from.back)) {
      of_run = packet_of(t.next[of_run]);
      const u32 before = id;
      id = adopt(x, of_run);
      s.next[before] = id << kFlitShift;
    }
    to.back = id << kFlitShift;
  };
  const auto output = [&](u32 p) {
    s.ports[p] = t.ports[p];
    for (u32 vc = 0; vc < net_.vcs; vc++) {
      const u32 v = net_.vc_id(p, vc);
      s.output_vcs[v] = t.output_vcs[v];
      if (v < t.owners.size()) s.owners[v] = t.owners[v];
      if (v < t.owned_since.size()) s.owned_since[v] = t.owned_since[v];
      queue(s.output_vcs[v], t.output_vcs[v]);
    }
  };
  for (u32 k = 0; k < net_.radix; k++) {
    const u32 p = net_.port(router, k);
    if (net_.channels[p].peer == kNone) continue;
    output(p);
    for (u32 vc = 0; vc < net_.vcs; vc++) {
      const u32 v = net_.vc_id(p, vc);
      s.input_vcs[v] = t.input_vcs[v];
      s.park_next[v] = t.park_next[v];
      s.served[v] = slept ? served(x, v, router, t.served[v]) : t.served[v];
      queue(s.input_vcs[v], t.input_vcs[v]);
    }
  }
  s.stamps[router] = slept ? t.stamps[router] - run_stamp + own_stamp : t.stamps[router];
  const u32 masks = net_.request_words << net_.radix_shift;
  std::copy_n(&t.requests[std::size_t{router} * masks], masks, &s.requests[std::size_t{router} * masks]);
  std::copy_n(&t.outputs_asked[std::size_t{router} * net_.asked_words], net_.asked_words,
              &s.outputs_asked[std::size_t{router} * net_.asked_words]);
  const u64 bit = u64{1} << (router % 64);
  s.active_routers[router / 64] |= t.active_routers[router / 64] & bit;
  if (net_.resting.kept()) net_.resting.of(s)[router] = 0;
  if (net_.sensed.kept()) {
    const std::size_t from = net_.sensed.row(router, 0), cells = std::size_t{net_.vcs} << net_.sensed.column_shift;
    std::copy_n(net_.sensed.memory.of(t) + from, cells, net_.sensed.memory.of(s) + from);
  }
  for (u32 k = first_terminal_[router]; k < first_terminal_[router + 1]; k++) {
    const u32 terminal = terminals_[k];
    const Terminal& clock = s.terminals[terminal] = t.terminals[terminal];
    output(net_.nic(terminal));
    if (clock.left > 0) {  // the source waits for its NIC
      s.part.totals.backlogged++;
    } else if (clock.next_tick != ~u64{0}) {
      const Cycle due = static_cast<Cycle>(clock.next_tick >> 32), limit = now + s.part.sources_due.longest();
      s.part.sources_due.push(passed(limit, due) ? limit : due, terminal);
    }
  }
  const auto own_vc = [&](u32 v) { return net_.router_of_port(net_.port_of_vc(v)) == router; };
  each_due(t.part.ports_due, now, ports_span_, [&](Cycle when, u32 port) {
    if (node_of_port(port) == router) s.part.ports_due.push(when, port);
  });
  each_due(t.part.routes_due, now, routes_span_, [&](Cycle when, u32 v) {
    if (own_vc(v)) s.part.routes_due.push(when, v);
  });
  for (const u32 v : t.part.route_list)
    if (own_vc(v)) s.part.route_list.push_back(v);
  x.apart[router / 64] |= bit;
  x.asleep[router / 64] &= ~bit;
}

void Branches::give_back(Branch& x, u32 router) {
  State& s = x.s;
  const Cycle now = begin_.part.totals.now;
  const auto empty = [&](const auto& vc) {
    if (vc.front == kNone) return;
    for (u32 id = packet_of(vc.front);; id = packet_of(s.next[id])) {
      s.part.free_packets.push_back(id);
      if (id == packet_of(vc.back)) break;
    }
  };
  const auto output = [&](u32 p) {
    for (u32 vc = 0; vc < net_.vcs; vc++) empty(s.output_vcs[net_.vc_id(p, vc)]);
  };
  for (u32 k = 0; k < net_.radix; k++) {
    const u32 p = net_.port(router, k);
    if (net_.channels[p].peer == kNone) continue;
    output(p);
    for (u32 vc = 0; vc < net_.vcs; vc++) empty(s.input_vcs[net_.vc_id(p, vc)]);
  }
  Wheel<u32>& sources = s.part.sources_due;
  for (u32 k = first_terminal_[router]; k < first_terminal_[router + 1]; k++) {
    const u32 terminal = terminals_[k];
    output(net_.nic(terminal));
    if (s.terminals[terminal].left > 0) {
      s.part.totals.backlogged--;
      continue;
    }
    // Usually the wheel holds the source at the cycle at which it is due. Otherwise the whole wheel is searched.
    const auto own = [&](u32 which) { return which == terminal; };
    const Cycle due = static_cast<Cycle>(s.terminals[terminal].next_tick >> 32);
    if (due - now > sources.longest() || !remove_due(sources, due, 1, own))
      remove_due(sources, now, sources.longest() + 1, own);
  }
  const auto own_vc = [&](u32 v) { return net_.router_of_port(net_.port_of_vc(v)) == router; };
  remove_due(s.part.ports_due, now, ports_span_, [&](u32 port) { return node_of_port(port) == router; });
  remove_due(s.part.routes_due, now, routes_span_, own_vc);
  std::erase_if(s.part.route_list, own_vc);
  const u64 bit = u64{1} << (router % 64);
  s.active_routers[router / 64] &= ~bit;
  x.apart[router / 64] &= ~bit;
  if (!sleeps_) return;
  x.asleep[router / 64] |= bit;
  x.run_stamp[router] = begin_.stamps[router];
}

// The time of the last grant of an input VC of a sleeping router. `of_run` is this time in the trunk. VCs that the
// trunk has served since the router fell asleep come after all others, in the order of the trunk.
u32 Branches::served(const Branch& x, u32 v, u32 router, u32 of_run) const {
  const u32 asleep_at = x.run_stamp[router];
  return of_run >= asleep_at ? of_run - asleep_at + x.s.stamps[router] : x.s.served[v];
}

bool Branches::same_order(const Branch& x, u32 router) {
  due_a_.clear();
  for (u32 k = 0; k < net_.radix; k++) {
    const u32 p = net_.port(router, k);
    if (net_.channels[p].peer == kNone) continue;
    for (u32 vc = 0; vc < net_.vcs; vc++) {
      const u32 v = net_.vc_id(p, vc), of_run = begin_.served[v];
      due_a_.push_back(u64{of_run} << 32 | served(x, v, router, of_run));
    }
  }
  std::sort(due_a_.begin(), due_a_.end());
  return std::is_sorted(due_a_.begin(), due_a_.end(),
                        [](u64 a, u64 b) { return static_cast<u32>(a) < static_cast<u32>(b); });
}

// For packets at an input VC, or in a queue.
bool Branches::same_packet(const Branch& x, u32 id, u32 of_run) const {
  if (std::memcmp(&x.s.packets[id], &begin_.packets[of_run], sizeof(Packet)) != 0) return false;
  if (net_.learns && std::memcmp(&x.s.details[id], &begin_.details[of_run], sizeof(PacketDetail)) != 0) return false;
  for (const u32 k : net_.packet_memories) {
    const std::size_t size = net_.memories[k].entry_bytes();
    if (std::memcmp(x.s.memory[k].data() + id * size, begin_.memory[k].data() + of_run * size, size) != 0) return false;
  }
  return true;
}

// For packets on a channel. Fields of the last hop are ignored because arrival overwrites them.
bool Branches::same_flit(const Branch& x, const FlitEvent& own, const Load& of_run) const {
  if (own.vc != of_run.flit.vc) return false;
  const u32 id = packet_of(own.flit);
  if (std::memcmp(&x.s.packets[id], &of_run.packet, sizeof(Packet)) != 0) return false;
  if (net_.learns) {
    const PacketDetail &a = x.s.details[id], &b = of_run.detail;
    if (a.arrived != b.arrived || a.row != b.row || std::memcmp(&a.value, &b.value, sizeof a.value) != 0) return false;
  }
  const u8* memories = log_memories_.data() + of_run.memories;
  for (const u32 k : net_.packet_memories) {
    const std::size_t size = net_.memories[k].entry_bytes();
    if (std::memcmp(x.s.memory[k].data() + id * size, memories, size) != 0) return false;
    memories += size;
  }
  return true;
}

template <class Vc>
bool Branches::same_queue(const Branch& x, const Vc& a, const Vc& b) const {
  if (a.count != b.count) return false;
  if (a.front == kNone || b.front == kNone) return a.front == b.front;
  for (u32 id = packet_of(a.front), of_run = packet_of(b.front);;
       id = packet_of(x.s.next[id]), of_run = packet_of(begin_.next[of_run])) {
    if (!same_packet(x, id, of_run)) return false;
    if (id == packet_of(a.back) || of_run == packet_of(b.back))
      return id == packet_of(a.back) && of_run == packet_of(b.back);
  }
}

// Compares a router with the trunk's at the beginning of a block. Ignores the order in which input VCs were served.
bool Branches::same(const Branch& x, u32 router) {
  const State &s = x.s, &t = begin_;
  const Cycle now = t.part.totals.now;
  const u32 first = net_.port(router, 0);
  for (u32 k = 0; k < net_.radix; k++)
    if (s.ports[first + k].load != t.ports[first + k].load && net_.channels[first + k].peer != kNone) return false;
  const auto port = [&](u32 p) {
    const Port &a = s.ports[p], &b = t.ports[p];
    return a.load == b.load && a.queued == b.queued && a.waiting_vcs == b.waiting_vcs && a.next_vc == b.next_vc &&
           a.next_request == b.next_request && a.awake == b.awake && a.stalled == b.stalled &&
           same_time(a.busy_until, b.busy_until, now) && same_time(a.input_busy_until, b.input_busy_until, now) &&
           same_time(a.output_busy_until, b.output_busy_until, now);
  };
  const auto output = [&](u32 p) {
    if (!port(p)) return false;
    for (u32 vc = 0; vc < net_.vcs; vc++) {
      const u32 id = net_.vc_id(p, vc), first_vc = net_.vc_id(first, 0);
      const OutputVc &a = s.output_vcs[id], &b = t.output_vcs[id];
      if (a.credits != b.credits || !same_queue(x, a, b)) return false;
      if (net_.is_nic(p)) continue;
      if (s.owners[id] != t.owners[id]) return false;
      if (s.owners[id] != kNone && !s.owned_since.empty() && s.owned_since[id] != t.owned_since[id]) return false;
      u32 v = a.parked, w = b.parked;
      for (; v == w && v != kNoVc; v = s.park_next[first_vc | v]) w = t.park_next[first_vc | w];
      if (v != w) return false;
    }
    return true;
  };
  for (u32 k = 0; k < net_.radix; k++) {
    const u32 p = first + k;
    if (net_.channels[p].peer == kNone) continue;
    if (!output(p)) return false;
    for (u32 vc = 0; vc < net_.vcs; vc++) {
      const u32 v = net_.vc_id(p, vc);
      const InputVc &a = s.input_vcs[v], &b = t.input_vcs[v];
      if (a.out_vc != b.out_vc || !same_queue(x, a, b)) return false;
      if ((s.park_next[v] == kNotParked) != (t.park_next[v] == kNotParked)) return false;
      if (!a.routed()) continue;
      if (a.out_port != b.out_port) return false;
      if (net_.router.arbiter == Arbiter::kAge && s.served[v] != t.served[v]) return false;
    }
  }
  const u32 masks = net_.request_words << net_.radix_shift;
  if (!std::equal(&s.requests[std::size_t{router} * masks], &s.requests[std::size_t{router} * masks] + masks,
                  &t.requests[std::size_t{router} * masks]))
    return false;
  for (u32 k = first_terminal_[router]; k < first_terminal_[router + 1]; k++) {
    const u32 terminal = terminals_[k];
    if (std::memcmp(&s.terminals[terminal], &t.terminals[terminal], sizeof(Terminal)) != 0) return false;
    if (!output(net_.nic(terminal))) return false;
  }
  // Scheduled events.
  const auto scheduled = [&](const State& of, std::vector<u64>& out) {
    out.clear();
    each_due(of.part.ports_due, now, ports_span_, [&](Cycle when, u32 p) {
      if (node_of_port(p) == router) out.push_back(u64{when} << 32 | p);
    });
    const u64 kind = u64{1} << 31;
    const auto own_vc = [&](u32 v) { return net_.router_of_port(net_.port_of_vc(v)) == router; };
    each_due(of.part.routes_due, now, routes_span_, [&](Cycle when, u32 v) {
      if (own_vc(v)) out.push_back(u64{when} << 32 | kind | v);
    });
    for (const u32 v : of.part.route_list)
      if (own_vc(v)) out.push_back(kind | v);
    std::sort(out.begin(), out.end());
  };
  scheduled(s, due_a_);
  scheduled(t, due_b_);
  return due_a_ == due_b_;
}

}  // namespace flitgym::learning
