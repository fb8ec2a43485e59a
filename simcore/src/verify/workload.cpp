// The part of a state that a workload has: ranks and their operations, messages, and the events to come. Each
// operation and each message is waited for by exactly one thing, or it would be completed twice or never.
#include <algorithm>

#include "simcore/workload.hpp"
#include "verify/verify.hpp"
#include "workload/engine.hpp"
#include "workload/host.hpp"

namespace flitgym {

namespace {

constexpr u64 kEndOfHosts = u64{1} << 62;  // ps; sums of times stay within 64 bits
constexpr u32 kOnStart = 0x80000000u;      // as in engine.cpp

class WorkloadCheck {
 public:
  WorkloadCheck(const Network& net, const State& s, const std::vector<u8>& live)
      : net_(net), w_(*net.workload), s_(s), live_(live), owner_(s.ops.size(), kNone), begins_(s.ops.size(), 0),
        readies_(s.ops.size(), 0), ends_(s.ops.size(), 0), tokens_(s.messages.size(), 0),
            packets_of_(s.messages.size(), 0),
        in_outbox_(s.messages.size(), 0), in_sent_(s.messages.size(), 0), starts_(w_.ranks(), 0) {}

  void run() {
    times();
    free_messages_ = marked_free(s_.free_messages, s_.messages.size(), "the list of free messages");
    hold(s_.host.messages_open == s_.messages.size() - s_.free_messages.size(), "the number of open messages");
    pools();
    operations();
    events();
    waiting();
    packets();
    outboxes();
    queues();
    messages();
    completions();
    totals();
  }

 private:
  bool open(u32 message) const { return message < s_.messages.size() && !free_messages_[message]; }
  Transfer transfer(u32 message) const { return static_cast<Transfer>(s_.messages[message].transfer); }
  u32 sender(const Message& m) const { return from_destination(static_cast<Transfer>(m.transfer)) ? m.destination : m.source; }
  // Of the rank's present block.
  bool is_op(u32 id, OpKind kind) const {
    return id < s_.ops.size() && owner_[id] != kNone && static_cast<OpKind>(s_.ops[id].kind) == kind;
  }

  void times() const {
    const auto early = [](u64 t) { return t < kEndOfHosts; };
    hold(early(s_.host.now) && std::all_of(s_.cpu_free.begin(), s_.cpu_free.end(), early) &&
             std::all_of(s_.nic_free.begin(), s_.nic_free.end(), early),
         "the time of a host");
  }

  // The pieces of a pool: those that ranks have, and those in the lists of free ones.
  template <class Next>
  void pieces(std::size_t pool, const std::vector<u32>& free, const char* broken, u32 Rank::*first, u32 Rank::*size,
      Next next) {
    std::vector<u8> taken(pool, 0);
    const auto take = [&](u32 piece, u32 size_class) {
      hold(size_class < 32 && piece <= pool && (std::size_t{1} << size_class) <= pool - piece, broken);
      for (std::size_t k = piece; k < piece + (std::size_t{1} << size_class); k++) {
        hold(!taken[k], broken);
        taken[k] = 1;
      }
    };
    hold(free.size() == 32, broken);
    for (u32 k = 0; k < 32; k++)
      for (u32 piece = free[k]; piece != kNone; piece = next(piece)) take(piece, k);
    for (const Rank& rank : s_.ranks)
      if (rank.*first != kNone) take(rank.*first, rank.*size);
  }
  void pools() {
    pieces(s_.ops.size(), s_.free_ops, "the pool of operations", &Rank::first_op, &Rank::op_class,
           [&](u32 piece) { return s_.ops[piece].next; });
    pieces(s_.edges.size(), s_.free_edges, "the pool of dependencies", &Rank::first_edge, &Rank::edge_class,
           [&](u32 piece) { return s_.edges[piece]; });
  }

  // LogGOPS: what waits for a processor or an interface behind another. Each entry of the pool is free or in one heap.
  void waiting() {
    const char* const broken = "the queue of a processor or an interface is broken";
    const bool queues = w_.host.kind == HostKind::kLogGops;
    hold(s_.host_queues.size() == (queues ? std::size_t{w_.ranks()} * (w_.cpus + 2 * w_.nics) : 0), broken);
    std::vector<u8> seen = marked_free(s_.free_waiting, s_.host_waiting.size(), broken);
    std::vector<u32> left;
    for (const HostQueue& queue : s_.host_queues) {
      if (queue.waiting != kNone) left.push_back(queue.waiting);
      while (!left.empty()) {
        const u32 entry = left.back();
        left.pop_back();
        hold(entry < seen.size() && !seen[entry], broken);
        seen[entry] = 1;
        const HostWaiting& x = s_.host_waiting[entry];
        for (const u32 next : {x.child, x.sibling})
          if (next != kNone) left.push_back(next);
        if (static_cast<HostAction>(x.action) == HostAction::kReady) {
          hold(x.id < s_.ops.size() && owner_[x.id] != kNone && readies_[x.id]++ == 0, broken);
        } else {
          hold(static_cast<HostAction>(x.action) == HostAction::kArrive && open(x.id), broken);
          add_token(x.id);
        }
      }
    }
  }

  // The operations of every rank are those of its program's block.
  void operations() {
    for (const HostEvent& e : s_.host_events) {
      if (static_cast<HostAction>(e.action) != HostAction::kStartRank) continue;
      hold(e.id < w_.ranks() && !starts_[e.id], "a rank starts twice");
      starts_[e.id] = 1;
    }
    Block block;
    std::vector<u32> end, waits;
    for (u32 r = 0; r < w_.ranks(); r++) {
      const Rank& rank = s_.ranks[r];
      const Job& job = w_.jobs[w_.rank_job[r]];
      const u64 blocks = job.program->blocks(r - job.first_rank);
      const bool runs = !rank.done && !starts_[r];
      hold(rank.done <= 1 && !(rank.done && starts_[r]) && (rank.done ? rank.block == blocks : rank.block <= blocks) &&
               (!starts_[r] || rank.block == 0),
           "the progress of a rank");
      hold(rank.posted == kNone || runs, "a rank that does not run waits for a message");
      if (!runs) {
        hold(rank.left == 0 && rank.calculating == 0, "a rank that does not run has operations");
        continue;
      }
      const char* const broken = "the operations of a rank are not those of its program";
      hold(rank.block < blocks, broken);
      block.clear();
      job.program->block(r - job.first_rank, rank.block, block);
      const std::size_t n = block.ops.size(), edges = block.dependencies.size();
      hold(n > 0 && rank.ops == n && rank.first_op != kNone && n <= (std::size_t{1} << rank.op_class) &&
               rank.first_edge != kNone && edges <= (std::size_t{1} << rank.edge_class),
           broken);
      const ActiveOp* const ops = &s_.ops[rank.first_op];
      const u32* const after = &s_.edges[rank.first_edge];
      u32 left = 0, calculating = 0, at = 0;
      end.assign(n, 0);
      waits.assign(n, 0);
      for (const Dependency& d : block.dependencies) end[d.before]++;
      for (std::size_t i = 0; i < n; i++) {
        const Op& op = block.ops[i];
        const ActiveOp& own = ops[i];
        const bool message = op.kind != OpKind::kCalc && op.peer != kAnySource;
        hold(own.size == op.size && own.peer == op.peer + (message ? job.first_rank : 0) && own.tag == op.tag &&
                 own.kind == static_cast<u16>(op.kind) && own.cpu == op.cpu && own.nic == op.nic && own.rank == r &&
                 own.index == i && own.edges == end[i] && own.first_edge == at && own.running <= 2,
             broken);
        hold(own.cpu < w_.cpus && own.nic < w_.nics && (!message || own.peer < w_.ranks()), broken);
        at += own.edges;
        end[i] = own.first_edge;
        left += own.running != 2;
        calculating += op.kind == OpKind::kCalc && own.running == 1;
        owner_[rank.first_op + i] = r;
      }
      for (const Dependency& d : block.dependencies) {
        hold(after[end[d.before]++] == (d.after | (d.on_start ? kOnStart : 0)), broken);
        waits[d.after] += ops[d.before].running < (d.on_start ? 1 : 2);
      }
      for (std::size_t i = 0; i < n; i++)
        hold(ops[i].waits == waits[i] && (ops[i].running == 0 || waits[i] == 0), broken);
      hold(rank.left == left && left > 0 && rank.calculating == calculating, broken);
    }
  }

  void events() {
    const auto later = [](const HostEvent& a, const HostEvent& b) {
      return a.when != b.when ? a.when > b.when : a.order > b.order;
    };
    hold(std::is_heap(s_.host_events.begin(), s_.host_events.end(), later), "the events are not in order");
    for (const HostEvent& e : s_.host_events) {
      const char* const broken = "an event is of nothing that can happen";
      hold(e.when < kEndOfHosts && e.order < s_.host.order && e.action <= static_cast<u32>(HostAction::kMatch), broken);
      switch (static_cast<HostAction>(e.action)) {
        case HostAction::kStartRank: break;
        case HostAction::kReady:
        case HostAction::kBegin:
        case HostAction::kDone: {
          hold(e.id < s_.ops.size() && owner_[e.id] != kNone, broken);
          auto& count = e.action == static_cast<u32>(HostAction::kReady)   ? readies_
                        : e.action == static_cast<u32>(HostAction::kBegin) ? begins_
                                                                           : ends_;
          hold(count[e.id]++ == 0, broken);
          break;
        }
        case HostAction::kHandOver:
        case HostAction::kArrive:
        case HostAction::kMatch: {
          hold(open(e.id) && s_.messages[e.id].transfer <= static_cast<u8>(Transfer::kAcknowledge), broken);
          const bool fresh = transfer(e.id) == Transfer::kEager || transfer(e.id) == Transfer::kRequest;
          const auto action = static_cast<HostAction>(e.action);
          hold(w_.host.network ? action != HostAction::kMatch || fresh : action != HostAction::kHandOver && fresh,
              broken);
          add_token(e.id);
          break;
        }
      }
    }
  }

  void add_token(u32 message) { hold(tokens_[message]++ == 0, "a message is in two places"); }

  void packets() {
    hold(s_.payloads.size() <= s_.packets.size(), "the packets' messages");
    for (std::size_t id = 0; id < live_.size(); id++) {
      if (!live_[id]) continue;
      hold(id < s_.payloads.size() && open(s_.payloads[id].message) && s_.payloads[id].bytes <= w_.packet_bytes,
           "a packet belongs to no message");
      packets_of_[s_.payloads[id].message]++;
    }
  }

  // Transfers that NICs have been given: those with packets left, and those on the way.
  void outboxes() {
    const char* const broken = "the outbox of a NIC is broken";
    for (u32 t = 0; t < net_.terminals; t++) {
      const Outbox& box = s_.outboxes[t];
      const auto sent_from_here = [&](u32 id) { return w_.rank_terminal[sender(s_.messages[id])] == t; };
      u32 length = 0, last = kNone;
      for (u32 id = box.first; id != kNone; last = id, id = s_.messages[id].next, length++) {
        hold(open(id) && !in_outbox_[id] && ends_are_ranks(id) && sent_from_here(id), broken);
        in_outbox_[id] = 1;
      }
      hold(length == s_.terminals[t].left && last == box.last && box.next_flits <= net_.most_packet_flits, broken);
      last = kNone;
      for (u32 id = box.sent; id != kNone; last = id, id = s_.messages[id].later) {
        hold(open(id) && !in_sent_[id] && ends_are_ranks(id) && sent_from_here(id), broken);
        hold(s_.messages[id].earlier == last && transfer(id) != Transfer::kFetch, broken);
        in_sent_[id] = 1;
      }
      hold(last == box.last_sent, broken);
    }
  }
  bool ends_are_ranks(u32 id) const {
    const Message& m = s_.messages[id];
    return m.source < w_.ranks() && m.destination < w_.ranks() && m.transfer <= static_cast<u8>(Transfer::kAcknowledge);
  }

  // Receives that wait for messages, and messages that wait for receives.
  void queues() {
    for (u32 r = 0; r < w_.ranks(); r++) {
      const Rank& rank = s_.ranks[r];
      const char* const broken = "a rank's queue of messages is broken";
      u32 last = kNone;
      for (u32 id = rank.posted; id != kNone; last = id, id = s_.ops[id].next)
        hold(is_op(id, OpKind::kReceive) && owner_[id] == r && s_.ops[id].running == 1 && ends_[id]++ == 0, broken);
      hold(rank.posted == kNone || last == rank.last_posted, broken);
      last = kNone;
      for (u32 id = rank.unexpected; id != kNone; last = id, id = s_.messages[id].next) {
        hold(open(id) && s_.messages[id].destination == r &&
            s_.messages[id].transfer <= static_cast<u8>(Transfer::kRequest),
             broken);
        add_token(id);
      }
      hold(rank.unexpected == kNone || last == rank.last_unexpected, broken);
    }
  }

  void messages() {
    for (u32 id = 0; id < s_.messages.size(); id++) {
      if (free_messages_[id]) {
        hold(packets_of_[id] == 0, "a packet belongs to no message");
        continue;
      }
      const Message& m = s_.messages[id];
      const char* const broken = "a message contradicts itself";
      hold(ends_are_ranks(id) && m.cpu < w_.cpus && m.nic < w_.nics && m.begun < kEndOfHosts &&
          m.served < kEndOfHosts &&
               m.held <= 1 && m.bytes / w_.packet_bytes <= 0xffff0000u &&
               (transfer(id) == Transfer::kEager) == is_eager(w_.host, m.bytes),
           broken);
      const bool on_way = in_sent_[id] || (transfer(id) == Transfer::kFetch && (in_outbox_[id] || packets_of_[id] > 0));
      if (on_way) {
        add_token(id);
        const u64 bytes = w_.header_bytes[m.transfer] + (carries_data(transfer(id)) ? m.bytes : 0);
        const u64 all = std::max<u64>(1, bytes / w_.packet_bytes + (bytes % w_.packet_bytes > 0));
        hold(w_.host.network && m.to_inject <= all && (m.to_inject > 0) == (in_outbox_[id] != 0) &&
                 m.to_receive == m.to_inject + packets_of_[id] && m.handed <= s_.part.totals.now,
             broken);
        hold(m.held ? m.to_receive == 0 : m.to_receive > 0, broken);
      } else {
        hold(!in_outbox_[id] && packets_of_[id] == 0, broken);
      }
      hold(tokens_[id] == 1, "a message is nowhere");
      if (transfer(id) == Transfer::kEager) continue;
      hold(is_op(m.send_op, OpKind::kSend) && owner_[m.send_op] == m.source && ends_[m.send_op]++ == 0, broken);
      if (transfer(id) == Transfer::kFetch || transfer(id) == Transfer::kData)
        hold(is_op(m.receive_op, OpKind::kReceive) && owner_[m.receive_op] == m.destination &&
                 s_.ops[m.receive_op].running == 1 && ends_[m.receive_op]++ == 0,
             broken);
    }
  }

  // What is to become of every operation.
  void completions() const {
    for (std::size_t id = 0; id < s_.ops.size(); id++) {
      if (owner_[id] == kNone) continue;
      const ActiveOp& op = s_.ops[id];
      const bool waits_for_turn = op.running == 0 && op.waits == 0;
      const bool under_way = static_cast<OpKind>(op.kind) != OpKind::kReceive && begins_[id] > 0;
      hold(begins_[id] + readies_[id] == waits_for_turn && ends_[id] == (op.running == 1 || under_way),
           "an operation is completed twice, or never");
    }
  }

  void totals() const {
    u64 blocks = 0;
    u32 done = 0;
    std::vector<u32> done_of(w_.job_count(), 0);
    for (u32 r = 0; r < w_.ranks(); r++) {
      blocks += s_.ranks[r].block;
      done += s_.ranks[r].done;
      done_of[w_.rank_job[r]] += s_.ranks[r].done;
    }
    hold(blocks == s_.host.blocks_done && done == s_.host.ranks_done, "the progress of the workload");
    for (u32 j = 0; j < w_.job_count(); j++) hold(done_of[j] == s_.job_totals[j].ranks_done, "the progress of a job");
    for (const ChannelAccount& account : s_.job_channels) hold(account.job < w_.job_count(), "whose flit is on a channel");
  }

  const Network& net_;
  const Workload& w_;
  const State& s_;
  const std::vector<u8>& live_;
  std::vector<u32> owner_;                   // by operation: the rank in whose present block it is, kNone
  std::vector<u8> begins_, readies_, ends_;  // by operation: what is to begin it, to look at it again, to complete it
  std::vector<u8> free_messages_, tokens_;   // by message: in how many places it is
  std::vector<u32> packets_of_;              // by message: its packets in the network
  std::vector<u8> in_outbox_, in_sent_;
  std::vector<u8> starts_;                   // by rank: it has not started yet
};

}  // namespace

void verify_workload(const Network& net, const State& s, const std::vector<u8>& live) {
  if (net.workload) return WorkloadCheck(net, s, live).run();
  hold(s.host_events.empty() && s.ops.empty() && s.messages.empty() && s.free_messages.empty() && s.payloads.empty() &&
           s.job_series.empty() && s.host_queues.empty() && s.host_waiting.empty() && s.free_waiting.empty(),
       "a workload, where there is none");
}

}  // namespace flitgym
