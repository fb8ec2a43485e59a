// Flows at their receiver: the order of their packets, and the record of a complete flow. Lateness and its extent
// follow RFC 4737 (sections 3 and 4.2), the packets held back RFC 5236 (reorder buffer-occupancy). No packet is ever
// lost.
#include "core/hosts/engine.hpp"

namespace flitgym::workload {

// Removes a packet from the ranges of missing packets.
static void found(Flows& flows, FlowArrival& a, u32 number) {
  u32 before = kNone, id = a.missing;
  while (flows.missing[id].end <= number) before = id, id = flows.missing[id].next;
  const MissingRange range = flows.missing[id];
  if (range.from == number && range.end == number + 1) {
    (before == kNone ? a.missing : flows.missing[before].next) = range.next;
    flows.free_missing.push_back(id);
  } else if (range.from == number) {
    flows.missing[id].from++;
  } else {
    flows.missing[id].end = number;
    if (range.end == number + 1) return;
    const u32 rest = take(flows.missing, flows.free_missing);
    flows.missing[rest] = {number + 1, range.end, range.next};
    flows.missing[id].next = rest;
  }
}

void flow_packet(Frame& f, Message& m, u32 number) {
  Flows& flows = f.s.flows[f.k];
  FlowArrival& a = flows.arrivals[m.receive_op];
  if (number < a.end) {
    a.late++;
    a.distance = std::max(a.distance, a.end - 1 - number);
    found(flows, a, number);
  } else {
    if (number > a.end) {
      const u32 id = take(flows.missing, flows.free_missing);
      flows.missing[id] = {a.end, number, kNone};
      u32 last = a.missing;
      while (last != kNone && flows.missing[last].next != kNone) last = flows.missing[last].next;
      (last == kNone ? a.missing : flows.missing[last].next) = id;
    }
    a.end = number + 1;
  }
  if (a.missing == kNone) return;
  const u32 arrived = wire_packets(*f.net.workload, m.bytes, Transfer::kFlow) - m.packets;
  a.held = std::max(a.held, arrived - flows.missing[a.missing].from);
}

void flow_complete(Frame& f, u32 id, u64 when) {
  const Workload& w = *f.net.workload;
  Flows& flows = f.s.flows[f.k];
  const Message& m = f.hosts().messages[id];
  FlowArrival a;
  if (m.receive_op != kNone) {  // else it is from a rank to itself
    a = flows.arrivals[m.receive_op];
    flows.free_arrivals.push_back(m.receive_op);
  }
  flows.complete.push_back({m.begun, when, m.bytes, w.rank_terminal[m.source], w.rank_terminal[m.destination], m.tag,
                            wire_packets(w, m.bytes, Transfer::kFlow), a.late, a.distance, a.held,
                            w.rank_job[m.source]});
  free_message(f.hosts(), id);
}

}  // namespace flitgym::workload
