// Cuts messages into packets and reassembles them. A NIC sends transfers in the order in which its ranks submit them. A
// fetch, the answer to the request of a large message, goes first. With nic_order=packet, it takes a packet of each
// waiting transfer in turn. The receiving NIC passes transfers to its host in the order in which the sender submitted
// them, even if packets overtake (as Merlin's ReorderLinkControl does).
//
// The two ends share only the packets. Each packet carries the data that its receiver needs, and the sender keeps its
// record until the last packet has entered the network. A message may therefore cross from one partition to another.
#include "core/demand.hpp"
#include "core/hosts/engine.hpp"
#include "core/stage/acknowledgement.hpp"
#include "simcore/stats.hpp"
#include "simcore/traffic_classes.hpp"

namespace flitgym::workload {

namespace {

// Pairs of ranks that have exchanged messages: a hash table with open addressing, one per partition. It grows with the
// number of pairs and never shrinks, because message numbers must not be reused.

// Index of a pair, or of the free entry for it. The size of the table is a power of two.
std::size_t pair_place(const std::vector<Pair>& pairs, u32 sender, u32 receiver) {
  const std::size_t mask = pairs.size() - 1;
  std::size_t at = mix64(u64{sender} << 32 | receiver) & mask;
  while (pairs[at].sender != kNone && (pairs[at].sender != sender || pairs[at].receiver != receiver))
    at = (at + 1) & mask;
  return at;
}

// The reference is valid until the next call.
Pair& pair_of(Hosts& hosts, u32 sender, u32 receiver) {
  if (2 * std::size_t{hosts.totals.pairs} >= hosts.pairs.size()) [[unlikely]] {
    std::vector<Pair> larger(std::max<std::size_t>(64, hosts.pairs.size() * 2), Pair{kNone, kNone, 0, 0, 0, kNone});
    for (const Pair& pair : hosts.pairs)
      if (pair.sender != kNone) larger[pair_place(larger, pair.sender, pair.receiver)] = pair;
    hosts.pairs.swap(larger);
  }
  Pair& pair = hosts.pairs[pair_place(hosts.pairs, sender, receiver)];
  if (pair.sender == kNone) {
    pair.sender = sender;
    pair.receiver = receiver;
    hosts.totals.pairs++;
  }
  return pair;
}

void add_outstanding(JobTotals& job, i64 bytes) {
  job.outstanding += static_cast<u64>(bytes);
  if (bytes > 0) job.outstanding_peak = std::max(job.outstanding_peak, job.outstanding);
}

// The transfer with this number among those arriving from a rank. kNone: none of its packets has arrived.
struct Incoming {
  u32 id, before;
};
Incoming incoming(const Hosts& hosts, const Pair& pair, u32 number, bool unordered_one) {
  u32 before = kNone, id = pair.incoming;
  for (; id != kNone; before = id, id = hosts.messages[id].next)
    if (hosts.messages[id].number == number && unordered(transfer_of(hosts.messages[id])) == unordered_one) break;
  return {id, before};
}

void unlink(Hosts& hosts, Pair& pair, const Incoming& one) {
  (one.before == kNone ? pair.incoming : hosts.messages[one.before].next) = hosts.messages[one.id].next;
}

// A NIC looks at so many of its transfers for one that its congestion control lets go.
constexpr u32 kMostHeld = 64;

u32 first_packet(Frame& f, Pair& pair, const PacketPayload& load) {
  const u32 id = new_message(f.hosts());
  Message& m = f.hosts().messages[id];
  const auto transfer = static_cast<Transfer>(load.transfer);
  const bool back = from_destination(transfer);
  const u32 packets = wire_packets(*f.net.workload, load.bytes, transfer);
  u32 receive_op = load.receive_op;
  if (transfer == Transfer::kFlow) {
    Flows& flows = f.s.flows[f.k];
    receive_op = take(flows.arrivals, flows.free_arrivals);
    flows.arrivals[receive_op] = {};
  }
  const u32 source = back ? pair.receiver : pair.sender, destination = back ? pair.sender : pair.receiver;
  m = {load.bytes, load.begun,    0,           source,        destination, load.tag, load.send_op, receive_op, packets,
       0,          pair.incoming, load.number, load.transfer, 0,           load.cpu, load.nic};
  pair.incoming = id;
  return id;
}

}  // namespace

JobPoint* job_point(Frame& f, u32 job) {
  const u32 interval = f.s.series_interval[0], jobs = f.net.workload->job_count();
  if (!interval) return nullptr;
  std::vector<JobPoint>& series = f.hosts().job_series;
  const std::size_t k = std::size_t{f.now / interval} * jobs;
  if (k >= series.size()) series.resize(k + jobs);
  return &series[k + job];
}

void hand_on(Frame& f, u32 id, u64 when, bool by_packet) {
  const Workload& w = *f.net.workload;
  Hosts& hosts = f.hosts();
  const Message& m = hosts.messages[id];
  if (carries_data(transfer_of(m))) {
    count_received(f, m, when, by_packet ? 0 : when);
    learning::count_delivered(f, terminal_of(w, f.s, m.source), static_cast<double>(m.bytes) / w.packet_bytes);
  }
  if (transfer_of(m) == Transfer::kFlow) return flow_complete(f, id, when);
  push_event(hosts, when + w.host.nic_receive, HostAction::kArrive, id);
}

u32 wire_packets(const Workload& w, u64 bytes, Transfer transfer) {
  // Fits 32 bits because build_workload() refuses larger messages.
  return static_cast<u32>(std::max<u64>(1, (wire_bytes(w, bytes, transfer) + w.packet_bytes - 1) / w.packet_bytes));
}

u32 new_message(Hosts& hosts) {
  hosts.totals.messages_open++;
  return take(hosts.messages, hosts.free_messages);
}

void free_message(Hosts& hosts, u32 id) {
  hosts.totals.messages_open--;
  hosts.free_messages.push_back(id);
}

// ---- bytes in transit and their maximum ----

void count_outstanding(Frame& f, u32 job, u64 when, i64 bytes) {
  if (f.net.partitions() == 1) add_outstanding(f.hosts().job_totals[job], bytes);
  else f.hosts().outstanding.push_back({when, bytes, f.now, job});
}

void count_sent(Frame& f, const Message& m) {
  const u32 j = f.net.workload->rank_job[m.source];
  JobTotals& job = f.hosts().job_totals[j];
  job.messages_sent++;
  job.bytes_sent += m.bytes;
  count_outstanding(f, j, f.hosts().totals.now, static_cast<i64>(m.bytes));
  f.s.ranks[m.source].bytes_sent += m.bytes;
}

void count_received(Frame& f, const Message& m, u64 when, u64 order) {
  const Workload& w = *f.net.workload;
  const u32 j = w.rank_job[m.source];
  JobTotals& job = f.hosts().job_totals[j];
  const u64 latency = when > m.begun ? when - m.begun : 0;
  job.messages_received++;
  job.bytes_received += m.bytes;
  count_outstanding(f, j, order, -static_cast<i64>(m.bytes));
  job.message_latency += latency;
  job.message_latency_max = std::max(job.message_latency_max, latency);
  const u32 bin = histogram_bin(static_cast<u32>(std::min<u64>(latency / 1000, 0xffffffffu)));
  f.hosts().message_histogram[std::size_t{j} * kHistogramBins + bin]++;
  f.s.ranks[m.destination].bytes_received += m.bytes;
  if (w.matrix.ranks) message_complete(w, f.s, m, when);
}

// Applies changes in the order of time. In each cycle, arrivals count before what hosts send. At equal times,
// partitions follow in their order.
void settle_outstanding(State& s) {
  if (s.hosts.size() < 2) return;
  std::vector<OutstandingChange> all;
  for (Hosts& hosts : s.hosts) {
    all.insert(all.end(), hosts.outstanding.begin(), hosts.outstanding.end());
    hosts.outstanding.clear();
  }
  std::stable_sort(all.begin(), all.end(), [](const OutstandingChange& a, const OutstandingChange& b) {
    return a.cycle != b.cycle ? a.cycle < b.cycle : a.when < b.when;
  });
  for (const OutstandingChange& change : all) add_outstanding(s.hosts[0].job_totals[change.job], change.bytes);
}

// ---- into the network ----

void hand_over(Frame& f, u32 id) {
  const Workload& w = *f.net.workload;
  State& s = f.s;
  Hosts& hosts = f.hosts();
  Message& m = hosts.messages[id];
  const Transfer transfer = transfer_of(m);
  const u32 from = sender(m), to = receiver(m), terminal = terminal_of(w, s, from);
  if (carries_data(transfer)) {
    count_sent(f, m);
    if (JobPoint* point = job_point(f, w.rank_job[m.source])) {
      point->bytes_sent += m.bytes;
      if (from == to) point->bytes_received += m.bytes;
    }
  }
  if (w.nodes.of_terminal[terminal] == w.nodes.of_terminal[terminal_of(w, s, to)]) {
    if (w.has_links()) count_within_node(f, id, false);
    if (from != to) return enter_link(f, id);
    if (w.has_links()) count_within_node(f, id, true);
    return hand_on(f, id, hosts.totals.now, false);  // a message from a rank to itself stays in its host
  }

  Pair& pair = pair_of(hosts, from, to);
  m.number = unordered(transfer) ? pair.fetches++ : pair.sent++;
  m.packets = wire_packets(w, m.bytes, transfer);
  m.handed = f.now;
  if (transfer == Transfer::kFlow && f.part.window.open) f.part.window.generated += m.packets;
  Outbox& box = s.outboxes[terminal * class_count(f.net) + class_of_message(f.net, m)];
  if (transfer == Transfer::kFetch && box.first != kNone) {
    m.next = box.first;  // a fetch overtakes waiting transfers and is not part of their order
    box.first = id;
    box.next_flits = 0;
  } else {
    append(hosts.messages, box.first, box.last, id);
  }
  if (s.terminals[terminal].left++ == 0) f.part.totals.backlogged++;
  fill_from_outbox(f, terminal);
}

// Each traffic class has its own outbox and its own room in the NIC.
static void fill_class(Frame& f, u32 terminal, u32 own_class) {
  const Workload& w = *f.net.workload;
  State& s = f.s;
  Outbox& box = s.outboxes[terminal * class_count(f.net) + own_class];
  const u32 nic = f.net.nic(terminal);
  const auto queued = [&] {
    if (!f.net.classes) return s.ports[nic].queued;
    u32 flits = 0;
    for (u32 vc = 0; vc < f.net.class_vcs; vc++)
      flits += s.output_vcs[f.net.vc_id(nic, own_class * f.net.class_vcs + vc)].count;
    return flits;
  };
  // A quick exit, because this function runs for every flit that the NIC sends.
  if (queued() + box.next_flits > f.net.router.nic_depth) return;
  Hosts& hosts = f.hosts();
  box.next_flits = 0;
  u32 held = 0, ahead = kNone;  // transfers that the congestion control holds; the transfer ahead of `id`
  for (u32 id = box.first; id != kNone;) {
    Message& m = hosts.messages[id];
    const Transfer transfer = transfer_of(m);
    u32 size = w.packet_bytes, flits = f.net.most_packet_flits;
    if (m.packets == 1) {  // the last packet may be shorter
      const u64 all = wire_bytes(w, m.bytes, transfer);
      const u32 rest = static_cast<u32>(all % w.packet_bytes);
      if (rest > 0 || all == 0) size = rest;
      flits = std::max(1u, (size + w.flit_bytes - 1) / w.flit_bytes);
    }
    if (queued() + flits > f.net.router.nic_depth) {
      box.next_flits = flits;
      return;
    }
    const u32 to = terminal_of(w, s, receiver(m));
    if (f.net.control && !control::may_go(f, terminal, to, flits)) {
      if (++held == kMostHeld) return;
      ahead = id;
      id = m.next;
      continue;
    }

    const bool data = carries_data(transfer);
    // The header comes first and may fill more than a packet.
    const u32 number = wire_packets(w, m.bytes, transfer) - m.packets;
    const u64 before = number * u64{w.packet_bytes};
    const u64 header = w.header_bytes[m.transfer];
    const u32 payload = !data ? 0 : size - static_cast<u32>(std::min<u64>(size, header > before ? header - before : 0));
    const u32 packet = inject_packet(f, terminal, to, flits, m.handed, w.rank_job[m.source], own_class);
    if (packet >= s.payloads.size()) s.payloads.resize(packet + 1);
    if (w.shares_nics()) {
      if (packet >= s.packet_ranks.size()) s.packet_ranks.resize(packet + 1);
      s.packet_ranks[packet] = {sender(m), receiver(m)};
    }
    const u32 receive_op = transfer == Transfer::kFlow ? number : m.receive_op;
    s.payloads[packet] = {m.bytes, m.begun,    m.number, m.tag, m.send_op, receive_op,
                          payload, m.transfer, m.cpu,    m.nic, 0};

    const bool done = --m.packets == 0;
    if (done || (w.interleave && box.first != box.last)) {
      (ahead == kNone ? box.first : hosts.messages[ahead].next) = m.next;
      if (box.last == id) box.last = ahead;
      if (done) free_message(hosts, id);
      else append(hosts.messages, box.first, box.last, id);
    }
    if (done && --s.terminals[terminal].left == 0) f.part.totals.backlogged--;
    held = 0;
    ahead = kNone;
    id = box.first;
  }
}

void fill_from_outbox(Frame& f, u32 terminal) {
  for (u32 c = 0; c < class_count(f.net); c++) fill_class(f, terminal, c);
}

// ---- out of the network ----

void packet_delivered(Frame& f, u32 packet) {
  const Workload& w = *f.net.workload;
  Hosts& hosts = f.hosts();
  const Packet& p = f.s.packets[packet];
  const PacketPayload load = f.s.payloads[packet];
  JobTotals& job = hosts.job_totals[p.job];
  const u32 latency = f.now - (f.net.router.latency_from_nic ? p.injected : p.generated);
  job.packets++;
  job.flits += p.flits;
  job.hops += p.hops;
  job.nonminimal += p.nonminimal;
  job.latency += latency;
  if (latency > job.latency_max) job.latency_max = latency;
  hosts.job_histogram[std::size_t{p.job} * kHistogramBins + histogram_bin(latency)]++;
  if (JobPoint* point = job_point(f, p.job)) {
    point->packets++;
    point->bytes_received += load.own_bytes;
    point->hops += p.hops;
    point->latency += latency;
  }

  const PacketRanks ends = w.shares_nics() ? f.s.packet_ranks[packet]
                                           : PacketRanks{rank_at(w, f.s, p.source), rank_at(w, f.s, p.destination)};
  Pair& pair = pair_of(hosts, ends.sender, ends.receiver);
  const bool at_once = unordered(static_cast<Transfer>(load.transfer));
  Incoming one = incoming(hosts, pair, load.number, at_once);
  if (one.id == kNone) one = {first_packet(f, pair, load), kNone};
  Message& m = hosts.messages[one.id];
  m.packets--;
  if (transfer_of(m) == Transfer::kFlow) flow_packet(f, m, load.receive_op);
  if (m.packets > 0) return;
  const u64 when = u64{f.now} * w.cycle_ps;
  if (at_once) {
    unlink(hosts, pair, one);
    return hand_on(f, one.id, when, true);
  }
  // The transfer is complete. The NIC hands it on unless an earlier transfer between the same two ranks is still in
  // transit.
  while (one.id != kNone && hosts.messages[one.id].number == pair.handed_on && hosts.messages[one.id].packets == 0) {
    unlink(hosts, pair, one);
    pair.handed_on++;
    hand_on(f, one.id, when, true);
    one = incoming(hosts, pair, pair.handed_on, false);
  }
}

}  // namespace flitgym::workload
