#include "core/hosts/engine.hpp"

#include <span>

#include "core/hosts/host.hpp"
#include "core/hosts/host_queues.hpp"
#include "simcore/stats.hpp"

namespace flitgym::workload {

namespace {

// Marks an edge whose successor may begin when the operation starts, not when it ends.
constexpr u32 kOnStart = 0x80000000u;

constexpr auto later = [](const HostEvent& a, const HostEvent& b) {
  return a.when != b.when ? a.when > b.when : a.order > b.order;
};

class Engine {
 public:
  explicit Engine(Frame& frame) : f_(frame) {}

  void run(u64 until) {
    auto& heap = own_.events;
    while (!heap.empty() && heap.front().when <= until) {
      worked(16);  // several events may have the same time
      const HostEvent e = heap.front();
      std::pop_heap(heap.begin(), heap.end(), later);
      heap.pop_back();
      now_ = own_.totals.now = e.when;
      queues_.begin(now_, e.order);
      switch (static_cast<HostAction>(e.action)) {
        case HostAction::kStartRank:
          s_.ranks[e.id].started = now_;
          enter(e.id);
          break;
        case HostAction::kFlow: begin_flow(e.id); break;
        case HostAction::kReady: ready(e.id); break;
        case HostAction::kBegin: begin(e.id); break;
        case HostAction::kDone: done(e.id); break;
        case HostAction::kHandOver: hand_over(f_, e.id); break;
        case HostAction::kArrive: arrive(e.id); break;
        case HostAction::kMatch: look_for_receive(e.id); break;
        case HostAction::kLinkHead: link_head(f_, e.id); break;
        case HostAction::kLinkTail: link_tail(f_, e.id); break;
        case HostAction::kSubmit:
          w_.scheduler.start.of(s_)[e.id] = Scheduler::kSubmitted;
          own_.totals.news = 1;
          break;
      }
      queues_.ask_next();
      queue_free_operations();
    }
  }

 private:
  static constexpr u64 kNoEnd = ~u64{0};

  void push(u64 when, HostAction action, u32 id) { push_event(own_, when, action, id); }
  u64& cpu(u32 rank, u32 k) { return s_.cpu_free[std::size_t{rank} * w_.cpus + k]; }
  u64& nic(u32 rank, u32 k, bool receive) { return s_.nic_free[(std::size_t{rank} * w_.nics + k) * 2 + receive]; }
  const Job& job_of(u32 rank) const { return w_.jobs[w_.rank_job[rank]]; }

  // Takes a processor as soon as it is free, in the order of requests. Returns the time at which the work begins.
  u64 take_cpu(u32 rank, u32 k, u64 work) {
    u64& free = cpu(rank, k);
    const u64 from = std::max(now_, free);
    free = from + work + w_.detours.delay(rank, from, work);
    return from;
  }

  // ---- blocks ----

  // The link of a released room, in its first entry.
  auto next_op() {
    return [this](u32 at) -> u32& { return own_.ops[at].next; };
  }
  auto next_edge() {
    return [this](u32 at) -> u32& { return own_.edges[at]; };
  }

  void enter(u32 r) {
    Rank& rank = s_.ranks[r];
    const Job& job = job_of(r);
    const u64 blocks = job.program->blocks(r - job.first_rank);
    const Uninterrupted whole;  // an event is not interrupted
    while (rank.block < blocks) {
      Block& block = f_.w.block;
      block.clear();
      job.program->block(r - job.first_rank, rank.block, block);
      if (!block.ops.empty()) return install(r, block);
      const u64 alike = job.program->repeats(r - job.first_rank, rank.block);  // these blocks are as empty as this one
      rank.block += alike;
      own_.totals.blocks_done += alike;
    }
    if (blocks == 0 && await_flow(r)) return;
    rank.finished = now_;
    rank.done = 1;
    own_.totals.ranks_done++;
    JobTotals& totals = own_.job_totals[w_.rank_job[r]];
    totals.ranks_done++;
    totals.finished = now_;
    if (!w_.scheduled()) return;
    own_.totals.news = 1;
    give_back(rank.first_op, rank.op_class, own_.free_ops, next_op());
    give_back(rank.first_edge, rank.edge_class, own_.free_edges, next_edge());
  }

  // Schedules the next flow of a rank, whose number is its `block`. Returns false if there is none.
  bool await_flow(u32 r) {
    const Job& job = job_of(r);
    const u64 when = job.program->flow_time(r - job.first_rank, s_.ranks[r].block, now_ - job.start_ps);
    if (when != kNoFlow) push(job.start_ps + when, HostAction::kFlow, r);
    return when != kNoFlow;
  }

  void begin_flow(u32 r) {
    const Job& job = job_of(r);
    const Flow flow = job.program->flow(f_.net, r - job.first_rank, s_.ranks[r].block++);
    const u32 m = new_message(own_);
    own_.messages[m] = {.bytes = flow.bytes,
                        .begun = now_,
                        .source = r,
                        .destination = job.first_rank + flow.to,
                        .tag = flow.kind,
                        .transfer = static_cast<u8>(Transfer::kFlow)};
    hand_over(f_, m);
    enter(r);
  }

  void install(u32 r, const Block& block) {
    Rank& rank = s_.ranks[r];
    const Job& job = job_of(r);
    const u32 n = static_cast<u32>(block.ops.size()), edges = static_cast<u32>(block.dependencies.size());
    make_room(rank.first_op, rank.op_class, n, own_.ops, own_.free_ops, next_op());
    make_room(rank.first_edge, rank.edge_class, edges, own_.edges, own_.free_edges, next_edge());
    rank.ops = rank.left = n;
    ActiveOp* const ops = &own_.ops[rank.first_op];
    for (u32 i = 0; i < n; i++) {
      const Op& op = block.ops[i];
      u32 peer = op.peer;
      if (op.kind != OpKind::kCalc && peer != kAnySource) {
        if (peer >= job.ranks)
          throw CoreError("workload: job '", job.name, "', rank ", r - job.first_rank, ": peer ", peer,
                          " does not exist; the job has ", job.ranks, " ranks");
        peer += job.first_rank;
      }
      const auto kind = static_cast<u8>(op.kind), collective = static_cast<u8>(f_.net.classes && op.collective);
      ops[i] = {op.size, peer, op.tag, 0, 0, 0, r, kNone, kind, collective, op.cpu, op.nic, 0, 0, i};
    }
    // Lists the successors of each operation by counting sort.
    auto& end = f_.w.degrees;
    end.assign(n, 0);
    for (const Dependency& d : block.dependencies) {
      ops[d.before].edges++;
      ops[d.after].waits++;
    }
    u32 at = 0;
    for (u32 i = 0; i < n; i++) {
      ops[i].first_edge = end[i] = at;
      at += ops[i].edges;
    }
    // Edges from an end precede edges from a start, as in a binary schedule, so that text and binary schedules give the
    // same state.
    bool starts = false;
    for (const Dependency& d : block.dependencies)
      if (d.on_start) starts = true;
      else own_.edges[rank.first_edge + end[d.before]++] = d.after;
    for (const Dependency& d : starts ? std::span(block.dependencies) : std::span<const Dependency>())
      if (d.on_start) own_.edges[rank.first_edge + end[d.before]++] = d.after | kOnStart;

    // An operation that begins may release others at once, so the operations without dependencies are determined first.
    for (u32 i = 0; i < n; i++) end[i] = ops[i].waits;
    for (u32 i = 0, first = rank.first_op; i < n; i++)
      if (end[i] == 0) free_operation(first + i);
  }

  // Reserves room for `count` entries from `first` on. Released rooms of a class form a list through next(first).
  template <class Entry, class Next>
  static void make_room(u32& first, u32& own_class, u32 count, std::vector<Entry>& all, std::vector<u32>& released,
                        Next next) {
    const auto wanted = static_cast<u32>(std::countr_zero(std::bit_ceil(count)));
    if (first != kNone) {
      if (wanted <= own_class) return;
      give_back(first, own_class, released, next);
    }
    own_class = wanted;
    first = released[wanted];
    if (first != kNone) {
      released[wanted] = next(first);
    } else {
      first = static_cast<u32>(all.size());
      all.resize(all.size() + (std::size_t{1} << wanted));
    }
  }

  template <class Next>
  static void give_back(u32& first, u32 own_class, std::vector<u32>& released, Next next) {
    if (first == kNone) return;
    next(first) = released[own_class];
    released[own_class] = first;
    first = kNone;
  }

  // ---- operations ----

  // The operation waits for no other operation any more.
  void free_operation(u32 id) {
    if (as_loggopsim_) free_.push_back(id);
    else ready(id);
  }

  // Without a network, operations get their place in the order of events as in LogGOPSim, rank by rank.
  void queue_free_operations() {
    if (free_.empty()) return;
    const auto by_rank = [&](u32 a, u32 b) { return own_.ops[a].rank < own_.ops[b].rank; };
    const auto place = [&](u32 id) {
      const auto kind = static_cast<OpKind>(own_.ops[id].kind);
      return kind == OpKind::kSend ? 0 : kind == OpKind::kReceive ? 1 : 2;
    };
    std::stable_sort(free_.begin(), free_.end(), by_rank);
    for (auto from = free_.begin(); from != free_.end();) {
      const auto to = std::upper_bound(from, free_.end(), *from, by_rank);
      // This sort is not stable, and its permutation of more than 16 equal elements affects the times. LogGOPSim makes
      // the same call.
      std::sort(from, to, [&](u32 a, u32 b) { return place(a) < place(b); });
      from = to;
    }
    for (const u32 id : free_) {
      const ActiveOp& op = own_.ops[id];
      u64 when = std::max(now_, cpu(op.rank, op.cpu));
      if (static_cast<OpKind>(op.kind) == OpKind::kSend) when = std::max(when, nic(op.rank, op.nic, false));
      push(when, HostAction::kReady, id);
    }
    free_.clear();
  }

  // An operation that begins may let others begin, and so on. The traversal is depth-first with an explicit stack, so
  // chains may have any length.
  void ready(u32 id) {
    attempt(id);
    follow();
  }
  void begin(u32 id) {
    start(id);
    follow();
  }
  void follow() {
    auto& starting = f_.w.starting;
    while (!starting.empty()) {
      auto& [op, edge] = starting.back();
      const Rank& rank = s_.ranks[own_.ops[op].rank];
      const u32 from = rank.first_edge + own_.ops[op].first_edge;
      u32 next = kNone;
      while (edge < own_.ops[op].edges && next == kNone) {
        const u32 to = own_.edges[from + edge++];
        if ((to & kOnStart) && --own_.ops[rank.first_op + (to & ~kOnStart)].waits == 0)
          next = rank.first_op + (to & ~kOnStart);
      }
      if (next != kNone) {
        if (as_loggopsim_) free_.push_back(next);
        else attempt(next);
        continue;
      }
      const u32 started = op;
      starting.pop_back();
      if (own_.ops[started].early) release(started, true);
      if (static_cast<OpKind>(own_.ops[started].kind) == OpKind::kReceive) look_for_message(started);
    }
  }

  void attempt(u32 id) {
    const ActiveOp op = own_.ops[id];
    u64 from = now_, end = kNoEnd;
    switch (static_cast<OpKind>(op.kind)) {
      case OpKind::kCalc:
        if (queues_.comes_again(op.rank, op.cpu, HostQueues::kNoNic, HostAction::kReady, id)) return;
        from = take_cpu(op.rank, op.cpu, op.size * 1000);
        end = cpu(op.rank, op.cpu);
        break;
      case OpKind::kSend: {
        u64& gap = nic(op.rank, op.nic, false);
        if (queues_.comes_again(op.rank, op.cpu, HostQueues::way(op.nic, false), HostAction::kReady, id)) return;
        from = take_cpu(op.rank, op.cpu, send_work(h_, op.size));
        gap = from + nic_work(h_, op.size);
        end = send(id, op, from);
        break;
      }
      case OpKind::kReceive: {
        const u64 work = receive_work(h_, op.size);
        if (work > 0) from = take_cpu(op.rank, op.cpu, work) + work;
        break;
      }
    }
    if (as_loggopsim_ && end != kNoEnd) own_.ops[id].early = early(op.cpu);
    if (end != kNoEnd && end > from) push(end, HostAction::kDone, id);
    if (from > now_) push(from, HostAction::kBegin, id);
    else start(id);
    // An operation that takes no time begins before it ends. After its end, a later block may use its id.
    if (end == from) push(end, HostAction::kDone, id);
  }

  // Returns the end of the call if it does not depend on the network, otherwise kNoEnd.
  u64 send(u32 id, const ActiveOp& op, u64 from) {
    const u32 m = new_message(own_);
    const bool eager = is_eager(h_, op.size);
    own_.messages[m] = {
        .bytes = op.size,
        .begun = from,
        .source = op.rank,
        .destination = op.peer,
        .tag = op.tag,
        .send_op = eager ? kNone : id,
        .transfer = static_cast<u8>(eager ? Transfer::kEager : Transfer::kRequest),
        .collective = op.collective,
        .cpu = op.cpu,
        .nic = op.nic,
    };
    if (w_.matrix.ranks) message_begun(w_, s_, own_.messages[m]);
    const u64 worked = from + send_work(h_, op.size);
    if (h_.network) {
      push(worked + h_.nic_send, HostAction::kHandOver, m);
    } else {
      push(from + h_.overhead + h_.latency, HostAction::kArrive, m);
      count_sent(f_, own_.messages[m]);
    }
    if (!eager) return kNoEnd;
    // The call returns as soon as the message is handed over.
    const u64 back = return_work(h_);
    cpu(op.rank, op.cpu) += back;
    return worked + back;
  }

  // follow() releases the successors that wait for the start.
  void start(u32 id) {
    ActiveOp& op = own_.ops[id];
    Rank& rank = s_.ranks[op.rank];
    op.running = 1;
    if (static_cast<OpKind>(op.kind) == OpKind::kCalc && rank.calculating++ == 0) rank.calc_since = now_;
    f_.w.starting.push_back({id, 0});
  }

  void done(u32 id) {
    ActiveOp& op = own_.ops[id];
    const u32 r = op.rank;
    Rank& rank = s_.ranks[r];
    op.running = 2;
    if (static_cast<OpKind>(op.kind) == OpKind::kCalc && --rank.calculating == 0) rank.calc += now_ - rank.calc_since;
    release(id, false);
    if (--rank.left > 0) return;
    rank.block++;
    own_.totals.blocks_done++;
    enter(r);
  }

  static u16 early(u8 cpu_number) { return static_cast<u16>(cpu_number + 1); }

  // Releases the successors that wait for the end of the operation. LogGOPSim puts them in the queue of their processor
  // when the operation begins. With `the_early`, this function does the same for the successors on the operation's own
  // processor. The other successors wait for the end of the operation.
  void release(u32 id, bool the_early) {
    const Rank& rank = s_.ranks[own_.ops[id].rank];
    const u32 first_op = rank.first_op, from = rank.first_edge + own_.ops[id].first_edge, n = own_.ops[id].edges;
    for (u32 k = from; k < from + n; k++) {
      const u32 edge = own_.edges[k];
      if (edge & kOnStart) continue;
      ActiveOp& next = own_.ops[first_op + edge];
      if ((early(next.cpu) == own_.ops[id].early) == the_early && --next.waits == 0) free_operation(first_op + edge);
    }
  }

  // Without a network: a message has met its receive, so the end time of the send or of the receive is known.
  void ends(u32 id, u64 when, u8 cpu_number) {
    own_.ops[id].early = early(cpu_number);
    push(when, HostAction::kDone, id);
    release(id, true);
  }

  // ---- messages ----

  static bool fits(const ActiveOp& receive, const Message& m) {
    return (receive.peer == kAnySource || receive.peer == m.source) && (receive.tag == kAnyTag || receive.tag == m.tag);
  }

  void arrive(u32 id) {
    Message& m = own_.messages[id];
    switch (static_cast<Transfer>(m.transfer)) {
      case Transfer::kEager:
      case Transfer::kRequest: {
        const u64 bytes = h_.network && !is_eager(h_, m.bytes) ? 0 : m.bytes;
        u64& gap = nic(m.destination, m.nic, true);
        if (queues_.comes_again(m.destination, m.cpu, HostQueues::way(m.nic, true), HostAction::kArrive, id)) return;
        const u64 work = arrival_work(h_, bytes), from = take_cpu(m.destination, m.cpu, work);
        gap = from + nic_work(h_, bytes);
        if (h_.network) {
          push(from + work, HostAction::kMatch, id);
        } else {
          // In LogGOPSim a message meets its receive when the processor starts to handle it, and the receive ends when
          // the processor has finished.
          count_received(f_, m, from + work, now_);
          m.served = from + work;
          look_for_receive(id);
        }
        break;
      }
      case Transfer::kFetch:
        m.transfer = static_cast<u8>(Transfer::kData);
        push(now_ + h_.nic_fetch, HostAction::kHandOver, id);
        break;
      case Transfer::kData: {
        const bool by_byte = h_.kind == HostKind::kLogGops;
        const u64 work = return_work(h_) + (by_byte ? beyond_first(m.bytes) * h_.overhead_per_byte : 0);
        push(take_cpu(m.destination, m.cpu, work) + work, HostAction::kDone, m.receive_op);
        m.transfer = static_cast<u8>(Transfer::kAcknowledge);
        push(now_ + h_.nic_send, HostAction::kHandOver, id);
        break;
      }
      case Transfer::kAcknowledge: {
        const u64 work = return_work(h_);
        push(take_cpu(m.source, m.cpu, work) + work, HostAction::kDone, m.send_op);
        free_message(own_, id);
        break;
      }
      case Transfer::kFlow: break;  // it ends at the NIC (flow_complete())
    }
  }

  // Removes the first entry of a list that fits, and returns it; kNone: none. Counts the entries examined.
  template <class Entry, class Fits>
  static u32 take_first(std::vector<Entry>& pool, u32& first, u32& last, u32& looked_at, Fits fitting) {
    for (u32 before = kNone, id = first; id != kNone; before = id, id = pool[id].next) {
      looked_at++;
      if (!fitting(pool[id])) continue;
      (before == kNone ? first : pool[before].next) = pool[id].next;
      if (last == id) last = before;
      return id;
    }
    return kNone;
  }

  void look_for_receive(u32 id) {
    const Message& m = own_.messages[id];
    Rank& rank = s_.ranks[m.destination];
    u32 looked_at = 0;
    const u32 op = take_first(own_.ops, rank.posted, rank.last_posted, looked_at,
                              [&](const ActiveOp& receive) { return fits(receive, m); });
    if (op != kNone) matched(id, op, looked_at);
    else append(own_.messages, rank.unexpected, rank.last_unexpected, id);
  }

  void look_for_message(u32 op) {
    Rank& rank = s_.ranks[own_.ops[op].rank];
    u32 looked_at = 0;
    const u32 id = take_first(own_.messages, rank.unexpected, rank.last_unexpected, looked_at,
                              [&](const Message& m) { return fits(own_.ops[op], m); });
    if (id != kNone) matched(id, op, looked_at);
    else append(own_.ops, rank.posted, rank.last_posted, op);
  }

  void matched(u32 id, u32 op, u32 looked_at) {
    Message& m = own_.messages[id];
    const u32 source = m.source, destination = m.destination;
    if (!h_.network) {
      if (m.send_op != kNone) {  // rendezvous as in LogGOPSim: the sender is blocked until now
        cpu(source, m.cpu) = std::max(cpu(source, m.cpu), now_);
        nic(source, m.nic, false) = std::max(nic(source, m.nic, false), now_);
        ends(m.send_op, std::max(now_, m.begun + send_work(h_, m.bytes)), m.cpu);
      }
      ends(op, std::max(now_, m.served), m.cpu);
      return free_message(own_, id);
    }
    if (static_cast<Transfer>(m.transfer) == Transfer::kEager) {
      const u64 work = match_work(h_, m.bytes, looked_at) + return_work(h_);
      push(work > 0 ? take_cpu(destination, m.cpu, work) + work : now_, HostAction::kDone, op);
      return free_message(own_, id);
    }
    const u64 work = match_work(h_, m.bytes, looked_at);
    m.receive_op = op;
    m.transfer = static_cast<u8>(Transfer::kFetch);
    push(take_cpu(destination, m.cpu, work) + work + h_.nic_send, HostAction::kHandOver, id);
  }

  Frame& f_;
  const Workload& w_ = *f_.net.workload;
  const HostModel& h_ = w_.host;
  State& s_ = f_.s;
  Hosts& own_ = f_.hosts();
  HostQueues queues_{w_, s_, own_};
  const bool as_loggopsim_ = !h_.network;
  u64 now_ = 0;            // time of the current event
  std::vector<u32> free_;  // operations that the current event has freed, without a network
};

}  // namespace

void put_event(Hosts& hosts, const HostEvent& event) {
  hosts.events.push_back(event);
  std::push_heap(hosts.events.begin(), hosts.events.end(), later);
}

void push_event(Hosts& hosts, u64 when, HostAction action, u32 id) {
  put_event(hosts, {when, hosts.totals.order++, static_cast<u32>(action), id});
}

void host_events(Frame& f, u64 until) {
  const auto& events = f.hosts().events;
  if (events.empty() || events.front().when > until) return;
  Engine(f).run(until);
}

u64 next_host_event(const State& s) {
  u64 next = kNoHostEvent;
  for (const Hosts& hosts : s.hosts)
    if (!hosts.events.empty()) next = std::min(next, hosts.events.front().when);
  return next;
}

u64 present(const Network& net, const State& s) {
  const u64 now = s.part.totals.now;
  if (!net.workload || net.workload->host.network) return now;
  return std::max(now, (host_totals(s).now + net.workload->cycle_ps - 1) / net.workload->cycle_ps);
}

u64 end_of_time(const Network& net) {
  constexpr u64 kEndPs = u64{1} << 61;  // 26 days; times of operations that begin earlier stay within 64 bits
  return !net.workload || net.workload->host.network ? kEndOfTime : kEndPs / net.workload->cycle_ps;
}

}  // namespace flitgym::workload
