#include <optional>
#include <set>
#include <tuple>

#include "core/hosts/engine.hpp"
#include "exclusive.hpp"
#include "simcore/graph.hpp"
#include "simcore/stats.hpp"
#include "simcore/traffic_classes.hpp"
#include "simcore/workload.hpp"

static double ns_of(u64 ps) { return static_cast<double>(ps) / 1000; }

struct RankRow {
  double rank_comm_time_ns, rank_finish_ns, rank_compute_ns;
  u64 rank_bytes_sent, rank_bytes_received;
  u32 rank_terminal, rank_node;
};

// The communication time of a rank is its time without computation.
static std::vector<RankRow> ranks_of(const Workload& w, const State& s, const Job& job) {
  std::vector<RankRow> rows;
  const auto node_of = [&](u32 terminal) { return terminal == kNone ? kNone : w.nodes.of_terminal[terminal]; };
  for (u32 k = job.first_rank; k < job.first_rank + job.ranks; k++) {
    const Rank& r = s.ranks[k];
    rows.push_back({.rank_comm_time_ns = r.done ? ns_of(r.finished - r.started) - ns_of(r.calc) : kNan,
                    .rank_finish_ns = r.done ? ns_of(r.finished) : kNan,
                    .rank_compute_ns = ns_of(r.calc),
                    .rank_bytes_sent = r.bytes_sent,
                    .rank_bytes_received = r.bytes_received,
                    .rank_terminal = workload::terminal_of(w, s, k),
                    .rank_node = node_of(workload::terminal_of(w, s, k))});
  }
  return rows;
}

// The groups that a job uses, and the least number of groups with as many nodes. The NICs of a node may be in several
// groups; the first one counts.
static std::pair<u32, u32> groups_of(const Network& net, const Workload& w, const State& s, const Job& job) {
  const auto group = [&](u32 node) { return net.router_group[net.terminal_router[w.nodes.first_terminal(node)]]; };
  std::vector<u32> size(net.groups, 0);
  for (u32 n = 0; n < w.nodes.count; n++) size[group(n)]++;
  std::set<u32> used;
  for (u32 r = job.first_rank; r < job.first_rank + job.ranks; r++)
    used.insert(group(w.nodes.of_terminal[workload::terminal_of(w, s, r)]));
  std::sort(size.rbegin(), size.rend());
  u32 least = 0;
  for (u64 room = 0; room < job.ranks; least++) room += u64{size[least]} * w.nodes.ranks;
  return {static_cast<u32>(used.size()), least};
}

// Adds the latencies of a job. `unit` and `sum_unit` are the ns of a bin's number and of `sum` and `max`.
static void add_latencies(const py::dict& d, const std::string& name, const u32* bins, double unit, u64 sum, u64 max,
                          double sum_unit, u64 count) {
  const std::vector<u32> histogram(bins, bins + kHistogramBins);
  const double largest = static_cast<double>(max) * sum_unit;
  const auto add = [&](const char* suffix, double ns) {
    d[py::str(name + suffix)] = count ? std::optional(ns) : std::nullopt;
  };
  add("_mean_ns", static_cast<double>(sum) / static_cast<double>(count) * sum_unit);
  for (const auto& [suffix, q] : {std::pair{"_p50_ns", 0.50}, {"_p95_ns", 0.95}, {"_p99_ns", 0.99}})
    add(suffix, std::min(quantile(histogram, q) * unit, largest));
  add("_max_ns", largest);
}

// The state of each job. Times in ns since the start of the simulation.
static py::list jobs(Simulation& sim) {
  const Network& net = sim.network();
  const State& s = sim.state();
  py::list out;
  if (!net.workload) return out;
  const Workload& w = *net.workload;
  const std::vector<JobTotals> sums = job_sums(s);
  const std::vector<u32> packets = summed(s, &Hosts::job_histogram);
  const std::vector<u32> messages = summed(s, &Hosts::message_histogram);
  for (u32 j = 0; j < w.job_count(); j++) {
    const Job& job = w.jobs[j];
    const JobTotals& t = sums[j];
    const auto per_packet = [&](u64 x) {
      return t.packets ? std::optional(static_cast<double>(x) / static_cast<double>(t.packets)) : std::nullopt;
    };
    py::dict d;
    d["name"] = job.name;
    d["motif"] = job.motif;
    d["ranks"] = job.ranks;
    d["ranks_finished"] = t.ranks_done;
    d["start_ns"] = ns_of(job.start_ps);
    if (w.scheduled()) {
      const double start = w.scheduler.start.of(s)[j];
      const auto [groups, least] = start < 0 ? std::pair(0u, 1u) : groups_of(net, w, s, job);
      d["submit_ns"] = ns_of(job.start_ps);
      d["start_ns"] = start < 0 ? std::nullopt : std::optional(start / 1000);
      d["groups"] = groups;
      d["groups_least"] = least;
    }
    d["finish_ns"] = t.ranks_done == job.ranks ? std::optional(ns_of(t.finished)) : std::nullopt;
    d["bytes"] = t.bytes_sent;
    d["bytes_received"] = t.bytes_received;
    d["messages"] = t.messages_sent;
    d["messages_received"] = t.messages_received;
    d["packets"] = t.packets;
    d["flits"] = t.flits;
    d["hops_mean"] = per_packet(t.hops);
    d["nonminimal_fraction"] = per_packet(t.nonminimal);
    d["peak_ingress_bytes"] = t.outstanding_peak;
    const std::size_t bins = std::size_t{j} * kHistogramBins;
    add_latencies(d, "packet_latency", &packets[bins], net.cycle_ns, t.latency, t.latency_max, net.cycle_ns, t.packets);
    add_latencies(d, "message_latency", &messages[bins], 1, t.message_latency, t.message_latency_max, 1e-3,
                  t.messages_received);
    if (w.has_links()) {
      u64 within = 0;
      for (u32 k = 0; k < job.ranks; k++) within += s.node_ports[job.first_rank + k].bytes_sent;
      d["bytes_within_nodes"] = within;
      d["bytes_between_nodes"] = t.bytes_sent - within;
    }
    d.attr("update")(columns(ranks_of(w, s, job)));
    out.append(d);
  }
  return out;
}

struct JobSeriesRow {
  double time_ns;
  u32 job;
  u64 packets, bytes_received, bytes_sent;
  double latency_mean_ns, hops_mean;
};

// The time series of the jobs, with a row per interval and job.
static py::dict job_series(Simulation& sim) {
  const Network& net = sim.network();
  const State& s = sim.state();
  const u32 interval = s.series_interval[0], count = net.workload ? net.workload->job_count() : 0;
  const std::size_t steps = interval && count ? (s.part.totals.now + interval - 1) / interval : 0;
  std::vector<JobPoint> points = summed(s, &Hosts::job_series);
  points.resize(steps * count);
  std::vector<JobSeriesRow> rows;
  for (const JobPoint& x : points) {
    const std::size_t k = rows.size();
    const double many = static_cast<double>(x.packets), end = static_cast<double>(interval) * (k / count + 1);
    rows.push_back({.time_ns = std::min(end, static_cast<double>(s.part.totals.now)) * net.cycle_ns,
                    .job = static_cast<u32>(k % count),
                    .packets = x.packets,
                    .bytes_received = x.bytes_received,
                    .bytes_sent = x.bytes_sent,
                    .latency_mean_ns = x.packets ? static_cast<double>(x.latency) / many * net.cycle_ns : kNan,
                    .hops_mean = x.packets ? static_cast<double>(x.hops) / many : kNan});
  }
  return columns(rows);
}

// Flits per job (by_class: per traffic class) on each channel, and the delays between jobs there. Rows as in
// channels().
//   flits [channels, jobs]; stall_ns [channels, jobs]: time stalled while the job had packets there;
//   wait_packet_ns, stall_packet_ns [channels, victim, culprit]
static py::dict blame(Simulation& sim, bool by_class) {
  const Network& net = sim.network();
  const State& s = sim.state();
  const std::size_t accounts = net.accounted_jobs, classes = net.accounts_per_job;
  const std::size_t jobs = by_class ? std::min(accounts, classes) : accounts / classes;
  const auto group = [&](std::size_t account) { return by_class ? account % classes : account / classes; };
  std::vector<u64> flits;
  std::vector<double> stall, wait, stalled;
  std::size_t channels = 0;
  for (u32 p = 0; jobs && p < net.router_ports; p++) {
    if (net.channels[p].peer == kNone) continue;
    const std::size_t first = channels++ * jobs;
    flits.resize(first + jobs);
    stall.resize(first + jobs);
    wait.resize((first + jobs) * jobs);
    stalled.resize((first + jobs) * jobs);
    for (std::size_t v = 0; v < accounts; v++) {
      const std::size_t row = first + group(v), from = p * accounts + v;
      flits[row] += s.job_flits[from];
      stall[row] = std::max(stall[row], static_cast<double>(s.job_stall[from]) * net.cycle_ns);
      for (std::size_t c = 0; c < accounts; c++) {
        wait[row * jobs + group(c)] += static_cast<double>(s.wait_blame[from * accounts + c]) * net.cycle_ns;
        stalled[row * jobs + group(c)] += s.stall_blame[from * accounts + c] * net.cycle_ns;
      }
    }
  }
  const Shape pairs = shape(channels, jobs, jobs);
  return py::dict("flits"_a = copied(flits, channels, jobs), "stall_ns"_a = copied(stall, channels, jobs),
                  "wait_packet_ns"_a = py::array(pairs, wait.data()),
                  "stall_packet_ns"_a = py::array(pairs, stalled.data()));
}

// The traffic classes in the measuring window.
static py::list classes(Simulation& sim) {
  const Network& net = sim.network();
  py::list out;
  if (!net.classes) return out;
  const u32 count = class_count(net);
  for (u32 c = 0; c < count; c++) {
    double sums[kClassSums] = {};
    std::vector<u32> bins(kHistogramBins);
    for (u32 row = c; row < net.partitions() * count; row += count) {
      const double* const own = net.classes->sums.of(sim.state()) + row * kClassSums;
      for (u32 k = 0; k < kClassSums; k++) sums[k] = k + 1 < kClassSums ? sums[k] + own[k] : std::max(sums[k], own[k]);
      const u32* const more = net.classes->histograms.of(sim.state()) + std::size_t{row} * kHistogramBins;
      for (u32 bin = 0; bin < kHistogramBins; bin++) bins[bin] += more[bin];
    }
    const auto packets = static_cast<u64>(sums[0]);
    py::dict d("name"_a = net.classes->all[c].name, "packets"_a = packets, "flits"_a = static_cast<u64>(sums[1]));
    d["hops_mean"] = packets ? std::optional(sums[2] / sums[0]) : std::nullopt;
    add_latencies(d, "packet_latency", bins.data(), net.cycle_ns, static_cast<u64>(sums[3]), static_cast<u64>(sums[4]),
                  net.cycle_ns, packets);
    out.append(d);
  }
  return out;
}

struct FlowRow {
  double time_ns, completion_ns, ideal_ns;
  u64 bytes;
  u32 source, destination;
  i32 kind;
  u32 packets, late_packets, reorder_distance, held_packets;
};

// The complete flows. The ideal time is that of the fastest minimal path without queueing, with the flits one after
// another at the rate of the slower of the two terminals' links.
static py::dict flows(Simulation& sim) {
  const Network& net = sim.network();
  const State& s = sim.state();
  std::vector<FlowRow> rows;
  for (const Flows& own : s.flows)
    for (const FlowRecord& x : own.complete) {
      const Workload& w = *net.workload;
      const u32 from = net.terminal_router[x.source], to = net.terminal_router[x.destination];
      const u32 nic = net.nic(x.source), last = net.port(to, net.terminal_port[x.destination]);
      const u64 rest = x.bytes - u64{x.packets - 1} * w.packet_bytes;
      const u64 flits =
          u64{x.packets - 1} * net.most_packet_flits + std::max<u64>(1, (rest + w.flit_bytes - 1) / w.flit_bytes);
      const u64 cycles = net.router.wake_cycles + net.hop_cycles(nic) +
                         (flits - 1) * std::max(net.channels[nic].flit_cycles, net.channels[last].flit_cycles);
      const double ideal = static_cast<double>(cycles) * net.cycle_ns + hop_ns(net, last) +
                           static_cast<double>(flight(net, *net.graphs[0], from, to));
      rows.push_back({ns_of(x.begun), ns_of(x.done - x.begun), ideal, x.bytes, x.source, x.destination, x.kind,
                      x.packets, x.late, x.distance, x.held});
    }
  std::sort(rows.begin(), rows.end(), [](const FlowRow& a, const FlowRow& b) {
    return std::tie(a.time_ns, a.source, a.destination, a.completion_ns) <
           std::tie(b.time_ns, b.source, b.destination, b.completion_ns);
  });
  return columns(rows);
}

void bind_jobs(PySimulation& simulation) {
  PYBIND11_NUMPY_DTYPE(RankRow, rank_comm_time_ns, rank_finish_ns, rank_compute_ns, rank_bytes_sent,
                       rank_bytes_received, rank_terminal, rank_node);
  PYBIND11_NUMPY_DTYPE(JobSeriesRow, time_ns, job, packets, bytes_received, bytes_sent, latency_mean_ns, hops_mean);
  PYBIND11_NUMPY_DTYPE_EX(FlowRow, time_ns, "time_ns", completion_ns, "completion_ns", ideal_ns, "ideal_ns", bytes,
                          "bytes", source, "source", destination, "destination", kind, "class", packets, "packets",
                          late_packets, "late_packets", reorder_distance, "reorder_distance", held_packets,
                          "held_packets");
  simulation.def("flows", alone(flows));
  simulation.def("jobs", alone(jobs))
      .def("job_series", alone(job_series))
      .def("blame", alone(blame), "by_class"_a = false)
      .def("classes", alone(classes));
}
