#include "jobs.hpp"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <limits>

#include "exclusive.hpp"
#include "simcore/stats.hpp"
#include "simcore/workload.hpp"

namespace py = pybind11;
using namespace flitgym;

namespace {

py::array_t<double> nanoseconds(std::size_t n) { return py::array_t<double>(static_cast<py::ssize_t>(n)); }

// The state of each job. Times in ns since the start of the simulation.
py::list jobs(Simulation& sim) {
  const Network& net = sim.network();
  const State& s = sim.state();
  py::list out;
  if (!net.workload) return out;
  const Workload& w = *net.workload;
  const std::vector<JobTotals> sums = job_sums(s);
  const std::vector<u32> packets = host_histogram_sums(s, &Hosts::job_histogram);
  const std::vector<u32> messages = host_histogram_sums(s, &Hosts::message_histogram);
  for (u32 j = 0; j < w.job_count(); j++) {
    const Job& job = w.jobs[j];
    const JobTotals& t = sums[j];
    py::dict d;
    d["name"] = job.name;
    d["motif"] = job.motif;
    d["ranks"] = job.ranks;
    d["ranks_finished"] = t.ranks_done;
    d["start_ns"] = static_cast<double>(job.start_ps) / 1000;
    d["finish_ns"] =
        t.ranks_done == job.ranks ? py::object(py::float_(static_cast<double>(t.finished) / 1000)) : py::none();
    d["bytes"] = t.bytes_sent;
    d["bytes_received"] = t.bytes_received;
    d["messages"] = t.messages_sent;
    d["messages_received"] = t.messages_received;
    d["packets"] = t.packets;
    d["flits"] = t.flits;
    const auto per_packet = [&](u64 x) {
      return t.packets ? py::object(py::float_(static_cast<double>(x) / static_cast<double>(t.packets))) : py::none();
    };
    d["hops_mean"] = per_packet(t.hops);
    d["nonminimal_fraction"] = per_packet(t.nonminimal);
    d["peak_ingress_bytes"] = t.outstanding_peak;
    const auto latencies = [&](const std::string& name, const std::vector<u32>& all, double unit, u64 sum,
                               double sum_unit, u64 max, u64 count) {
      const std::vector<u32> histogram(
          all.begin() + static_cast<std::ptrdiff_t>(std::size_t{j} * kHistogramBins),
          all.begin() + static_cast<std::ptrdiff_t>((std::size_t{j} + 1) * kHistogramBins));
      const double largest = static_cast<double>(max) * sum_unit;
      d[py::str(name + "_mean_ns")] =
          count ? py::object(py::float_(static_cast<double>(sum) / static_cast<double>(count) * sum_unit)) : py::none();
      for (const auto& [suffix, q] :
           {std::pair{"_p50_ns", 0.50}, std::pair{"_p95_ns", 0.95}, std::pair{"_p99_ns", 0.99}})
        d[py::str(name + suffix)] =
            count ? py::object(py::float_(std::min(quantile(histogram, q) * unit, largest))) : py::none();
      d[py::str(name + "_max_ns")] = count ? py::object(py::float_(largest)) : py::none();
    };
    latencies("packet_latency", packets, net.cycle_ns, t.latency, net.cycle_ns, t.latency_max, t.packets);
    latencies("message_latency", messages, 1, t.message_latency, 1e-3, t.message_latency_max, t.messages_received);

    // The communication time of a rank is its time without computation.
    py::array_t<double> comm = nanoseconds(job.ranks), finish = nanoseconds(job.ranks),
                        compute = nanoseconds(job.ranks);
    py::array_t<u64> sent(job.ranks), received(job.ranks);
    py::array_t<u32> terminals(job.ranks), nodes(job.ranks);
    u64 within = 0;
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (u32 k = 0; k < job.ranks; k++) {
      const Rank& r = s.ranks[job.first_rank + k];
      const double calc = static_cast<double>(r.calc) / 1000;
      comm.mutable_at(k) = r.done ? static_cast<double>(r.finished - r.started) / 1000 - calc : nan;
      finish.mutable_at(k) = r.done ? static_cast<double>(r.finished) / 1000 : nan;
      compute.mutable_at(k) = calc;
      sent.mutable_at(k) = r.bytes_sent;
      received.mutable_at(k) = r.bytes_received;
      terminals.mutable_at(k) = w.rank_terminal[job.first_rank + k];
      nodes.mutable_at(k) = w.rank_node[job.first_rank + k];
      if (w.has_links()) within += s.node_ports[job.first_rank + k].bytes_sent;
    }
    if (w.has_links()) {
      d["bytes_within_nodes"] = within;
      d["bytes_between_nodes"] = t.bytes_sent - within;
    }
    d["rank_comm_time_ns"] = comm;
    d["rank_finish_ns"] = finish;
    d["rank_compute_ns"] = compute;
    d["rank_bytes_sent"] = sent;
    d["rank_bytes_received"] = received;
    d["rank_terminal"] = terminals;
    d["rank_node"] = nodes;
    out.append(d);
  }
  return out;
}

// The time series of the jobs, with a row per interval and job.
py::dict job_series(Simulation& sim) {
  const Network& net = sim.network();
  const State& s = sim.state();
  const u32 interval = s.series_interval[0], count = net.workload ? net.workload->job_count() : 0;
  const std::size_t steps = interval && count ? (s.part.totals.now + interval - 1) / interval : 0;
  const std::vector<JobPoint> sums = job_series_sums(s);
  const auto n = static_cast<py::ssize_t>(steps * count);
  py::array_t<double> time(n), latency(n), hops(n);
  py::array_t<u32> job(n);
  py::array_t<u64> packets(n), received(n), sent(n);
  for (py::ssize_t i = 0; i < n; i++) {
    const std::size_t k = static_cast<std::size_t>(i), step = k / count;
    const JobPoint x = k < sums.size() ? sums[k] : JobPoint{};
    const double many = static_cast<double>(x.packets), nan = std::numeric_limits<double>::quiet_NaN();
    time.mutable_at(i) = std::min(static_cast<double>(interval) * static_cast<double>(step + 1),
                                  static_cast<double>(s.part.totals.now)) *
                         net.cycle_ns;
    job.mutable_at(i) = static_cast<u32>(k % count);
    packets.mutable_at(i) = x.packets;
    received.mutable_at(i) = x.bytes_received;
    sent.mutable_at(i) = x.bytes_sent;
    latency.mutable_at(i) = x.packets ? static_cast<double>(x.latency) / many * net.cycle_ns : nan;
    hops.mutable_at(i) = x.packets ? static_cast<double>(x.hops) / many : nan;
  }
  py::dict d;
  d["time_ns"] = time;
  d["job"] = job;
  d["packets"] = packets;
  d["bytes_received"] = received;
  d["bytes_sent"] = sent;
  d["latency_mean_ns"] = latency;
  d["hops_mean"] = hops;
  return d;
}

// Flits per job on each channel, and the delays between jobs there. Rows as in channels().
//   flits [channels, jobs]; stall_ns [channels, jobs]: time stalled while the job had packets there;
//   wait_packet_ns, stall_packet_ns [channels, victim, culprit]
py::dict blame(Simulation& sim) {
  const Network& net = sim.network();
  const State& s = sim.state();
  const std::size_t jobs = net.accounted_jobs;
  std::vector<u32> ports;
  for (u32 p = 0; p < net.router_ports; p++)
    if (net.channels[p].peer != kNone) ports.push_back(p);
  const auto n = static_cast<py::ssize_t>(jobs ? ports.size() : 0), m = static_cast<py::ssize_t>(jobs);
  const std::vector<u64> sent = job_flits(net, s), waited = wait_blame(net, s);
  py::array_t<u64> flits({n, m});
  py::array_t<double> stall({n, m}), wait({n, m, m}), stalled({n, m, m});
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); i++) {
    const std::size_t row = ports[i] * jobs;
    for (std::size_t v = 0; v < jobs; v++) {
      flits.mutable_data()[i * jobs + v] = sent[row + v];
      stall.mutable_data()[i * jobs + v] = static_cast<double>(s.job_stall[row + v]) * net.cycle_ns;
      for (std::size_t c = 0; c < jobs; c++) {
        wait.mutable_data()[(i * jobs + v) * jobs + c] =
            static_cast<double>(waited[(row + v) * jobs + c]) * net.cycle_ns;
        stalled.mutable_data()[(i * jobs + v) * jobs + c] = s.stall_blame[(row + v) * jobs + c] * net.cycle_ns;
      }
    }
  }
  py::dict d;
  d["flits"] = flits;
  d["stall_ns"] = stall;
  d["wait_packet_ns"] = wait;
  d["stall_packet_ns"] = stalled;
  return d;
}

}  // namespace

void bind_jobs(py::class_<Simulation>& simulation) {
  simulation.def("jobs", alone([](Simulation& s) { return jobs(s); }))
      .def("job_series", alone([](Simulation& s) { return job_series(s); }))
      .def("blame", alone([](Simulation& s) { return blame(s); }));
}
