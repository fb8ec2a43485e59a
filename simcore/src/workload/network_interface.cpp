// Messages become packets and packets messages. A NIC sends its transfers in the order in which it was given them; at
// the other end they are handed on in that order too, whatever ways their packets took (as Merlin's ReorderLinkControl
// does).
#include <algorithm>

#include "learning/demand.hpp"
#include "simcore/stats.hpp"
#include "workload/engine.hpp"
#include "workload/message_matrix.hpp"

namespace flitgym {

namespace {

bool comes_back(const Message& m) { return from_destination(static_cast<Transfer>(m.transfer)); }
u32 sender(const Message& m) { return comes_back(m) ? m.destination : m.source; }
u32 receiver(const Message& m) { return comes_back(m) ? m.source : m.destination; }

// Bytes on the wire.
u64 wire_bytes(const Workload& w, const Message& m) {
  return w.header_bytes[m.transfer] + (carries_data(static_cast<Transfer>(m.transfer)) ? m.bytes : 0);
}

// Fits 32 bits: build_workload() refuses larger messages.
u32 wire_packets(const Workload& w, const Message& m) {
  return static_cast<u32>(std::max<u64>(1, (wire_bytes(w, m) + w.packet_bytes - 1) / w.packet_bytes));
}

// The present interval of a job's time series; null without one.
JobPoint* present(Frame& f, u32 job) {
  const u32 interval = f.s.series_interval[0], jobs = f.net.workload->job_count();
  if (!interval) return nullptr;
  const std::size_t k = std::size_t{f.now / interval} * jobs;
  if (k >= f.s.job_series.size()) f.s.job_series.resize(k + jobs);
  return &f.s.job_series[k + job];
}

void hand_on(Frame& f, u32 id, u64 when) {
  const Workload& w = *f.net.workload;
  State& s = f.s;
  const Message& m = s.messages[id];
  if (carries_data(static_cast<Transfer>(m.transfer))) {
    JobTotals& job = s.job_totals[w.rank_job[m.source]];
    const u64 latency = when > m.begun ? when - m.begun : 0;
    job.messages_received++;
    job.bytes_received += m.bytes;
    job.outstanding -= m.bytes;
    job.message_latency += latency;
    job.message_latency_max = std::max(job.message_latency_max, latency);
    const u32 bin = histogram_bin(static_cast<u32>(std::min<u64>(latency / 1000, 0xffffffffu)));
    s.message_histogram[std::size_t{w.rank_job[m.source]} * kHistogramBins + bin]++;
    s.ranks[m.destination].bytes_received += m.bytes;
    if (w.matrix.ranks) message_complete(w, s, m, when);
    count_delivered(s, w.rank_terminal[m.source], static_cast<double>(m.bytes) / w.packet_bytes);
  }
  push_event(s, when + w.host.nic_receive, HostAction::kArrive, id);
}

void unlink(State& s, Outbox& box, u32 id) {
  const Message& m = s.messages[id];
  (m.earlier == kNone ? box.sent : s.messages[m.earlier].later) = m.later;
  (m.later == kNone ? box.last_sent : s.messages[m.later].earlier) = m.earlier;
}

void queued(Frame& f, u32 terminal) {
  if (f.s.terminals[terminal].left++ == 0) f.part.totals.backlogged++;
  fill_from_outbox(f, terminal);
}

}  // namespace

u32 new_message(State& s) {
  s.host.messages_open++;
  if (s.free_messages.empty()) {
    s.messages.emplace_back();
    return static_cast<u32>(s.messages.size()) - 1;
  }
  const u32 id = s.free_messages.back();
  s.free_messages.pop_back();
  return id;
}

void free_message(State& s, u32 id) {
  s.host.messages_open--;
  s.free_messages.push_back(id);
}

void hand_over(Frame& f, u32 id) {
  const Workload& w = *f.net.workload;
  State& s = f.s;
  Message& m = s.messages[id];
  const u32 from = sender(m), to = receiver(m), terminal = w.rank_terminal[from];
  if (carries_data(static_cast<Transfer>(m.transfer))) {
    const u32 j = w.rank_job[m.source];
    JobTotals& job = s.job_totals[j];
    job.messages_sent++;
    job.bytes_sent += m.bytes;
    job.outstanding += m.bytes;
    job.outstanding_peak = std::max(job.outstanding_peak, job.outstanding);
    s.ranks[m.source].bytes_sent += m.bytes;
    if (JobPoint* point = present(f, j)) {
      point->bytes_sent += m.bytes;
      if (from == to) point->bytes_received += m.bytes;
    }
  }
  if (from == to) return hand_on(f, id, s.host.now);  // a message to oneself stays in the host

  m.to_inject = m.to_receive = wire_packets(w, m);
  m.handed = f.now;
  m.held = 0;
  m.next = kNone;
  Outbox& box = s.outboxes[terminal];
  if (static_cast<Transfer>(m.transfer) == Transfer::kFetch && box.first != kNone) {
    m.next = box.first;  // a fetch goes past what waits, and past their order
    box.first = id;
    box.next_flits = 0;
    return queued(f, terminal);
  }
  (box.first == kNone ? box.first : s.messages[box.last].next) = id;
  box.last = id;
  if (static_cast<Transfer>(m.transfer) == Transfer::kFetch) return queued(f, terminal);
  m.earlier = box.last_sent;
  m.later = kNone;
  (box.sent == kNone ? box.sent : s.messages[box.last_sent].later) = id;
  box.last_sent = id;
  queued(f, terminal);
}

void fill_from_outbox(Frame& f, u32 terminal) {
  const Workload& w = *f.net.workload;
  State& s = f.s;
  Outbox& box = s.outboxes[terminal];
  const Port& nic = s.ports[f.net.nic(terminal)];
  // Asked again with every flit that the NIC sends.
  if (nic.queued + box.next_flits > f.net.router.nic_depth) return;
  box.next_flits = 0;
  while (box.first != kNone) {
    const u32 id = box.first;
    Message& m = s.messages[id];
    u32 size = w.packet_bytes, flits = f.net.most_packet_flits;
    if (m.to_inject == 1) {  // the last packet may not be a whole one
      const u64 all = wire_bytes(w, m);
      const u32 rest = static_cast<u32>(all % w.packet_bytes);
      if (rest > 0 || all == 0) size = rest;
      flits = std::max(1u, (size + w.flit_bytes - 1) / w.flit_bytes);
    }
    if (nic.queued + flits > f.net.router.nic_depth) {
      box.next_flits = flits;
      return;
    }

    const bool data = carries_data(static_cast<Transfer>(m.transfer));
    // The header comes first; it may fill more than a packet.
    const u64 before = (wire_packets(w, m) - m.to_inject) * u64{w.packet_bytes}, header = w.header_bytes[m.transfer];
    const u32 payload = !data ? 0 : size - static_cast<u32>(std::min<u64>(size, header > before ? header - before : 0));
    const u32 packet = inject_packet(f, terminal, w.rank_terminal[receiver(m)], flits, m.handed, w.rank_job[m.source]);
    if (packet >= s.payloads.size()) s.payloads.resize(packet + 1);
    s.payloads[packet] = {id, payload};

    if (--m.to_inject > 0) {
      if (!w.interleave || box.first == box.last) continue;
      box.first = m.next;
      s.messages[box.last].next = id;
      box.last = id;
      m.next = kNone;
      continue;
    }
    box.first = m.next;
    if (box.first == kNone) box.last = kNone;
    if (--s.terminals[terminal].left == 0) f.part.totals.backlogged--;
  }
}

void packet_delivered(Frame& f, u32 packet) {
  const Workload& w = *f.net.workload;
  State& s = f.s;
  const Packet& p = s.packets[packet];
  const PacketPayload load = s.payloads[packet];
  JobTotals& job = s.job_totals[p.job];
  const u32 latency = f.now - (f.net.router.latency_from_nic ? p.injected : p.generated);
  job.packets++;
  job.flits += p.flits;
  job.hops += p.hops;
  job.nonminimal += p.nonminimal;
  job.latency += latency;
  if (latency > job.latency_max) job.latency_max = latency;
  s.job_histogram[std::size_t{p.job} * kHistogramBins + histogram_bin(latency)]++;
  if (JobPoint* point = present(f, p.job)) {
    point->packets++;
    point->bytes_received += load.bytes;
    point->hops += p.hops;
    point->latency += latency;
  }

  Message& m = s.messages[load.message];
  if (--m.to_receive > 0) return;
  const u64 when = u64{f.now} * w.cycle_ps;
  if (static_cast<Transfer>(m.transfer) == Transfer::kFetch) return hand_on(f, load.message, when);
  // Complete. It goes on unless something that its NIC was given before, for the same place, is still on the way.
  const u32 to = receiver(m);
  for (u32 e = m.earlier; e != kNone; e = s.messages[e].earlier)
    if (receiver(s.messages[e]) == to) {
      m.held = 1;
      return;
    }
  Outbox& box = s.outboxes[w.rank_terminal[sender(m)]];
  for (u32 id = load.message;;) {
    u32 next = s.messages[id].later;
    unlink(s, box, id);
    hand_on(f, id, when);
    while (next != kNone && receiver(s.messages[next]) != to) next = s.messages[next].later;
    if (next == kNone || !s.messages[next].held) return;
    id = next;
  }
}

}  // namespace flitgym
