#include "simcore/stats.hpp"

#include <set>

#include "simcore/control.hpp"
#include "simcore/traffic_classes.hpp"

namespace flitgym {

// Sum over the part of [begin, end) that lies in the window, weighted with the offered load: mean offered load.
static double mean_offered_load(const Network& net, Cycle begin, Cycle end) {
  const auto offered = [&](u32 entry) {
    return net.load_values[entry] * (net.patterns.empty() ? 1 : net.patterns[net.load_pattern[entry]].mean_share);
  };
  if (net.on_off) return offered(0) * net.on_off->share_on();
  double sum = 0;
  for (u32 step = net.load_period ? begin / net.load_period * static_cast<u32>(net.load_values.size()) : 0;
       step < net.load_steps; step++) {
    if (net.load_start(step) >= end) break;
    const double from = std::max<double>(begin, static_cast<double>(net.load_start(step)));
    const double to =
        step + 1 < net.load_steps ? std::min<double>(end, static_cast<double>(net.load_start(step + 1))) : end;
    if (to > from) sum += offered(net.load_entry(step)) * (to - from);
  }
  return end > begin ? sum / (end - begin) : 0;
}

static void latency(std::map<std::string, double>& out, const std::string& name, const std::vector<u32>& histogram,
                    u64 sum, u64 max, u64 count, double ns) {
  out[name + "_mean_ns"] = count ? static_cast<double>(sum) / static_cast<double>(count) * ns : 0;
  const double largest = static_cast<double>(max);
  for (const auto& [suffix, q] : {std::pair{"_p50_ns", 0.50}, std::pair{"_p95_ns", 0.95}, std::pair{"_p99_ns", 0.99}})
    out[name + suffix] = std::min(quantile(histogram, q), largest) * ns;
  out[name + "_max_ns"] = largest * ns;
}

std::vector<Cycle> changes(const Network& net, Cycle until) {
  std::set<Cycle> found;
  for (const auto& graph : net.graphs)
    if (graph->from > 0 && graph->from <= until) found.insert(graph->from);
  for (u32 step = 1; !net.on_off && step < net.load_steps && net.load_start(step) <= until; step++) {
    const u32 before = net.load_entry(step - 1), now = net.load_entry(step);
    if (net.load_values[before] != net.load_values[now] || net.load_pattern[before] != net.load_pattern[now])
      found.insert(static_cast<Cycle>(net.load_start(step)));
  }
  return {found.begin(), found.end()};
}

double histogram_middle(u32 bin) {
  if (bin < 128) return bin;
  const u32 octave = 7 + (bin - 128) / 64, step = 1u << (octave - 6);
  return static_cast<double>(1u << octave) + step * ((bin - 128) % 64) + (step - 1) / 2.0;
}

double quantile(const std::vector<u32>& histogram, double q) {
  u64 total = 0;
  for (u32 n : histogram) total += n;
  if (total == 0) return 0;
  const u64 rank = std::max<u64>(1, static_cast<u64>(std::ceil(q * static_cast<double>(total))));
  u64 below = 0;
  for (u32 bin = 0; bin < histogram.size(); bin++)
    if ((below += histogram[bin]) >= rank) return histogram_middle(bin);
  return 0;
}

Window window_sums(const State& s) {
  Window w = s.part.window;
  for (const Partition& other : s.further) {
    const Window& o = other.window;
    w.generated += o.generated, w.accepted += o.accepted;
    w.missed += o.missed;
    w.delivered += o.delivered, w.flits += o.flits;
    w.hops += o.hops, w.nonminimal += o.nonminimal;
    w.latency_nic += o.latency_nic, w.latency_generation += o.latency_generation;
    w.max_nic = std::max(w.max_nic, o.max_nic), w.max_generation = std::max(w.max_generation, o.max_generation);
  }
  return w;
}

void begin_window(const Network& net, State& s) {
  for (u32 k = 0; k <= s.further.size(); k++) {
    Partition& part = partition(s, k);
    part.window = Window{};
    part.window.open = 1;
    part.window.begin = part.window.end = s.part.totals.now;
    part.histogram_nic.assign(kHistogramBins, 0);
    part.histogram_generation.assign(kHistogramBins, 0);
  }
  for (Acknowledgements& own : s.acknowledgements) own.totals = ControlTotals{};
  if (net.classes) clear_class_sums(net, s);
  for (auto* counts : {&s.job_flits, &s.job_stall, &s.wait_blame}) std::ranges::fill(*counts, 0);
  std::ranges::fill(s.stall_blame, 0);
  for (ChannelAccount& account : s.job_channels) account.sending_until = 0;
  for (Port& o : s.ports) {
    if (net.keeps_flits) o.flits_before += static_cast<u32>(o.flits);
    o.flits = o.stall = 0;
    o.stalled_since = s.part.totals.now;  // a stall that began before the window counts from here
  }
}

static double missed_until(const Network& net, const State& s, Cycle until) {
  double missed = window_sums(s).missed;
  if (!net.router.keep_backlog && !s.part.totals.sources_stopped)
    for (const Terminal& x : s.terminals)
      if (x.left > 0) missed += packets_missed(net, s, x, until);
  return missed;
}

// Means over the packets whose acknowledgement came back in the window.
static void report_control(const Network& net, const State& s, std::map<std::string, double>& out) {
  ControlTotals sum;
  for (const Acknowledgements& own : s.acknowledgements) {
    sum.packets += own.totals.packets;
    sum.marked += own.totals.marked;
    sum.window += own.totals.window;
  }
  const double packets = std::max(1.0, static_cast<double>(sum.packets)), mean = sum.window / packets;
  out["marked_fraction"] = static_cast<double>(sum.marked) / packets;
  if (net.control->pace.kept())
    out["sender_rate_mean_gb_per_s"] = mean * net.flit_bytes / (net.flit_cycles_host * net.cycle_ns);
  else out["sender_window_mean_bytes"] = mean * net.flit_bytes;
}

void end_window(const Network& net, State& s) {
  if (!s.part.window.open) return;
  const double missed = missed_until(net, s, s.part.totals.now);
  for (Port& o : s.ports) {
    if (o.stalled) o.stall += s.part.totals.now - o.stalled_since;
    o.window_flits = o.flits;
  }
  for (u32 k = 0; k <= s.further.size(); k++) {
    Window& w = partition(s, k).window;
    w.missed = k == 0 ? missed : 0;
    w.open = 0;
    w.end = s.part.totals.now;
  }
}

std::map<std::string, double> statistics(const Network& net, const State& s) {
  const Window w = window_sums(s);
  const u64 end = w.open ? s.part.totals.now : w.end;
  const double cycles = static_cast<double>(end - w.begin), ns = net.cycle_ns;
  const double flit_times = cycles / net.flit_cycles_host * net.terminals;
  const auto count = [](u64 x) { return static_cast<double>(x); };
  const double delivered = count(w.delivered);
  u64 flit_hops = 0;
  for (u32 p = 0; p < net.router_ports; p++) flit_hops += w.open ? s.ports[p].flits : s.ports[p].window_flits;

  std::map<std::string, double> out;
  out["window_cycles"] = cycles;
  out["window_ns"] = cycles * ns;
  out["packets_generated"] = count(w.generated);
  out["packets_injected"] = count(w.accepted);
  out["packets_delivered"] = delivered;
  out["generations_missed"] = w.open ? missed_until(net, s, s.part.totals.now) : w.missed;
  out["flits_delivered"] = count(w.flits);
  out["flit_hops"] = count(flit_hops);
  out["hops_mean"] = w.delivered ? count(w.hops) / delivered : 0;
  out["nonminimal_fraction"] = w.delivered ? count(w.nonminimal) / delivered : 0;
  out["offered_load"] = mean_offered_load(net, static_cast<Cycle>(w.begin), static_cast<Cycle>(end));
  out["accepted_load"] = flit_times > 0 ? count(w.flits) / flit_times : 0;
  latency(out, "network_latency", summed(s, &Partition::histogram_nic), w.latency_nic, w.max_nic, w.delivered, ns);
  latency(out, "generation_latency", summed(s, &Partition::histogram_generation), w.latency_generation,
          w.max_generation, w.delivered, ns);
  for (const char* suffix : {"_mean_ns", "_p50_ns", "_p95_ns", "_p99_ns", "_max_ns"})
    out[std::string("packet_latency") + suffix] =
        out[(net.router.latency_from_nic ? "network_latency" : "generation_latency") + std::string(suffix)];
  out["histogram_relative_error"] = kHistogramError;
  if (net.control) report_control(net, s, out);
  return out;
}

}  // namespace flitgym
