#include "learning/branch.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "simcore/error.hpp"
#include "simcore/learning.hpp"
#include "simcore/limits.hpp"
#include "stage/route_computation.hpp"
#include "stage/stage.hpp"

namespace flitgym::learning {

bool branches_can_follow(const Network& net) {
  return net.partitions() == 1 && net.most_packet_flits == 1 && !net.whole_packets && !net.workload &&
         net.graphs.size() == 1 && net.accounted_jobs == 0 && !net.routing_facts.remote && !net.routing_facts.spreads &&
         !net.routing_facts.sequential && net.decider == Decider::kRouting && !(net.seam && net.seam->capacity);
}

namespace {

constexpr u32 kLongestBlock = 64;  // cycles; keeps the data of a branch in the caches

template <class Visit>
void each_bit(const std::vector<u64>& words, Visit&& visit) {
  for (u32 w = 0; w < words.size(); w++)
    for (u64 bits = words[w]; bits; bits &= bits - 1) visit(w * 64 + static_cast<u32>(std::countr_zero(bits)));
}
bool any(const auto& words) {
  u64 all = 0;
  for (const u64 word : words) all |= word;
  return all != 0;
}

void clear(Wheel<u32>& w, u32 slots) {
  w.first.assign(slots, kNone);
  w.last.assign(slots, kNone);
  w.chunks.clear();
  w.free.clear();
}

template <class T>
void clear(DelayLines<T>& all, const DelayLines<T>& like) {
  all.lines.resize(like.lines.size());
  for (std::size_t k = 0; k < like.lines.size(); k++) {
    DelayLine<T>& line = all.lines[k];
    line.delay = like.lines[k].delay;
    line.first = line.end = 0;
    line.marks.assign(like.lines[k].marks.size(), 0);
    if (line.items.empty()) line.items.assign(64, T{});
    line.mask = static_cast<u32>(line.items.size()) - 1;
  }
}
template <class T>
bool any_due(const DelayLines<T>& all, Cycle now) {
  for (const DelayLine<T>& line : all.lines)
    if (line.first != line.due(now)) return true;
  return false;
}
template <class T>
bool any_under_way(const DelayLines<T>& all) {
  for (const DelayLine<T>& line : all.lines)
    if (line.first != line.end) return true;
  return false;
}

template <class Lines, class Visit>
void each_event(const Lines& all, Cycle now, Visit&& visit) {
  for (u32 k = 0; k < all.lines.size(); k++)
    for (u32 n = all.lines[k].first, due = all.lines[k].due(now); n != due; n++) visit(k, n, all.lines[k].at(n));
}

}  // namespace

Branches::Branches(const Network& net, const Ways& ways, u32 horizon)
    : net_(net), ways_(ways), horizon_(horizon), words_((net.routers + 63) / 64), ring_(2), ports_span_(2),
      routes_span_(net.router.pipeline_cycles + 2), block_(kLongestBlock),
      sleeps_(net.router.arbiter == Arbiter::kLeastRecentlyServed) {
  ports_span_ = std::max(ports_span_, net.router.wake_cycles);
  for (u32 p = 0; p < net.port_count; p++) {
    const Channel& c = net.channels[p];
    ports_span_ = std::max(ports_span_, c.flit_cycles);
    if (net.is_nic(p) || !net.is_link(p)) continue;
    block_ = std::min({block_, net.delays[c.line], net.delays[c.credit_line]});
  }
  ports_span_++;
  for (const u32 delay : net.delays)
    while (ring_ <= delay + block_) ring_ *= 2;
  first_terminal_.assign(net.routers + 1, 0);
  for (const u32 r : net.terminal_router) first_terminal_[r + 1]++;
  for (u32 r = 0; r < net.routers; r++) first_terminal_[r + 1] += first_terminal_[r];
  terminals_.resize(net.terminals);
  std::vector<u32> at = first_terminal_;
  for (u32 t = 0; t < net.terminals; t++) terminals_[at[net.terminal_router[t]]++] = t;
  log_first_.resize(block_ + 1);
  prepare(net, trunk_work_);
  prepare(net, work_);
}

Branches::~Branches() = default;

u32 Branches::node_of_port(u32 port) const {
  return net_.is_nic(port) ? net_.terminal_router[port - net_.router_ports] : net_.router_of_port(port);
}

// The router that receives an event. Feedback is addressed to a port, all other events to a VC.
u32 Branches::node_of(Kind kind, u32 where) const {
  if (kind == Kind::kFeedback) return net_.router_of_port(where);
  const u32 port = net_.port_of_vc(where);
  return kind == Kind::kFlit && where < net_.input_vc_count() ? net_.router_of_port(port) : node_of_port(port);
}

bool Branches::came_apart(const Branch& x, const Event& e) const {  // the sender was apart when it sent
  return x.history[std::size_t{e.sent & (ring_ - 1)} * words_ + e.from / 64] >> (e.from % 64) & 1;
}

// ---- The trunk ----

void Branches::log_events() {
  const Partition& part = trunk_.part;
  const Cycle now = part.totals.now;
  const auto note = [&](Kind kind, u32 k, u32 where) -> Load& {
    const u32 to = node_of(kind, where), port = kind == Kind::kFeedback ? where : net_.port_of_vc(where);
    const bool ejected = kind == Kind::kFlit && where >= net_.input_vc_count();
    const u32 from = ejected ? to : node_of_port(net_.channels[port].peer);
    log_.push_back({now - net_.delays[k], from, to, kind, ejected, static_cast<u16>(k)});
    loads_.emplace_back();
    return loads_.back();
  };
  each_event(part.flit_lines, now, [&](u32 k, u32, const FlitEvent& flit) {
    Load& e = note(Kind::kFlit, k, flit.vc);
    const u32 id = packet_of(flit.flit);
    e.flit = flit;
    e.packet = trunk_.packets[id];
    if (net_.learns) e.detail = trunk_.details[id];
    e.memories = log_memories_.size();
    for (const u32 m : net_.packet_memories) {
      const std::size_t size = net_.memories[m].entry_bytes();
      const u8* const entry = trunk_.memory[m].data() + id * size;
      log_memories_.insert(log_memories_.end(), entry, entry + size);
    }
  });
  each_event(part.credit_lines, now,
             [&](u32 k, u32, const CreditEvent& credit) { note(Kind::kCredit, k, credit.vc).credit = credit; });
  each_event(part.feedback_lines, now, [&](u32 k, u32, const FeedbackEvent& feedback) {
    note(Kind::kFeedback, k, feedback.port).feedback = feedback;
  });
}

// Called between the two halves of a cycle. Logs pending requests and requests that follow in this cycle.
void Branches::log_meetings() {
  const Batch& b = trunk_work_.batch;
  std::vector<u64>& asking = seen_;
  asking.assign(trunk_.active_routers.begin(), trunk_.active_routers.end());
  for (u32 i = 0; i < b.count; i++) asking[b.router[i] / 64] |= u64{1} << (b.router[i] % 64);
  const u32 masks = net_.request_words << net_.radix_shift, shift = net_.radix_shift + net_.vc_shift;
  each_bit(asking, [&](u32 r) {
    Meeting m{r, 0, {}, {}};
    const auto add = [&](u32 v) {
      if (m.count < std::size(m.vcs)) {
        m.vcs[m.count] = v;
        m.served[m.count] = trunk_.served[v];
      }
      m.count++;
    };
    if (trunk_.active_routers[r / 64] >> (r % 64) & 1)
      for (u32 k = 0; k < masks; k++)
        for (u64 bits = trunk_.requests[std::size_t{r} * masks + k]; bits; bits &= bits - 1)
          add(r << shift | (k % net_.request_words * 64 + static_cast<u32>(std::countr_zero(bits))));
    for (u32 i = 0; i < b.count; i++)
      if (b.router[i] == r) add(b.input_vc[i]);
    if (m.count > 1) meetings_.push_back(m);
  });
}

void Branches::run_trunk() {
  begin_ = trunk_;
  log_.clear();
  loads_.clear();
  log_memories_.clear();
  meetings_.clear();
  for (u32 cycle = 0; cycle < block_; cycle++) {
    log_first_[cycle] = static_cast<u32>(log_.size());
    log_events();
    collect(net_, trunk_, trunk_work_);
    // With rerouting, a packet may request several times at a router, so a single recorded decision cannot be replayed.
    if (net_.routing_facts.reroutes) decide(net_, trunk_, trunk_work_.batch);
    else ways_.follow(net_, trunk_, trunk_work_.batch, 0);
    if (sleeps_) log_meetings();
    apply(net_, trunk_, trunk_work_);
  }
  log_first_[block_] = static_cast<u32>(log_.size());
}

void Branches::run(const State& state, Attempt* first, Attempt* end) {
  trunk_ = state;
  free_.insert(free_.end(), live_.begin(), live_.end());  // branches that an interruption left
  live_.clear();
  while (first != end || !live_.empty()) {
    run_trunk();
    const Cycle until = trunk_.part.totals.now;
    for (; first != end && first->at < until; first++) {
      if (free_.empty()) {
        pool_.push_back(std::make_unique<Branch>());
        free_.push_back(pool_.back().get());
      }
      live_.push_back(free_.back());
      free_.pop_back();
      start(*live_.back(), *first, net_.router_of_port(net_.port_of_vc(first->input_vc)));
    }
    for (Branch* x : live_) {
      run_block(*x);
      worked(8 * block_);
    }
    std::erase_if(live_, [&](Branch* x) {
      if (x->done) free_.push_back(x);
      return x->done;
    });
  }
}

// ---- A branch ----

// The branch follows the trunk until the decision.
void Branches::start(Branch& x, Attempt& attempt, u32 router) {
  State& s = x.s;
  Partition& part = s.part;
  const State& t = begin_;
  s.input_vcs.resize(t.input_vcs.size());
  s.output_vcs.resize(t.output_vcs.size());
  s.served.resize(t.served.size());
  s.park_next.resize(t.park_next.size());
  s.owners.resize(t.owners.size());
  s.owned_since.resize(t.owned_since.size());
  s.ports.resize(t.ports.size());
  s.requests.resize(t.requests.size());
  s.outputs_asked.resize(t.outputs_asked.size());
  s.active_routers.assign(t.active_routers.size(), 0);
  s.stamps.resize(t.stamps.size());
  s.terminals.resize(t.terminals.size());
  s.series_interval.assign(1, 0);
  s.weights = t.weights;
  s.packets.clear();
  s.details.clear();
  s.next.clear();
  s.memory.resize(t.memory.size());
  for (std::size_t k = 0; k < s.memory.size(); k++)
    if (net_.memories[k].per != Per::kPacket) s.memory[k] = t.memory[k];
  part.totals = t.part.totals;
  part.totals.backlogged = 0;
  part.learning = t.part.learning;
  part.free_packets.clear();
  part.route_list.clear();
  clear(part.flit_lines, t.part.flit_lines);
  clear(part.credit_lines, t.part.credit_lines);
  clear(part.feedback_lines, t.part.feedback_lines);
  clear(part.ports_due, static_cast<u32>(t.part.ports_due.first.size()));
  clear(part.routes_due, static_cast<u32>(t.part.routes_due.first.size()));
  clear(part.sources_due, static_cast<u32>(t.part.sources_due.first.size()));
  x.apart.assign(words_, 0);
  x.asleep.assign(words_, 0);
  x.history.assign(std::size_t{ring_} * words_, 0);
  x.run_stamp.resize(net_.routers);
  x.attempt = &attempt;
  x.but = 0;
  x.behind = x.lag = 0;
  x.done = false;
  x.fresh = true;
  take(x, router);
}

void Branches::run_block(Branch& x) {
  if (!x.fresh) meet(x);
  x.fresh = false;
  if (x.done) return;
  wake(x);
  come_apart(x);
  const Cycle begin = begin_.part.totals.now;
  for (u32 cycle = 0; cycle < block_; cycle++)
    std::copy(x.apart.begin(), x.apart.end(), &x.history[std::size_t{(begin + cycle) & (ring_ - 1)} * words_]);
  concerns_.resize(log_.size() + 1);
  u32 count = 0;
  for (u32 n = 0; n < log_.size(); n++) {
    const Event& e = log_[n];
    const bool feedback = e.kind == Kind::kFeedback, of_run = !came_apart(x, e);
    concerns_[count] = n;
    count += (feedback & of_run) | (!feedback & x.is_apart(e.to) & (of_run | e.ejected));
  }
  concerns_[count] = kNone;
  next_concern_ = 0;
  for (u32 cycle = 0; cycle < block_ && !x.done; cycle++) step(x, cycle);
}

// Drops the copies of routers that have become equal to those of the trunk.
void Branches::meet(Branch& x) {
  Attempt& attempt = *x.attempt;
  each_bit(x.apart, [&](u32 r) {
    if (same(x, r)) give_back(x, r);
  });
  if (any(x.apart) || any_under_way(x.s.part.flit_lines) || any_under_way(x.s.part.credit_lines)) return;
  each_bit(x.asleep, [&](u32 r) {
    if (same_order(x, r)) x.asleep[r / 64] &= ~(u64{1} << (r % 64));
  });
  if (any(x.asleep) || x.lag != 0) return;
  attempt.settled = x.done = true;
  attempt.cycles = begin_.part.totals.now - attempt.at;
}

void Branches::wake(Branch& x) {
  for (const Meeting& m : meetings_) {
    if (!x.is_asleep(m.router)) continue;
    bool matters = m.count > std::size(m.vcs);
    for (u32 a = 0; !matters && a < m.count; a++)
      for (u32 b = a + 1; b < m.count; b++)
        matters |= (m.served[a] < m.served[b]) !=
                   (served(x, m.vcs[a], m.router, m.served[a]) < served(x, m.vcs[b], m.router, m.served[b]));
    if (matters) take(x, m.router);
  }
}

// Compares the branch's and the trunk's events that arrive in this block at routers that are not apart.
void Branches::come_apart(Branch& x) {
  const Partition& part = x.s.part;
  const Cycle begin = begin_.part.totals.now;
  own_.clear();
  // The loop has no conditional jumps, because the conditions are unpredictable.
  expected_.resize(log_.size() + 1);
  u32 count = 0;
  for (u32 n = 0; n < log_.size(); n++) {
    const Event& e = log_[n];
    expected_[count] = n;
    count += !x.is_apart(e.to) & !passed(begin, e.sent) & (e.kind != Kind::kFeedback) & came_apart(x, e);
  }
  expected_.resize(count);
  for (const u32 n : expected_) loads_[n].matched = false;
  const auto look = [&](const auto& lines, Kind kind) {
    for (u32 k = 0; k < lines.lines.size(); k++) {
      const auto& line = lines.lines[k];
      u32 n = line.first;
      for (Cycle at = begin; at != begin + std::min(block_, line.delay) && n != line.end; at++)
        for (const u32 due = line.due(at); n != due; n++)
          if (const u32 to = node_of(kind, line.at(n).vc); !x.is_apart(to))
            own_.push_back({kind, false, static_cast<u16>(k), n, to, at - line.delay});
    }
  };
  look(part.flit_lines, Kind::kFlit);
  look(part.credit_lines, Kind::kCredit);
  for (Own& own : own_)
    for (const u32 n : expected_) {
      const Event& event = log_[n];
      Load& e = loads_[n];
      if (event.sent != own.sent || event.kind != own.kind || event.line != own.line || e.matched) continue;
      if (own.kind == Kind::kCredit) {
        const CreditEvent& credit = part.credit_lines.lines[own.line].at(own.number);
        if (credit.vc != e.credit.vc || credit.flits != e.credit.flits) continue;
      } else if (!same_flit(x, part.flit_lines.lines[own.line].at(own.number), e)) {
        continue;
      }
      own.matched = e.matched = true;
      break;
    }
  for (const Own& own : own_)
    if (!own.matched && !x.is_apart(own.to)) take(x, own.to);
  for (const u32 n : expected_)
    if (!loads_[n].matched && !x.is_apart(log_[n].to)) take(x, log_[n].to);
}

void Branches::step(Branch& x, u32 cycle) {
  Attempt& attempt = *x.attempt;
  const Cycle now = begin_.part.totals.now + cycle;
  if (now > attempt.at) {
    attempt.behind = x.behind += x.lag;
    attempt.cycles = now - attempt.at;
    x.done = attempt.cycles == horizon_;
    if (x.done) return;
  }
  arrive(x, cycle);
  if (idle(x)) return close(x);
  const u64 ejected = x.s.part.totals.flits_ejected;
  work_.routes.clear();
  collect(net_, x.s, work_);
  x.lag -= static_cast<i64>(x.s.part.totals.flits_ejected - ejected);
  if (now == attempt.at) force(x);
  else if (now < attempt.at && net_.routing_facts.reroutes) decide(net_, x.s, work_.batch);
  else ways_.follow(net_, x.s, work_.batch, x.but);
  apply(net_, x.s, work_);
}

// Replaces the decision by the candidate of the attempt.
void Branches::force(Branch& x) {
  State& s = x.s;
  Batch& b = work_.batch;
  const Attempt& attempt = *x.attempt;
  const auto i = static_cast<u32>(std::find(b.input_vc.begin(), b.input_vc.begin() + b.count, attempt.input_vc) -
                                  b.input_vc.begin());
  if (i == b.count)
    throw CoreError("marginal cost: a branch has reached a state that differs from the run before its decision");
  const u32 id = b.packet[i];
  const Packet before = s.packets[id];
  std::vector<u8> memories;
  for (const u32 k : net_.packet_memories) {
    const std::size_t size = net_.memories[k].entry_bytes();
    const u8* const entry = s.memory[k].data() + id * size;
    memories.insert(memories.end(), entry, entry + size);
  }
  if (net_.routing_facts.reroutes) decide(net_, s, b);
  else ways_.follow(net_, s, b, 0);
  s.packets[id] = before;
  const u8* from = memories.data();
  for (const u32 k : net_.packet_memories) {
    const std::size_t size = net_.memories[k].entry_bytes();
    std::memcpy(s.memory[k].data() + id * size, from, size);
    from += size;
  }
  b.out_port[i] = attempt.port;
  b.out_class[i] = attempt.vc_class;
  if (net_.chosen) net_.chosen(net_, s, b, i);
  x.but = Ways::key_of(before);
}

// Delivers the events of this cycle, of the branch and of the trunk.
void Branches::arrive(Branch& x, u32 cycle) {
  State& s = x.s;
  Partition& part = s.part;
  const Cycle now = part.totals.now;
  // Drops events to routers that are not apart, because the trunk handles them.
  const auto drop = [&](auto& lines, Kind kind, auto&& gone) {
    for (u32 k = 0; k < lines.lines.size(); k++) {
      auto& line = lines.lines[k];
      u32 kept = line.due(now);
      for (u32 n = kept; n != line.first;) {
        const auto item = line.at(--n);
        if (x.is_apart(node_of(kind, item.vc))) line.items[--kept & line.mask] = item;
        else gone(item);
      }
      line.first = kept;
    }
  };
  drop(part.flit_lines, Kind::kFlit, [&](const FlitEvent& e) { part.free_packets.push_back(packet_of(e.flit)); });
  drop(part.credit_lines, Kind::kCredit, [](const CreditEvent&) {});
  for (; concerns_[next_concern_] < log_first_[cycle + 1]; next_concern_++) {
    const u32 n = concerns_[next_concern_];
    const Event& e = log_[n];
    if (e.kind == Kind::kFeedback) {  // the branch has its own tables on all routers
      const FeedbackEvent& f = loads_[n].feedback;
      if (!part.totals.frozen) net_.learn(net_, s, f.port, f.row, f.target);
      continue;
    }
    x.lag += e.ejected;
    if (came_apart(x, e)) continue;
    if (e.kind == Kind::kCredit) part.credit_lines.lines[e.line].push_front(loads_[n].credit);
    else
      part.flit_lines.lines[e.line].push_front({loads_[n].flit.vc, adopt(x, loads_[n]) << kFlitShift | kHead | kTail});
  }
}

// Whether no event is due and no router has a request.
bool Branches::idle(const Branch& x) const {
  const Partition& part = x.s.part;
  const Cycle now = part.totals.now;
  return !any(x.s.active_routers) && part.route_list.empty() && !part.ports_due.due(now) && !part.routes_due.due(now) &&
         !part.sources_due.due(now) && !any_due(part.flit_lines, now) && !any_due(part.credit_lines, now) &&
         !any_due(part.feedback_lines, now);
}

void Branches::close(Branch& x) const {
  Partition& part = x.s.part;
  part.flit_lines.close(part.totals.now);
  part.credit_lines.close(part.totals.now);
  part.feedback_lines.close(part.totals.now);
  part.totals.now++;
}

}  // namespace flitgym::learning
