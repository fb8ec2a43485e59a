// Rows of a table of reports about lost time (relative_lost, relative_use): region of the destination, index of the
// sender on its router, and first router or later.
//
// Rows by leg. Packets at their first router and at later routers have different VC classes. On one link, one class may
// pass while the other is blocked. A mean over both classes hid an effect on dragonfly_1056 under ADV+4. A packet whose
// first hop is local later meets a congested local link in the intermediate group, and cannot avoid it.
//
// Rows by source: the index of the sender on its router, as in the table of Q-adaptive (Kang et al., HPDC 2021). If a
// terminal floods the network, its reports do not affect the rows of senders with another index. Learning takes longer
// in proportion to the additional rows.
#pragma once

#include "simcore/graph.hpp"
#include "simcore/learning.hpp"

namespace flitgym::learning {

inline constexpr u32 kLegs = 2;
inline constexpr float kReportRate = 0.1f;  // of the running means

// Operations of blocks that learn lost times. write() reads an entry. prepare() reads an entry, adds it to the
// difference of two flight times, and compares sums.
inline constexpr Operations kLostPerCandidate = {.additions = 1, .comparisons = 1, .reads = 2};
// learn() subtracts the hop time, takes the error, and adds its product with the rate.
inline constexpr Operations kLostUpdate = {.multiplications = 1, .additions = 3, .comparisons = 1, .reads = 1};

struct ReportRows {
  u32 places = 1;  // indices of senders that have their own row
  u32 count = 0;

  u32 row(const Network& net, const Packet& p, u32 to, u32 hops) const {
    const u32 place = net.terminal_port[p.source] % places;
    return (net.seam->region[to] * places + place) * kLegs + std::min(hops, kLegs - 1);
  }
};

inline ReportRows report_rows(const Network& net, bool by_source, u32 tables = 1) {
  constexpr u64 kMostCells = u64{1} << 26;  // cells of all tables; larger networks get fewer rows by source
  ReportRows rows;
  const u32 regions = net.topology->regions(net);
  std::vector<u32> terminals(by_source ? net.routers : 0);
  for (u32 k = 0; by_source && k < net.terminal_router.size(); k++)
    rows.places = std::max(rows.places, ++terminals[net.terminal_router[k]]);
  const u64 cells = u64{net.routers} * regions * kLegs * net.link_span * tables;
  while (rows.places > 1 && cells * rows.places > kMostCells) rows.places /= 2;
  rows.count = regions * rows.places * kLegs;
  return rows;
}

// Prefetches the rows of a request that is some requests behind request i of the batch, because rows are scattered over
// several MiB. Always inline: GCC removes calls of a function that only prefetches.
inline __attribute__((always_inline)) void prefetch_reports(const Network& net, const State& s, const Batch& b,
                                                            const ReportRows& rows, u32 i, u32 tables) {
  constexpr u32 kAhead = 6;
  if (i + kAhead >= b.count) return;
  const u32 router = b.router[i + kAhead];
  const Packet& p = s.packets[b.packet[i + kAhead]];
  const u32 row = rows.row(net, p, net.terminal_router[p.destination], p.hops);
  for (u32 table = 0; table < tables; table++) {
    const float* const values = net.feedback.row(s, router, row + table * rows.count);
    __builtin_prefetch(values);
    __builtin_prefetch(values + net.link_span - 1);  // most rows lie in one or two cache lines
  }
}

// Calls report(i, detail, p, to) for each request of a packet that came from another router. The packet reports to it.
template <class Report>
void each_report(const Network& net, State& s, const Batch& b, const ReportRows& rows, u32 tables, Report&& report) {
  for (u32 i = 0; i < b.count; i++) {
    prefetch_reports(net, s, b, rows, i, tables);
    PacketDetail& detail = s.details[b.packet[i]];
    detail.arrived = b.now;
    if (net.is_link(net.port(b.router[i], b.in_port[i]))) {
      const Packet& p = s.packets[b.packet[i]];
      report(i, detail, p, net.terminal_router[p.destination]);
    } else {
      detail.value = -1.0f;
    }
  }
}

// The lowest expected loss over the candidates of request i of the batch, compared with the minimal path. `lost(local)`
// is the lost time by a local port.
template <class Lost>
float least_of_candidates(const Network& net, const Graph& graph, const Batch& b, u32 i, u32 to, Lost&& lost) {
  const Seam& seam = *net.seam;
  const u32 router = b.router[i];
  const float direct = flight(net, graph, router, to);
  float least = std::numeric_limits<float>::max();
  for (u32 k = b.offsets[i]; k < b.offsets[i + 1]; k++) {
    const u32 local = b.candidate_port[k], port = net.port(router, local);
    least = std::min(least, seam.hop_ns[port] + flight(net, graph, seam.next_router[port], to) - direct + lost(local));
  }
  return std::max(least, 0.0f);
}
template <class Lost>
float least_lost(const Network& net, const Graph& graph, const Batch& b, u32 i, u32 to, Lost&& lost) {
  const u32 begin = b.offsets[i];
  if (b.offsets[i + 1] > begin + 1) return least_of_candidates(net, graph, b, i, to, lost);
  return lost(b.candidate_port[begin]);  // minimal path
}

struct TableOfReports : ComponentData {
  ReportRows rows;
};
// ObservationSpec::lost of a block with this data: the time that packet p loses after `hops` hops if it leaves by a
// local port.
inline float learned_loss(const Network& net, const State& s, const ComponentData* own, const Packet& p, u32 hops,
                          u32 router, u32 local) {
  const ReportRows& rows = static_cast<const TableOfReports&>(*own).rows;
  const u32 row = rows.row(net, p, net.terminal_router[p.destination], hops);
  return net.feedback.row(s, router, row)[local - net.first_link[router]];
}

// Learns the time lost to queueing from a report.
inline void learn_lost(const Network& net, State& s, u32 port, u32 row, float target) {
  const u32 router = net.router_of_port(port);
  float& value = net.feedback.row(s, router, row)[net.local_port(port) - net.first_link[router]];
  value += kReportRate * (std::max(target - net.seam->hop_ns[port], 0.0f) - value);
}

}  // namespace flitgym::learning
