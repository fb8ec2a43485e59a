#include "learning/future.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "simcore/rng.hpp"

namespace flitgym::learning {

namespace {

struct Mixer {
  u64 value = 0x2545f4914f6cdd1dull;
  void add(u64 x) { value = mix64(value ^ x) + 0x9e3779b97f4a7c15ull; }
};

u64 mixed(u64 a, u64 b) { return mix64(a + 0x9e3779b97f4a7c15ull * (b + 1)); }

class Future {
 public:
  Future(const Network& net, const State& s, Ahead ahead) : net_(net), s_(s), ahead_(ahead), now_(s.part.totals.now) {}

  u64 hash() {
    m_.add(now_);
    for (u32 p = 0; p < net_.port_count; p++) port(p);
    for (u32 p = 0; p < net_.router_ports; p++)
      if (net_.channels[p].peer != kNone) inputs(p);
    if (net_.router.arbiter == Arbiter::kLeastRecentlyServed)
      for (u32 r = 0; r < net_.routers; r++) turns(r);
    masks();
    for (const Terminal& x : s_.terminals) terminal(x);
    for (u32 k = 0; k < net_.partitions(); k++) under_way(partition(s_, k));
    for (u32 k = 0; k < net_.memories.size(); k++)
      if (net_.memories[k].per != Per::kPacket && ahead_ == Ahead::kRouted)
        bytes(s_.memory[k].data(), s_.memory[k].size());
    return m_.value;
  }

 private:
  // All times in the past are equivalent.
  u64 left(Cycle when) const { return now_ >= when ? 0 : u64{when} - now_; }

  void bytes(const u8* data, std::size_t size) {
    u64 x = 0;
    for (; size >= sizeof x; data += sizeof x, size -= sizeof x) {
      std::memcpy(&x, data, sizeof x);
      m_.add(x);
    }
    if (size == 0) return;
    x = 0;
    std::memcpy(&x, data, size);
    m_.add(x);
  }

  // Identity and content of a packet.
  u64 packet(u32 id) const {
    const Packet& p = s_.packets[id];
    u64 x = mixed(u64{p.source} << 32 | p.sequence, u64{p.generated} << 32 | p.destination);
    x = mixed(x, u64{p.flits} << 32 | u64{p.hops} << 16 | u64{p.phase} << 8 | p.nonminimal);
    if (net_.whole_packets) x = mixed(x, left(p.tail));
    if (net_.seam) x = mixed(x, p.injected);  // observations contain the age of a packet
    for (const u32 k : net_.packet_memories) {
      const std::size_t size = net_.memories[k].entry_bytes();
      const u8* const entry = s_.memory[k].data() + id * size;
      for (std::size_t at = 0; at < size; at++) x = mixed(x, entry[at]);
    }
    return x;
  }
  u64 flit(Flit f) const { return mixed(packet(packet_of(f)), f & ((1u << kFlitShift) - 1)); }

  template <class Vc>
  void queue(const Vc& vc) {
    m_.add(u64{vc.count} << 16 | vc.sent);
    if (vc.front == kNone) return m_.add(kNone);
    for (u32 id = packet_of(vc.front);; id = packet_of(s_.next[id])) {
      m_.add(packet(id));
      if (id == packet_of(vc.back)) break;
    }
  }

  void port(u32 p) {
    if (net_.channels[p].peer == kNone) return;
    const Port& o = s_.ports[p];
    m_.add(left(o.busy_until) << 32 | left(o.input_busy_until));
    m_.add(left(o.output_busy_until) << 32 | o.waiting_vcs);
    m_.add(u64{o.queued} << 32 | o.load);
    m_.add(u64{o.next_vc} << 48 | u64{o.next_request} << 32 | u64{o.awake} << 16 | o.stalled);
    for (u32 vc = 0; vc < net_.vcs; vc++) {
      const OutputVc& out = s_.output_vcs[net_.vc_id(p, vc)];
      queue(out);
      const u32 v = net_.vc_id(p, vc), owner = net_.is_nic(p) ? kNone : s_.owners[v];
      m_.add(u64{out.credits} << 32 | owner);
      m_.add(owner == kNone || s_.owned_since.empty() ? 0 : s_.owned_since[v]);
      for (u32 k = out.parked; k != kNoVc; k = s_.park_next[(v & ~net_.vc_mask()) | k]) m_.add(k);
    }
  }

  void inputs(u32 p) {
    for (u32 vc = 0; vc < net_.vcs; vc++) {
      const u32 v = net_.vc_id(p, vc);
      const InputVc& in = s_.input_vcs[v];
      queue(in);
      m_.add(u64{in.routed()} << 16 | (s_.park_next[v] != kNotParked));
      if (!in.routed()) continue;
      m_.add(u64{in.out_port} << 16 | in.out_vc);
      if (net_.router.arbiter == Arbiter::kAge) m_.add(s_.served[v]);
    }
  }

  // Only the order of the times of the last grants (`served`) matters.
  void turns(u32 router) {
    order_.clear();
    for (u32 k = 0; k < net_.radix; k++) {
      if (net_.channels[net_.port(router, k)].peer == kNone) continue;
      for (u32 vc = 0; vc < net_.vcs; vc++) {
        const u32 v = net_.vc_id(net_.port(router, k), vc);
        order_.push_back(u64{s_.served[v]} << 32 | v);
      }
    }
    std::sort(order_.begin(), order_.end());
    for (const u64 key : order_) m_.add(key & 0xffffffff);
  }

  void masks() {
    for (const u64 word : s_.requests) m_.add(word);
    for (const u64 word : s_.outputs_asked) m_.add(word);
    for (const u64 word : s_.active_routers) m_.add(word);
  }

  void terminal(const Terminal& x) {
    m_.add(x.next_tick);
    m_.add(u64{x.tick} << 32 | x.sequence);
    m_.add(u64{x.round} << 32 | x.index);
    m_.add(u64{x.left} << 32 | x.step);
  }

  // Sums make the hash independent of the order within a cycle, which does not affect the result.
  template <class T, class Hash>
  void lines(const DelayLines<T>& all, Hash&& hash) {
    for (const DelayLine<T>& line : all.lines) {
      const u32 mask = static_cast<u32>(line.marks.size()) - 1;
      u32 n = line.first;
      for (u32 k = line.delay; k > 0 && n != line.end; k--) {
        // Items inserted at cycle now - k come out k cycles before items inserted now.
        const u32 to = now_ >= k ? line.marks[(now_ - k) & mask] : n;
        u64 sum = 0;
        for (; n != to; n++) sum += hash(line.at(n));
        if (sum) m_.add(mixed(sum, k));
      }
    }
  }
  template <class T, class Hash>
  void wheel(const Wheel<T>& w, Hash&& hash) {
    for (u32 slot = 0; slot < w.first.size(); slot++) {
      if (w.first[slot] == kNone) continue;
      u64 sum = 0;
      for (u32 c = w.first[slot]; c != kNone; c = w.chunks[c].next)
        for (u32 k = 0; k < w.chunks[c].count; k++) sum += hash(w.chunks[c].items[k]);
      m_.add(mixed(sum, slot));
    }
  }

  void under_way(const Partition& part) {
    const auto of_flit = [&](const FlitEvent& e) { return mixed(flit(e.flit), e.vc); };
    const auto of_id = [](u32 id) { return mix64(id + 1); };
    lines(part.flit_lines, of_flit);
    lines(part.credit_lines, [](const CreditEvent& e) { return mixed(e.vc, e.flits); });
    wheel(part.ports_due, of_id);
    wheel(part.routes_due, of_id);
    wheel(part.tails_due, of_flit);
    u64 sum = 0;
    for (const u32 v : part.route_list) sum += of_id(v);
    m_.add(sum);
    m_.add(u64{part.totals.sources_stopped} << 32 | part.totals.epoch);
  }

  const Network& net_;
  const State& s_;
  const Ahead ahead_;
  const Cycle now_;
  Mixer m_;
  std::vector<u64> order_;
};

}  // namespace

bool futures_can_meet(const Network& net, Ahead ahead) {
  if (net.workload || (net.whole_packets && net.router.flit_by_flit)) return false;
  return ahead == Ahead::kKnown || !net.learns;
}

u64 future_hash(const Network& net, const State& s, Ahead ahead) { return Future(net, s, ahead).hash(); }

}  // namespace flitgym::learning
