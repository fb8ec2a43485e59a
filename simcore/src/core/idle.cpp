// Idle cycles of a workload: while all ranks compute, no packet is in the network and no event is due.
#include "core/hosts/engine.hpp"
#include "core/partition.hpp"
#include "core/stage/acknowledgement.hpp"
#include "simcore/workload.hpp"

namespace flitgym {

constexpr Cycle kLeastSkip = 64;  // cycles; a shorter idle time is stepped through

// Cycle of the next host event or change of links, at most `until`.
static Cycle next_event(const Network& net, const State& s, Cycle until) {
  const u64 cycle_ps = net.workload->cycle_ps;
  Cycle next = until;
  if (const u64 due = workload::next_host_event(s); due < u64{until} * cycle_ps)
    next = static_cast<Cycle>((due + cycle_ps - 1) / cycle_ps);
  if (const u32 epoch = s.part.totals.epoch + 1; epoch < net.graphs.size())
    next = std::min<Cycle>(next, net.graphs[epoch]->from);
  return next;
}

static bool idle(const Partition& part) {
  return part.flit_lines.empty() && part.credit_lines.empty() && part.feedback_lines.empty() &&
         part.ports_due.empty() && part.routes_due.empty() && part.news.empty() && part.route_list.empty();
}

void skip_idle(const Network& net, State& s, Cycle until) {
  if (totals(s).packets_in_network > 0) return;
  const Cycle now = s.part.totals.now, next = next_event(net, s, until);
  if (next < now + kLeastSkip) return;
  for (u32 k = 0; k < net.partitions(); k++)
    if (!idle(partition(s, k)) || (net.control && !control::idle(s, k))) return;
  const bool window_begins = (next - 1) / net.lookahead * net.lookahead >= now;
  if (net.partitions() > 1 && window_begins) provide_packets(net, s);
  for (u32 k = 0; k < net.partitions(); k++) {
    partition(s, k).each_lines([&](auto& lines) { lines.close(now, next); });
    partition(s, k).totals.now = next;
  }
}

}  // namespace flitgym
