// The workload part of a state: ranks and their operations, messages, and future events. Exactly one object waits for
// each operation and each message; otherwise it would be completed twice or never.
#include <algorithm>
#include <map>
#include <tuple>

#include "simcore/stats.hpp"
#include "simcore/workload.hpp"
#include "verify/verify.hpp"
#include "workload/engine.hpp"
#include "workload/host.hpp"
#include "workload/pairs.hpp"

namespace flitgym {

namespace {

constexpr u64 kEndOfHosts = u64{1} << 62;  // ps; sums of times stay within 64 bits
constexpr u32 kOnStart = 0x80000000u;      // as in engine.cpp

// A transfer on its way. Its sender, packets and receiver must agree about it.
struct OnWay {
  PacketPayload said{};
  u32 unsent = 0, live = 0;  // packets that the sender still has, and packets in the network
  u32 left = kNone;          // packets that the receiver waits for; kNone: none has arrived
};
using TransferName = std::tuple<u32, u32, bool, u32>;  // sending rank, receiving rank, fetch or not, number

class WorkloadCheck {
 public:
  WorkloadCheck(const Network& net, const State& s, const std::vector<u8>& live)
      : net_(net), w_(*net.workload), s_(s), live_(live), starts_(w_.ranks(), 0) {
    std::size_t ops = 0, messages = 0;
    for (const Hosts& hosts : s.hosts) {
      op_base_.push_back(ops), message_base_.push_back(messages);
      ops += hosts.ops.size(), messages += hosts.messages.size();
    }
    owner_.assign(ops, kNone);
    for (auto* counts : {&begins_, &readies_, &ends_}) counts->assign(ops, 0);
    tokens_.assign(messages, 0);
    carried_.assign(messages, 0);
  }

  void run() {
    times();
    for (k_ = 0; k_ < s_.hosts.size(); k_++) {
      const auto free = marked_free(hosts().free_messages, hosts().messages.size(), "the list of free messages");
      free_messages_.insert(free_messages_.end(), free.begin(), free.end());
      hold(hosts().totals.messages_open == hosts().messages.size() - hosts().free_messages.size(),
           "the number of open messages");
      hold(hosts().outstanding.empty(), "bytes on the way that have not been counted");
      pools();
      pairs();
    }
    operations();
    for (k_ = 0; k_ < s_.hosts.size(); k_++) {
      events();
      waiting();
    }
    packets();
    outboxes();
    incoming();
    queues();
    messages();
    transfers();
    completions();
    totals();
  }

 private:
  const Hosts& hosts() const { return s_.hosts[k_]; }  // of the present partition
  u32 part_of(u32 rank) const { return workload::partition_of_rank(net_, rank); }
  const Message& message(u32 id) const { return hosts().messages[id]; }
  bool open(u32 id) const { return id < hosts().messages.size() && !free_messages_[message_base_[k_] + id]; }
  Transfer transfer(u32 id) const { return workload::transfer_of(message(id)); }
  void add_token(u32 id) { hold(tokens_[message_base_[k_] + id]++ == 0, "a message is in two places"); }
  // Whether the operation belongs to a rank's present block.
  bool is_own(u32 id) const { return id < hosts().ops.size() && owner_[op_base_[k_] + id] != kNone; }
  bool is_op(u32 id, OpKind kind) const { return is_own(id) && static_cast<OpKind>(hosts().ops[id].kind) == kind; }
  // Checks and counts an operation of a rank that a message completes.
  void completes(u32 rank, u32 id, OpKind kind, const char* otherwise) {
    k_ = part_of(rank);
    hold(is_op(id, kind) && owner_[op_base_[k_] + id] == rank && ends_[op_base_[k_] + id]++ == 0, otherwise);
    hold(kind == OpKind::kSend || hosts().ops[id].running == 1, otherwise);
  }
  void completes(Transfer transfer, u32 source, u32 destination, u32 send_op, u32 receive_op, const char* otherwise) {
    if (transfer == Transfer::kEager) return;
    completes(source, send_op, OpKind::kSend, otherwise);
    if (transfer == Transfer::kFetch || transfer == Transfer::kData)
      completes(destination, receive_op, OpKind::kReceive, otherwise);
  }

  void times() const {
    const auto early = [](u64 t) { return t < kEndOfHosts; };
    hold(early(host_totals(s_).now) && std::all_of(s_.cpu_free.begin(), s_.cpu_free.end(), early) &&
             std::all_of(s_.nic_free.begin(), s_.nic_free.end(), early),
         "the time of a host");
    for (const NodePort& port : s_.node_ports)
      hold(early(port.out_free) && early(port.in_free), "the time of an intra-node link");
  }

  // Each piece of a pool must belong to a rank or be in a free list.
  template <class Next>
  void pieces(std::size_t pool, const std::vector<u32>& free, const char* broken, u32 Rank::* first, u32 Rank::* size,
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
    for (u32 r = 0; r < w_.ranks(); r++)
      if (s_.ranks[r].*first != kNone && part_of(r) == k_) take(s_.ranks[r].*first, s_.ranks[r].*size);
  }
  void pools() {
    pieces(hosts().ops.size(), hosts().free_ops, "the pool of operations", &Rank::first_op, &Rank::op_class,
           [&](u32 piece) { return hosts().ops[piece].next; });
    pieces(hosts().edges.size(), hosts().free_edges, "the pool of dependencies", &Rank::first_edge, &Rank::edge_class,
           [&](u32 piece) { return hosts().edges[piece]; });
  }

  // The table of pairs: every entry must be where a search for it ends.
  void pairs() {
    const char* const broken = "the table of sending and receiving ranks is broken";
    const auto& table = hosts().pairs;
    hold((table.size() & (table.size() - 1)) == 0 && 2 * std::size_t{hosts().totals.pairs} <= table.size(), broken);
    std::size_t taken = 0;
    for (const Pair& pair : table) taken += pair.sender != kNone;
    hold(taken == hosts().totals.pairs, broken);  // otherwise a search would not end
    for (const Pair& pair : table) {
      if (pair.sender == kNone) continue;
      hold(pair.sender < w_.ranks() && pair.receiver < w_.ranks(), broken);
      hold(!w_.same_node(pair.sender, pair.receiver), broken);
      hold(&table[workload::pair_place(table, pair.sender, pair.receiver)] == &pair, broken);
      hold(part_of(pair.sender) == k_ || (pair.sent == 0 && pair.fetches == 0), broken);
      hold(part_of(pair.receiver) == k_ || (pair.handed_on == 0 && pair.incoming == kNone), broken);
    }
  }
  const Pair* pair_at(u32 part, u32 from, u32 to) const {
    const auto& table = s_.hosts[part].pairs;
    if (table.empty()) return nullptr;
    const Pair& pair = table[workload::pair_place(table, from, to)];
    return pair.sender == kNone ? nullptr : &pair;
  }

  // LogGOPS: actions that wait for a processor or an interface. Each entry of the pool is free or in one heap.
  void waiting() {
    const char* const broken = "the queue of a processor or an interface is broken";
    const std::size_t each = w_.host.kind == HostKind::kLogGops ? w_.cpus + 2 * w_.nics : 0;
    hold(s_.host_queues.size() == w_.ranks() * each, broken);
    std::vector<u8> seen = marked_free(hosts().free_waiting, hosts().waiting.size(), broken);
    std::vector<u32> left;
    for (std::size_t n = 0; n < s_.host_queues.size(); n++) {
      const HostQueue& queue = s_.host_queues[n];
      if (part_of(static_cast<u32>(n / each)) != k_) continue;
      if (queue.waiting != kNone) left.push_back(queue.waiting);
      while (!left.empty()) {
        const u32 entry = left.back();
        left.pop_back();
        hold(entry < seen.size() && !seen[entry], broken);
        seen[entry] = 1;
        const HostWaiting& x = hosts().waiting[entry];
        for (const u32 next : {x.child, x.sibling})
          if (next != kNone) left.push_back(next);
        if (static_cast<HostAction>(x.action) == HostAction::kReady) {
          hold(is_own(x.id) && readies_[op_base_[k_] + x.id]++ == 0, broken);
        } else {
          hold(static_cast<HostAction>(x.action) == HostAction::kArrive && open(x.id), broken);
          hold(ends_are_ranks(x.id) && part_of(workload::receiver(message(x.id))) == k_, broken);
          add_token(x.id);
        }
      }
    }
  }

  // The operations of every rank must be those of its program's block.
  void operations() {
    for (u32 k = 0; k < s_.hosts.size(); k++)
      for (const HostEvent& e : s_.hosts[k].events) {
        if (static_cast<HostAction>(e.action) != HostAction::kStartRank) continue;
        hold(e.id < w_.ranks() && part_of(e.id) == k && !starts_[e.id], "a rank starts twice");
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
      const u32 k = part_of(r);
      const ActiveOp* const ops = &s_.hosts[k].ops[rank.first_op];
      const u32* const after = &s_.hosts[k].edges[rank.first_edge];
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
        hold(own.early == 0 || (!w_.host.network && own.running > 0 && own.early <= w_.cpus), broken);
        at += own.edges;
        end[i] = own.first_edge;
        left += own.running != 2;
        calculating += op.kind == OpKind::kCalc && own.running == 1;
        owner_[op_base_[k] + rank.first_op + i] = r;
      }
      for (const Dependency& d : block.dependencies) {
        hold(after[end[d.before]++] == (d.after | (d.on_start ? kOnStart : 0)), broken);
        const ActiveOp& before = ops[d.before];
        waits[d.after] += d.on_start ? before.running == 0 : before.running < 2 && before.early != ops[d.after].cpu + 1;
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
    const auto& all = hosts().events;
    hold(std::is_heap(all.begin(), all.end(), later), "the events are not in order");
    for (const HostEvent& e : all) {
      const char* const broken = "an event is impossible";
      hold(e.when < kEndOfHosts && e.order < hosts().totals.order, broken);
      hold(e.action <= static_cast<u32>(HostAction::kLinkTail), broken);
      const auto action = static_cast<HostAction>(e.action);
      switch (action) {
        case HostAction::kStartRank: break;
        case HostAction::kReady:
        case HostAction::kBegin:
        case HostAction::kDone: {
          hold(is_own(e.id), broken);
          auto& count = action == HostAction::kReady ? readies_ : action == HostAction::kBegin ? begins_ : ends_;
          hold(count[op_base_[k_] + e.id]++ == 0, broken);
          break;
        }
        case HostAction::kHandOver:
        case HostAction::kArrive:
        case HostAction::kMatch:
        case HostAction::kLinkHead:
        case HostAction::kLinkTail: {
          hold(open(e.id) && ends_are_ranks(e.id), broken);
          const Message& m = message(e.id);
          const bool fresh = transfer(e.id) == Transfer::kEager || transfer(e.id) == Transfer::kRequest;
          hold(w_.host.network ? action != HostAction::kMatch || fresh : action != HostAction::kHandOver && fresh,
               broken);
          const bool on_link = action == HostAction::kLinkHead || action == HostAction::kLinkTail;
          hold(!on_link || (w_.has_links() && m.source != m.destination && w_.same_node(m.source, m.destination)),
               broken);
          hold(part_of(action == HostAction::kHandOver ? workload::sender(m) : workload::receiver(m)) == k_, broken);
          add_token(e.id);
          break;
        }
      }
    }
  }

  bool ends_are_ranks(u32 id) const {
    const Message& m = message(id);
    return m.source < w_.ranks() && m.destination < w_.ranks() && m.transfer <= static_cast<u8>(Transfer::kAcknowledge);
  }

  // ---- transfers on their way ----

  void carry(u32 id) {
    add_token(id);
    carried_[message_base_[k_] + id] = 1;
  }
  OnWay& on_way(u32 from, u32 to, const PacketPayload& said, const char* broken) {
    hold(w_.host.network && said.transfer <= static_cast<u8>(Transfer::kAcknowledge), broken);
    hold(!w_.same_node(from, to), broken);
    OnWay& one = on_way_[{from, to, static_cast<Transfer>(said.transfer) == Transfer::kFetch, said.number}];
    if (one.unsent + one.live == 0 && one.left == kNone) one.said = said;
    const PacketPayload& a = one.said;
    hold(a.bytes == said.bytes && a.begun == said.begun && a.tag == said.tag && a.send_op == said.send_op &&
             a.receive_op == said.receive_op && a.transfer == said.transfer && a.cpu == said.cpu && a.nic == said.nic,
         broken);
    return one;
  }
  static PacketPayload said_of(const Message& m) {
    return {m.bytes, m.begun, m.number, m.tag, m.send_op, m.receive_op, 0, m.transfer, m.cpu, m.nic, 0};
  }

  void packets() {
    const char* const broken = "a packet belongs to no message";
    // Partitions write the entries of their packets in parallel, so the array has all entries.
    hold(net_.partitions() == 1 ? s_.payloads.size() <= s_.packets.size() : s_.payloads.size() == s_.packets.size(),
         "the packets' messages");
    hold(s_.packet_ranks.size() == (w_.shares_nics() ? s_.payloads.size() : 0), "the packets' ranks");
    for (std::size_t id = 0; id < live_.size(); id++) {
      if (!live_[id]) continue;
      const Packet& p = s_.packets[id];
      hold(id < s_.payloads.size(), broken);
      PacketRanks ends{w_.terminal_rank[p.source], w_.terminal_rank[p.destination]};
      if (w_.shares_nics()) ends = s_.packet_ranks[id];
      const u32 from = ends.sender, to = ends.receiver;
      hold(from < w_.ranks() && to < w_.ranks(), broken);
      hold(w_.rank_terminal[from] == p.source && w_.rank_terminal[to] == p.destination, broken);
      hold(s_.payloads[id].own_bytes <= w_.packet_bytes, broken);
      on_way(from, to, s_.payloads[id], broken).live++;
    }
  }

  // Transfers that NICs have received from hosts and that have packets left.
  void outboxes() {
    const char* const broken = "the outbox of a NIC is broken";
    for (u32 t = 0; t < net_.terminals; t++) {
      const Outbox& box = s_.outboxes[t];
      k_ = net_.partition_of(net_.terminal_router[t]);
      u32 length = 0, last = kNone;
      for (u32 id = box.first; id != kNone; last = id, id = message(id).next, length++) {
        hold(open(id) && ends_are_ranks(id) && w_.rank_terminal[workload::sender(message(id))] == t, broken);
        carry(id);
        const Message& m = message(id);
        hold(m.handed <= s_.part.totals.now && m.packets > 0, broken);
        on_way(workload::sender(m), workload::receiver(m), said_of(m), broken).unsent = m.packets;
      }
      hold(length == s_.terminals[t].left && last == box.last && box.next_flits <= net_.most_packet_flits, broken);
    }
  }

  // Transfers that have arrived in part and have not been handed on.
  void incoming() {
    const char* const broken = "a list of incoming transfers is broken";
    for (k_ = 0; k_ < s_.hosts.size(); k_++)
      for (const Pair& pair : hosts().pairs)
        for (u32 id = pair.sender == kNone ? kNone : pair.incoming; id != kNone; id = message(id).next) {
          hold(open(id) && ends_are_ranks(id), broken);
          carry(id);
          const Message& m = message(id);
          hold(workload::sender(m) == pair.sender && workload::receiver(m) == pair.receiver, broken);
          OnWay& one = on_way(pair.sender, pair.receiver, said_of(m), broken);
          hold(one.left == kNone && m.packets != kNone, broken);
          one.left = m.packets;
        }
  }

  void transfers() {
    std::map<std::pair<u32, u32>, u32> ordered;
    for (const auto& [name, one] : on_way_) {
      const auto& [from, to, fetch, number] = name;
      const char* const broken = "the packets of a transfer do not match its progress";
      const PacketPayload& said = one.said;
      const auto transfer = static_cast<Transfer>(said.transfer);
      hold(contents_hold(said.bytes, said.begun, said.cpu, said.nic, transfer), broken);
      const u64 all = workload::wire_packets(w_, said.bytes, transfer), still = u64{one.unsent} + one.live;
      hold(one.left == kNone ? still == all : still == one.left && one.left < all, broken);
      const bool back = workload::from_destination(transfer);
      completes(transfer, back ? to : from, back ? from : to, said.send_op, said.receive_op, broken);
      // The number must have been assigned, and must not belong to a transfer that has been handed on.
      const Pair* const sent = pair_at(part_of(from), from, to);
      const Pair* const received = pair_at(part_of(to), from, to);
      hold(sent, broken);
      const u32 handed_on = received ? received->handed_on : 0;
      if (fetch) {
        hold(still > 0 && sent->fetches - number - 1 < 1u << 31, broken);
        continue;
      }
      hold(number - handed_on < sent->sent - handed_on && (still > 0 || number != handed_on), broken);
      ordered[{from, to}]++;
    }
    // Every number in between must be on its way, because later transfers would otherwise wait for ever.
    for (const Hosts& own : s_.hosts)
      for (const Pair& pair : own.pairs) {
        if (pair.sender == kNone) continue;
        const Pair* const sent = pair_at(part_of(pair.sender), pair.sender, pair.receiver);
        const Pair* const received = pair_at(part_of(pair.receiver), pair.sender, pair.receiver);
        const auto found = ordered.find({pair.sender, pair.receiver});
        const u32 many = found == ordered.end() ? 0 : found->second;
        const u32 given = sent ? sent->sent : 0, handed_on = received ? received->handed_on : 0;
        hold(given - handed_on == many, "the order of transfers between two ranks");
      }
  }

  // ---- messages ----

  // Receives that wait for messages, and messages that wait for receives.
  void queues() {
    for (u32 r = 0; r < w_.ranks(); r++) {
      const Rank& rank = s_.ranks[r];
      const char* const broken = "a rank's queue of messages is broken";
      k_ = part_of(r);
      u32 last = kNone;
      for (u32 id = rank.posted; id != kNone; last = id, id = hosts().ops[id].next)
        hold(is_op(id, OpKind::kReceive) && owner_[op_base_[k_] + id] == r && hosts().ops[id].running == 1 &&
                 ends_[op_base_[k_] + id]++ == 0,
             broken);
      hold(rank.posted == kNone || last == rank.last_posted, broken);
      last = kNone;
      for (u32 id = rank.unexpected; id != kNone; last = id, id = message(id).next) {
        hold(open(id) && message(id).destination == r, broken);
        hold(message(id).transfer <= static_cast<u8>(Transfer::kRequest), broken);
        add_token(id);
      }
      hold(rank.unexpected == kNone || last == rank.last_unexpected, broken);
    }
  }

  bool contents_hold(u64 bytes, u64 begun, u32 cpu, u32 nic, Transfer transfer) const {
    return cpu < w_.cpus && nic < w_.nics && begun < kEndOfHosts && bytes / w_.packet_bytes <= 0xffff0000u &&
           (transfer == Transfer::kEager) == workload::is_eager(w_.host, bytes);
  }

  void messages() {
    for (u32 k = 0; k < s_.hosts.size(); k++)
      for (u32 id = 0; k_ = k, id < hosts().messages.size(); id++) {
        if (!open(id)) continue;
        const Message& m = message(id);
        const char* const broken = "a message is inconsistent";
        hold(ends_are_ranks(id) && m.served < kEndOfHosts, broken);
        hold(contents_hold(m.bytes, m.begun, m.cpu, m.nic, transfer(id)), broken);
        hold(tokens_[message_base_[k] + id] == 1, "a message is at no place");
        // A message on its way may be stored twice, but completes its operations once; see transfers().
        if (carried_[message_base_[k] + id]) continue;
        completes(transfer(id), m.source, m.destination, m.send_op, m.receive_op, broken);
      }
  }

  // Every operation has exactly one pending event.
  void completions() const {
    for (std::size_t k = 0, at = 0; k < s_.hosts.size(); k++)
      for (const ActiveOp& op : s_.hosts[k].ops) {
        const std::size_t id = at++;
        if (owner_[id] == kNone) continue;
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
    const HostTotals sums = host_totals(s_);
    const std::vector<JobTotals> jobs = job_sums(s_);
    hold(blocks == sums.blocks_done && done == sums.ranks_done, "the progress of the workload");
    for (u32 j = 0; j < w_.job_count(); j++) hold(done_of[j] == jobs[j].ranks_done, "the progress of a job");
    for (const ChannelAccount& account : s_.job_channels)
      hold(account.job < w_.job_count(), "the job of a flit on a channel");
  }

  const Network& net_;
  const Workload& w_;
  const State& s_;
  const std::vector<u8>& live_;
  u32 k_ = 0;                                        // the present partition
  std::vector<std::size_t> op_base_, message_base_;  // [partitions] start of its pools in the arrays below
  std::vector<u32> owner_;                           // by operation: rank in whose present block it is, or kNone
  // by operation: pending events that begin it, check it again, and complete it
  std::vector<u8> begins_, readies_, ends_;
  std::vector<u8> free_messages_, tokens_;  // by message: number of places that hold it
  std::vector<u8> carried_;                 // by message: its present transfer is on its way
  std::map<TransferName, OnWay> on_way_;
  std::vector<u8> starts_;  // by rank: has not started yet
};

}  // namespace

void verify_workload(const Network& net, const State& s, const std::vector<u8>& live) {
  if (net.workload) return WorkloadCheck(net, s, live).run();
  hold(s.hosts.empty() && s.payloads.empty() && s.host_queues.empty() && s.packet_ranks.empty(),
       "it has a workload, but the network has none");
}

}  // namespace flitgym
