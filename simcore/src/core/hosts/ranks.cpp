// Allocates the state of a workload, starts it, and reports the operations for which its ranks wait.
#include "core/hosts/engine.hpp"
#include "core/hosts/host.hpp"
#include "simcore/traffic_classes.hpp"

namespace flitgym::workload {

void shape_workload(const Network& net, State& s, Shaper& make) {
  const Workload& w = *net.workload;
  make(s.ranks, w.ranks(), Rank{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, kNone, kNone, 0, 0, kNone, kNone, kNone, kNone, 0});
  make(s.cpu_free, std::size_t{w.ranks()} * w.cpus, u64{0});
  make(s.nic_free, std::size_t{w.ranks()} * w.nics * 2, u64{0});
  if (w.host.kind == HostKind::kLogGops)
    make(s.host_queues, std::size_t{w.ranks()} * (w.cpus + 2 * w.nics), HostQueue{});
  make(s.outboxes, std::size_t{net.terminals} * class_count(net), Outbox{kNone, kNone, 0});
  if (w.has_links()) make(s.node_ports, w.ranks(), NodePort{});
  s.hosts.resize(net.partitions());
  for (Hosts& hosts : s.hosts) {
    make(hosts.job_totals, w.job_count(), JobTotals{});
    make(hosts.job_histogram, std::size_t{w.job_count()} * kHistogramBins, 0u);
    make(hosts.message_histogram, std::size_t{w.job_count()} * kHistogramBins, 0u);
    make(hosts.free_ops, 32, kNone);
    make(hosts.free_edges, 32, kNone);
  }
  if (w.flows) s.flows.resize(net.partitions());
  if (const std::size_t jobs = net.accounted_jobs) {
    const std::size_t ports = net.router_ports, vcs = net.vc_id(net.router_ports, 0);
    make(s.job_channels, ports, ChannelAccount{});
    make(s.job_flits, ports * jobs, u64{0});
    make(s.job_queued, vcs * jobs, 0u);
    make(s.job_waiting, ports * jobs, 0u);
    make(s.job_downstream, vcs * jobs, u16{0});
    make(s.job_stall, ports * jobs, u64{0});
    make(s.wait_blame, ports * jobs * jobs, u64{0});
    make(s.stall_blame, ports * jobs * jobs, 0.0);
  }
}

void start_workload(const Network& net, State& s) {
  const Workload& w = *net.workload;
  for (u32 r = 0; r < w.ranks() && !w.scheduled(); r++) start_rank(net, s, r, w.jobs[w.rank_job[r]].start_ps);
  for (u32 j = 0; j < w.job_count() && w.scheduled(); j++)
    push_event(s.hosts[0], w.jobs[j].start_ps, HostAction::kSubmit, j);
}

void start_rank(const Network& net, State& s, u32 rank, u64 when) {
  const Workload& w = *net.workload;
  constexpr u64 kStream = u64{0x736b6577} << 32;  // separate from the draws of packets
  if (w.skew_ps) when += static_cast<u64>(unit(draw(net.seed, kStream, rank)) * static_cast<double>(w.skew_ps));
  push_event(s.hosts[partition_of_terminal(net, terminal_of(w, s, rank))], when, HostAction::kStartRank, rank);
}

std::string waiting_report(const Network& net, const State& s, u32 most) {
  const Workload& w = *net.workload;
  std::string text;
  const u64 now = std::max(host_totals(s).now, u64{s.part.totals.now} * w.cycle_ps);
  u32 listed = 0, unfinished = 0;
  bool rendezvous = false;
  for (u32 r = 0; r < w.ranks(); r++) {
    const Rank& rank = s.ranks[r];
    if (rank.done) continue;
    unfinished++;
    if (listed == most) continue;
    listed++;
    const Job& job = w.jobs[w.rank_job[r]];
    const u32 own = r - job.first_rank;
    text += "\n  job '" + job.name + "' rank " + std::to_string(own) + ", block " + std::to_string(rank.block) + ":";
    const u32 terminal = terminal_of(w, s, r);
    if (terminal == kNone) {
      text += " it waits in the queue";
      continue;
    }
    const Hosts& hosts = s.hosts[partition_of_terminal(net, terminal)];
    u32 shown = 0;
    for (u32 i = 0; i < rank.ops && shown < 4; i++) {
      const ActiveOp& op = hosts.ops[rank.first_op + i];
      if (op.running != 1 || op.waits > 0) continue;
      const auto kind = static_cast<OpKind>(op.kind);
      if (kind == OpKind::kCalc) continue;
      const std::string where = job.program->where(own, rank.block, i);
      const bool sends = kind == OpKind::kSend;
      rendezvous |= sends && !is_eager(w.host, op.size);
      text += std::string(shown++ ? ";" : "") + (sends ? " send of " : " receive of ") + std::to_string(op.size) +
              " bytes " + (sends ? "to" : "from") +
              (op.peer == kAnySource ? " any rank" : " rank " + std::to_string(op.peer - job.first_rank)) +
              (op.tag == kAnyTag ? ", any tag" : ", tag " + std::to_string(op.tag)) +
              (where.empty() ? "" : " (" + where + ")");
    }
    const u64* const cpus = &s.cpu_free[std::size_t{r} * w.cpus];
    const u64 free = *std::max_element(cpus, cpus + w.cpus);
    if (shown > 0) continue;
    if (job.start_ps > now) text += " it starts at " + std::to_string(job.start_ps / 1000) + " ns";
    else if (free > now) text += " its processor is busy until " + std::to_string(free / 1000) + " ns";
    else text += " no operation is running";
  }
  if (unfinished > listed) text += "\n  and " + std::to_string(unfinished - listed) + " more";
  if (rendezvous)
    text += std::string("\n  A send waits for its receive if it has more bytes than workload.") +
            (w.host.kind == HostKind::kMpi ? "mpi_eager_bytes=" : "loggops_S_bytes=") +
            std::to_string(w.host.eager_bytes) + "; raise this key if the program needs sends that do not wait";
  return text;
}

}  // namespace flitgym::workload
