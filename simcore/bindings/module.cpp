// The Python face of the core. Arrays are NumPy views of the State's own memory: no copy, and the view keeps the
// simulation alive. Every long call releases the GIL and lets Ctrl-C in.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>

#include "exclusive.hpp"
#include "learning.hpp"
#include "simcore/error.hpp"
#include "simcore/learning.hpp"
#include "simcore/registry.hpp"
#include "simcore/simulation.hpp"
#include "simcore/workload.hpp"
#include "workload/array_program.hpp"
#include "workload/goal.hpp"
#include "workload/program_totals.hpp"

namespace py = pybind11;
using namespace flitgym;

namespace {

// pybind11's holders want a type of their own that is not const.
struct PyProgram {
  std::shared_ptr<const Program> program;
};

// ---- configuration: a mapping of sections, each with a name and parameters ----

Value to_value(const std::string& where, const py::handle& item) {
  if (py::isinstance<py::bool_>(item)) return item.cast<bool>();
  if (py::isinstance<py::int_>(item)) {
    if (item.attr("bit_length")().cast<int>() > 63) throw ConfigError(where + ": " + std::string(py::repr(item)) + " is too large");
    return item.cast<i64>();
  }
  if (py::isinstance<py::float_>(item)) return item.cast<double>();
  if (py::isinstance<py::str>(item)) return item.cast<std::string>();
  if (py::isinstance<py::list>(item) || py::isinstance<py::tuple>(item)) {
    std::vector<double> values;
    for (const py::handle& x : item) {
      if (!py::isinstance<py::int_>(x) && !py::isinstance<py::float_>(x)) throw ConfigError(where + ": " + std::string(py::repr(item)) + " is not a list of numbers");
      values.push_back(x.cast<double>());
    }
    return values;
  }
  throw ConfigError(where + ": " + std::string(py::repr(item)) + " is no number, word, truth value or list of numbers");
}

Section to_section(const py::dict& config, const char* key, const char* default_name) {
  Section section;
  section.name = default_name;
  if (!config.contains(key)) {
    if (!*default_name) throw ConfigError(std::string(key) + ": missing; give {'name': ..., parameters}");
    return section;
  }
  const py::object given = config[key];
  if (py::isinstance<py::str>(given)) {
    section.name = given.cast<std::string>();
    return section;
  }
  if (!py::isinstance<py::dict>(given)) throw ConfigError(std::string(key) + ": " + std::string(py::repr(given)) + " is no mapping and no name");
  for (const auto& [k, v] : given.cast<py::dict>()) {
    const auto name = k.cast<std::string>();
    if (name == "name") section.name = py::str(v).cast<std::string>();
    else section.values[name] = to_value(std::string(key) + "." + name, v);
  }
  if (section.name.empty()) throw ConfigError(std::string(key) + ".name: missing");
  return section;
}

// NumPy arrays by the names of ProgramArrays; those left out are empty.
std::shared_ptr<const Program> program_from_arrays(const py::dict& given) {
  using Column = py::array_t<i64, py::array::c_style>;
  std::map<std::string, Column> held;
  ProgramArrays arrays;
  const std::map<std::string, ProgramArrays::Column*> columns = {
      {"op_rank", &arrays.op_rank}, {"op_block", &arrays.op_block}, {"op_kind", &arrays.op_kind}, {"op_size", &arrays.op_size}, {"op_peer", &arrays.op_peer}, {"op_tag", &arrays.op_tag},
      {"op_cpu", &arrays.op_cpu}, {"dependency_rank", &arrays.dependency_rank}, {"dependency_block", &arrays.dependency_block}, {"dependency_before", &arrays.dependency_before},
      {"dependency_after", &arrays.dependency_after}, {"dependency_on_start", &arrays.dependency_on_start}, {"repeat_rank", &arrays.repeat_rank}, {"repeat_block", &arrays.repeat_block},
      {"repeat_count", &arrays.repeat_count}};
  std::vector<std::string> valid = {"ranks"};
  for (const auto& [name, column] : columns) valid.push_back(name);
  for (const auto& [key, value] : given) {
    const auto name = key.cast<std::string>();
    if (name == "ranks") {
      arrays.ranks = value.cast<i64>();
      continue;
    }
    const auto found = columns.find(name);
    if (found == columns.end()) throw ConfigError("Program: unknown array '" + name + "'" + did_you_mean(name, valid) + "; valid names: " + join(valid));
    const py::array array = py::array::ensure(value);
    if (!array || array.ndim() != 1 || (array.dtype().kind() != 'i' && array.dtype().kind() != 'u' && array.dtype().kind() != 'b' && array.size() > 0))
      throw ConfigError("Program: " + name + " is no one-dimensional array of integers");
    const Column column = Column(array.attr("astype")("int64"));
    held[name] = column;
    *found->second = {column.data(), static_cast<std::size_t>(column.size())};
  }
  auto program = looped_program(arrays);
  check_program(*program, "Program");
  return program;
}

std::vector<u32> to_terminals(const std::string& where, const py::handle& item) {
  std::vector<u32> terminals;
  for (const py::handle& t : py::list(py::reinterpret_borrow<py::object>(item))) {
    const auto value = py::reinterpret_borrow<py::object>(t).attr("__index__")().cast<i64>();
    if (value < 0 || value > 0xffffffff) throw ConfigError(where + ": " + std::to_string(value) + " is no terminal");
    terminals.push_back(static_cast<u32>(value));
  }
  return terminals;
}

// {parameters, 'jobs': [{'name', 'motif' or 'goal_file' or 'program', 'terminals', parameters of the motif}]}
WorkloadSection to_workload(const py::object& given) {
  if (!py::isinstance<py::dict>(given)) throw ConfigError("workload: " + std::string(py::repr(given)) + " is no mapping");
  WorkloadSection section;
  for (const auto& [k, v] : given.cast<py::dict>()) {
    const auto key = k.cast<std::string>();
    if (key != "jobs") {
      section.values[key] = to_value("workload." + key, v);
      continue;
    }
    for (const py::handle& item : py::list(py::reinterpret_borrow<py::object>(v))) {
      if (!py::isinstance<py::dict>(item)) throw ConfigError("workload.jobs: " + std::string(py::repr(item)) + " is no mapping");
      JobSection job;
      for (const auto& [jk, jv] : py::reinterpret_borrow<py::dict>(item)) {
        const auto name = jk.cast<std::string>();
        if (name == "name") job.name = py::str(jv).cast<std::string>();
        else if (name == "motif") job.motif.name = py::str(jv).cast<std::string>();
        else if (name == "terminals") job.terminals = jv.is_none() ? std::vector<u32>() : to_terminals("workload.jobs.terminals", jv);
        else if (name == "goal_file") job.program = read_goal_file(py::str(jv).cast<std::string>());
        else if (name == "program") job.program = jv.cast<std::shared_ptr<PyProgram>>()->program;
        else job.motif.values[name] = to_value("workload.jobs." + name, jv);
      }
      if (job.name.empty()) job.name = job.motif.name;
      section.jobs.push_back(std::move(job));
    }
  }
  if (section.jobs.empty()) throw ConfigError("workload.jobs: there are none");
  return section;
}

Config to_config(const py::object& mapping) {
  const py::dict given(mapping);
  const std::vector<std::string> valid = {"topology", "router", "routing", "traffic", "workload", "seed"};
  for (const auto& item : given) {
    const auto key = py::str(item.first).cast<std::string>();
    if (std::find(valid.begin(), valid.end(), key) == valid.end()) throw ConfigError(key + ": unknown section" + did_you_mean(key, valid) + "; valid sections: " + join(valid));
  }
  Config config;
  config.topology = to_section(given, "topology", "");
  config.router = to_section(given, "router", "vc_router");
  config.routing = to_section(given, "routing", "");
  if (given.contains("workload") && !given["workload"].is_none()) {
    config.workload = to_workload(given["workload"]);
    if (given.contains("traffic") && !given["traffic"].is_none()) config.traffic = to_section(given, "traffic", "");
  } else {
    config.traffic = to_section(given, "traffic", "");
  }
  if (given.contains("seed")) {
    const py::object seed = given["seed"];
    const bool integer = py::isinstance<py::int_>(seed) && !py::isinstance<py::bool_>(seed);
    if (!integer || seed.attr("__lt__")(0).cast<bool>() || seed.attr("bit_length")().cast<int>() > 63)
      throw ConfigError("seed: " + std::string(py::repr(seed)) + " is not an integer from 0 to 2^63 - 1");
    config.seed = seed.cast<u64>();
  }
  return config;
}

py::object from_value(const Value& value) {
  return std::visit([](const auto& x) -> py::object { return py::cast(x); }, value);
}

py::dict describe(const ParamSpec& spec) {
  static const char* const types[] = {"bool", "int", "float", "str", "list_float", "list_int"};
  py::dict d;
  d["type"] = types[static_cast<int>(spec.type)];
  if (spec.type == ParamSpec::Type::kIntList) {
    py::list items;
    for (const double x : std::get<std::vector<double>>(spec.fallback)) items.append(static_cast<i64>(x));
    d["default"] = items;
  } else {
    d["default"] = from_value(spec.fallback);
  }
  const bool number = spec.type == ParamSpec::Type::kInt || spec.type == ParamSpec::Type::kFloat || spec.type == ParamSpec::Type::kList || spec.type == ParamSpec::Type::kIntList;
  d["min"] = number ? py::object(py::float_(spec.min)) : py::none();
  d["max"] = number ? py::object(py::float_(spec.max)) : py::none();
  d["unit"] = spec.unit;
  d["choices"] = spec.choices;
  d["doc"] = spec.doc;
  return d;
}

py::dict describe(const std::string& summary, const std::vector<ParamSpec>& params, const py::dict& facts) {
  py::dict d, p;
  for (const ParamSpec& spec : params) p[py::str(spec.key)] = describe(spec);
  d["summary"] = summary;
  d["params"] = p;
  d["facts"] = facts;
  return d;
}

// Adds the keys that are not there yet; of a key that is, the choices.
void merge(std::vector<ParamSpec>& params, const std::vector<ParamSpec>& more) {
  for (const ParamSpec& spec : more) {
    const auto found = std::find_if(params.begin(), params.end(), [&](const ParamSpec& p) { return p.key == spec.key; });
    if (found == params.end()) {
      params.push_back(spec);
      continue;
    }
    if (found->choices.empty() || spec.choices.empty()) found->choices.clear();  // any word
    else for (const std::string& word : spec.choices)
      if (std::find(found->choices.begin(), found->choices.end(), word) == found->choices.end()) found->choices.push_back(word);
  }
}

py::dict registered(const std::string& kind) {
  py::dict out;
  if (kind == "topology") {
    for (const auto& [name, spec] : registry<TopologySpec>()) out[py::str(name)] = describe(spec.summary, spec.params, py::dict());
  } else if (kind == "routing") {
    // Files of one name are one choice: the keys of all of them, on the topologies of all of them.
    for (const std::string& name : registered_names<RoutingSpec>()) {
      std::vector<std::string> topologies;
      std::vector<ParamSpec> params;
      std::string summary;
      bool learns = false, external = false;
      const auto [first, last] = registry<RoutingSpec>().equal_range(name);
      for (auto at = first; at != last; ++at) {
        const RoutingSpec& spec = at->second;
        const auto& accepted = spec.topologies.empty() ? registered_names<TopologySpec>() : spec.topologies;
        topologies.insert(topologies.end(), accepted.begin(), accepted.end());
        merge(params, spec.params);
        learns |= spec.learn != nullptr;
        external |= spec.external;
        summary = at == first || spec.summary == summary ? spec.summary : summary + "; " + spec.summary;
      }
      std::sort(topologies.begin(), topologies.end());
      py::dict facts;
      facts["topologies"] = topologies;
      facts["learns"] = learns;
      facts["external"] = external;
      out[py::str(name)] = describe(summary, params, facts);
    }
  } else if (kind == "traffic") {
    for (const auto& [name, spec] : registry<TrafficSpec>()) {
      std::vector<ParamSpec> params = common_traffic_params();
      params.insert(params.end(), spec.params.begin(), spec.params.end());
      py::dict facts;
      facts["topologies"] = spec.topologies.empty() ? registered_names<TopologySpec>() : spec.topologies;
      out[py::str(name)] = describe(spec.summary, params, facts);
    }
  } else if (kind == "motif") {
    for (const auto& [name, spec] : registry<MotifSpec>()) {
      std::vector<ParamSpec> params = common_motif_params();
      params.insert(params.end(), spec.params.begin(), spec.params.end());
      out[py::str(name)] = describe(spec.summary, params, py::dict());
    }
  } else if (kind == "workload") {
    out["workload"] = describe("jobs that share the network: placement, hosts, packets", workload_params(), py::dict());
  } else if (kind == "observation") {
    for (const auto& [name, spec] : registry<ObservationSpec>()) {
      py::dict facts;
      for (const auto& [key, features] : {std::pair{"general", &spec.general}, std::pair{"per_slot", &spec.per_slot}}) {
        py::dict docs;
        for (const Feature& f : *features) docs[py::str(f.name)] = f.doc;
        facts[key] = docs;
      }
      out[py::str(name)] = describe(spec.summary, {}, facts);
    }
  } else if (kind == "reward") {
    for (const auto& [name, spec] : registry<RewardSpec>()) {
      py::dict facts;
      facts["at_next_decision"] = spec.at_next_decision;
      out[py::str(name)] = describe(spec.summary, {}, facts);
    }
  } else if (kind == "router") {
    out["vc_router"] = describe("virtual-channel router: input-queued, or combined input- and output-queued with crossbar speedup", router_params(), py::dict());
  } else {
    const std::vector<std::string> kinds = {"topology", "router", "routing", "traffic", "motif", "workload", "observation", "reward"};
    throw ConfigError("registered(): unknown kind '" + kind + "'" + did_you_mean(kind, kinds) + "; valid kinds: " + join(kinds));
  }
  return out;
}

// ---- views ----

template <class T, class A>
py::array view(std::vector<T, A>& array, std::vector<py::ssize_t> shape, const py::object& owner) {
  return py::array_t<T>(std::move(shape), array.data(), owner);
}
template <class T, class A>
py::array view(std::vector<T, A>& array, const py::object& owner) {
  return view(array, {static_cast<py::ssize_t>(array.size())}, owner);
}

// Arrays of structs come as structured NumPy arrays, so that a field is one column of the view.
template <class T, class A>
void add_view(py::dict& out, const char* name, std::vector<T, A>& array, const py::object& owner) {
  out[name] = view(array, owner);
}
void add_view(py::dict&, const char*, Totals&, const py::object&) {}
void add_view(py::dict&, const char*, Window&, const py::object&) {}
void add_view(py::dict&, const char*, HostTotals&, const py::object&) {}

std::function<void()> interruptible() {
  return [] {
    py::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  };
}

py::dict facts(const Simulation& sim) {
  const Network& net = sim.network();
  const State& s = sim.state();
  py::dict d;
  d["topology"] = net.topology_name;
  d["routing"] = net.routing_name;
  d["traffic"] = net.traffic_name;
  d["fingerprint"] = net.fingerprint;
  d["terminals"] = net.terminals;
  d["routers"] = net.routers;
  d["radix"] = net.radix;
  d["groups"] = net.groups;
  d["vcs"] = net.vcs;
  d["vc_classes"] = net.routing_facts.classes;
  d["max_hops"] = net.routing_facts.max_hops;
  u64 channels = 0;
  for (u32 p = 0; p < net.router_ports; p++) channels += net.channels[p].peer != kNone;
  d["channels"] = channels;
  d["cycle_ns"] = net.cycle_ns;
  d["end_of_time_cycles"] = kEndOfTime;
  d["flit_time_ns"] = net.flit_cycles_host * net.cycle_ns;
  d["flit_cycles"] = net.flit_cycles_host;
  d["packet_flits"] = net.mean_packet_flits();
  d["packet_flits_most"] = net.most_packet_flits;
  py::dict hops;
  for (u32 p = 0; p < net.port_count; p++) {
    static const char* const names[] = {"terminal", "local", "global"};
    if (net.channels[p].peer != kNone) hops[net.is_nic(p) ? "nic" : names[static_cast<int>(net.channels[p].kind)]] = net.channels[p].hop_cycles;
  }
  d["hop_cycles"] = hops;
  py::dict link_latency;
  for (const auto& [name, kind] : {std::pair{"terminal", 0}, std::pair{"local", 1}, std::pair{"global", 2}}) link_latency[name] = net.link_latency_ns[kind];
  d["link_latency_ns"] = link_latency;
  d["crossbar_cycles"] = net.router.crossbar_cycles;
  d["wake_cycles"] = net.router.wake_cycles;
  d["pipeline_cycles"] = net.router.pipeline_cycles;
  d["table_layout"] = net.table.layout;
  py::list rounding;
  for (const Rounding& r : net.rounding) {
    py::dict one;
    one["quantity"] = r.quantity;
    one["ns"] = r.ns;
    one["cycles"] = r.cycles;
    one["error"] = r.error;
    rounding.append(one);
  }
  d["rounding"] = rounding;
  d["memory_bytes"] = state_bytes(s);
  d["workload"] = net.workload != nullptr;
  return d;
}

py::dict channels(const Simulation& sim) {
  const Network& net = sim.network();
  const State& s = sim.state();
  const u64 end = s.window.open ? s.totals.now : s.window.end;
  const double cycles = static_cast<double>(end - s.window.begin);
  std::vector<u32> router, port, kind;
  std::vector<i64> peer;
  std::vector<u64> flits;
  std::vector<double> utilisation, stall;
  for (u32 p = 0; p < net.router_ports; p++) {
    if (net.channels[p].peer == kNone) continue;
    router.push_back(net.router_of_port(p));
    port.push_back(net.local_port(p));
    kind.push_back(static_cast<u32>(net.channels[p].kind));
    peer.push_back(net.is_nic(net.channels[p].peer) ? -1 : static_cast<i64>(net.router_of_port(net.channels[p].peer)));
    flits.push_back(s.window.open ? s.ports[p].flits : s.ports[p].window_flits);
    utilisation.push_back(cycles > 0 ? static_cast<double>(flits.back()) * net.channels[p].flit_cycles / cycles : 0);
    u64 stalled = s.ports[p].stall;
    if (s.window.open && s.ports[p].stalled) stalled += s.totals.now - s.ports[p].stalled_since;
    stall.push_back(static_cast<double>(stalled) * net.cycle_ns);
  }
  const auto array = [](const auto& v) { return py::array(static_cast<py::ssize_t>(v.size()), v.data()); };
  py::dict d;
  d["router"] = array(router);
  d["port"] = array(port);
  d["kind"] = array(kind);
  d["peer_router"] = array(peer);
  d["flits"] = array(flits);
  d["utilisation"] = array(utilisation);
  d["stall_ns"] = array(stall);
  return d;
}

py::dict series(Simulation& sim) {
  const Exclusive held(sim);
  const Network& net = sim.network();
  const State& s = sim.state();
  const u32 interval = s.series_interval[0];
  // Up to now, empty intervals at the end included.
  const auto n = static_cast<py::ssize_t>(interval ? (s.totals.now + interval - 1) / interval : 0);
  py::array_t<double> time(n), latency(n), hops(n), throughput(n);
  py::array_t<u64> packets(n), flits(n);
  for (py::ssize_t k = 0; k < n; k++) {
    const SeriesPoint x = static_cast<std::size_t>(k) < s.series.size() ? s.series[static_cast<std::size_t>(k)] : SeriesPoint{};
    const double begin = static_cast<double>(interval) * static_cast<double>(k), end = std::min(begin + interval, static_cast<double>(s.totals.now));
    const auto count = static_cast<double>(x.packets);
    time.mutable_at(k) = end * net.cycle_ns;
    packets.mutable_at(k) = x.packets;
    flits.mutable_at(k) = x.flits;
    latency.mutable_at(k) = x.packets ? static_cast<double>(x.latency) / count * net.cycle_ns : std::numeric_limits<double>::quiet_NaN();
    hops.mutable_at(k) = x.packets ? static_cast<double>(x.hops) / count : std::numeric_limits<double>::quiet_NaN();
    throughput.mutable_at(k) = end > begin ? static_cast<double>(x.flits) * net.flit_cycles_host / (end - begin) / net.terminals : 0;
  }
  py::dict d;
  d["time_ns"] = time;
  d["latency_mean_ns"] = latency;
  d["packets"] = packets;
  d["flits"] = flits;
  d["hops_mean"] = hops;
  d["throughput"] = throughput;
  return d;
}

// ---- workloads ----

py::array_t<double> nanoseconds(std::size_t n) { return py::array_t<double>(static_cast<py::ssize_t>(n)); }

// What each job has done so far. Times in ns since the start of the simulation.
py::list jobs(Simulation& sim) {
  const Exclusive held(sim);
  const Network& net = sim.network();
  const State& s = sim.state();
  py::list out;
  if (!net.workload) return out;
  const Workload& w = *net.workload;
  for (u32 j = 0; j < w.job_count(); j++) {
    const Job& job = w.jobs[j];
    const JobTotals& t = s.job_totals[j];
    py::dict d;
    d["name"] = job.name;
    d["motif"] = job.motif;
    d["ranks"] = job.ranks;
    d["ranks_finished"] = t.ranks_done;
    d["start_ns"] = static_cast<double>(job.start_ps) / 1000;
    d["finish_ns"] = t.ranks_done == job.ranks ? py::object(py::float_(static_cast<double>(t.finished) / 1000)) : py::none();
    d["bytes"] = t.bytes_sent;
    d["bytes_received"] = t.bytes_received;
    d["messages"] = t.messages_sent;
    d["messages_received"] = t.messages_received;
    d["packets"] = t.packets;
    d["flits"] = t.flits;
    const auto per_packet = [&](u64 x) { return t.packets ? py::object(py::float_(static_cast<double>(x) / static_cast<double>(t.packets))) : py::none(); };
    d["hops_mean"] = per_packet(t.hops);
    d["nonminimal_fraction"] = per_packet(t.nonminimal);
    d["peak_outstanding_bytes"] = t.outstanding_peak;
    const auto latencies = [&](const std::string& name, const std::vector<u32>& all, double unit, u64 sum, double sum_unit, u64 max, u64 count) {
      const std::vector<u32> histogram(all.begin() + static_cast<std::ptrdiff_t>(std::size_t{j} * kHistogramBins), all.begin() + static_cast<std::ptrdiff_t>((std::size_t{j} + 1) * kHistogramBins));
      const double largest = static_cast<double>(max) * sum_unit;
      d[py::str(name + "_mean_ns")] = count ? py::object(py::float_(static_cast<double>(sum) / static_cast<double>(count) * sum_unit)) : py::none();
      for (const auto& [suffix, q] : {std::pair{"_p50_ns", 0.50}, std::pair{"_p95_ns", 0.95}, std::pair{"_p99_ns", 0.99}})
        d[py::str(name + suffix)] = count ? py::object(py::float_(std::min(quantile(histogram, q) * unit, largest))) : py::none();
      d[py::str(name + "_max_ns")] = count ? py::object(py::float_(largest)) : py::none();
    };
    latencies("packet_latency", s.job_histogram, net.cycle_ns, t.latency, net.cycle_ns, t.latency_max, t.packets);
    latencies("message_latency", s.message_histogram, 1, t.message_latency, 1e-3, t.message_latency_max, t.messages_received);

    // Communication time of a rank: all of its time but that in which it computed.
    py::array_t<double> comm = nanoseconds(job.ranks), finish = nanoseconds(job.ranks), compute = nanoseconds(job.ranks);
    py::array_t<u64> sent(job.ranks), received(job.ranks);
    py::array_t<u32> terminals(job.ranks);
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
    }
    d["rank_comm_time_ns"] = comm;
    d["rank_finish_ns"] = finish;
    d["rank_compute_ns"] = compute;
    d["rank_bytes_sent"] = sent;
    d["rank_bytes_received"] = received;
    d["rank_terminal"] = terminals;
    out.append(d);
  }
  return out;
}

// The time series of the jobs: a row per interval and job.
py::dict job_series(Simulation& sim) {
  const Exclusive held(sim);
  const Network& net = sim.network();
  const State& s = sim.state();
  const u32 interval = s.series_interval[0], count = net.workload ? net.workload->job_count() : 0;
  const std::size_t steps = interval && count ? (s.totals.now + interval - 1) / interval : 0;
  const auto n = static_cast<py::ssize_t>(steps * count);
  py::array_t<double> time(n), latency(n), hops(n);
  py::array_t<u32> job(n);
  py::array_t<u64> packets(n), received(n), sent(n);
  for (py::ssize_t i = 0; i < n; i++) {
    const std::size_t k = static_cast<std::size_t>(i), step = k / count;
    const JobPoint x = k < s.job_series.size() ? s.job_series[k] : JobPoint{};
    const double many = static_cast<double>(x.packets), nan = std::numeric_limits<double>::quiet_NaN();
    time.mutable_at(i) = std::min(static_cast<double>(interval) * static_cast<double>(step + 1), static_cast<double>(s.totals.now)) * net.cycle_ns;
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

// Who used each channel, and who delayed whom there; rows as in channels().
//   flits [channels, jobs]; stall_ns [channels, jobs]: stalled while the job had packets there;
//   wait_packet_ns, stall_packet_ns [channels, victim, culprit]
py::dict blame(Simulation& sim) {
  const Exclusive held(sim);
  const Network& net = sim.network();
  const State& s = sim.state();
  const std::size_t jobs = net.accounted_jobs;
  std::vector<u32> ports;
  for (u32 p = 0; p < net.router_ports; p++)
    if (net.channels[p].peer != kNone) ports.push_back(p);
  const auto n = static_cast<py::ssize_t>(jobs ? ports.size() : 0), m = static_cast<py::ssize_t>(jobs);
  py::array_t<u64> flits({n, m});
  py::array_t<double> stall({n, m}), wait({n, m, m}), stalled({n, m, m});
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); i++) {
    const std::size_t row = ports[i] * jobs;
    for (std::size_t v = 0; v < jobs; v++) {
      flits.mutable_data()[i * jobs + v] = s.job_flits[row + v];
      stall.mutable_data()[i * jobs + v] = static_cast<double>(s.job_stall[row + v]) * net.cycle_ns;
      for (std::size_t c = 0; c < jobs; c++) {
        wait.mutable_data()[(i * jobs + v) * jobs + c] = static_cast<double>(s.wait_blame[(row + v) * jobs + c]) * net.cycle_ns;
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

// The requests of this cycle, as views that are valid until apply().
py::dict requests(const py::object& self) {
  auto& sim = self.cast<Simulation&>();
  if (!sim.state().totals.collected) throw CoreError("requests(): there are none before collect()");
  Batch& b = sim.batch();
  const auto n = static_cast<py::ssize_t>(b.count);
  py::dict d;
  for (auto [name, ids] : {std::pair{"router", &b.router}, std::pair{"packet", &b.packet}, std::pair{"input_vc", &b.input_vc}}) d[name] = view(*ids, {n}, self);
  // Headers lie in the packet pool, which moves as it grows: these four are copies.
  py::array_t<u32> source(n), destination(n), sequence(n), hops(n);
  for (py::ssize_t i = 0; i < n; i++) {
    const Packet& p = sim.state().packets[b.packet[static_cast<std::size_t>(i)]];
    source.mutable_at(i) = p.source;
    destination.mutable_at(i) = p.destination;
    sequence.mutable_at(i) = p.sequence;
    hops.mutable_at(i) = p.hops;
  }
  d["source"] = source;
  d["destination"] = destination;
  d["sequence"] = sequence;
  d["hops"] = hops;
  d["in_port"] = view(b.in_port, {n}, self);
  d["in_vc"] = view(b.in_vc, {n}, self);
  if (sim.network().external) {
    d["offsets"] = view(b.offsets, {n + 1}, self);
    const auto candidates = static_cast<py::ssize_t>(b.offsets[b.count]);
    d["candidate_port"] = view(b.candidate_port, {candidates}, self);
    d["candidate_class"] = view(b.candidate_class, {candidates}, self);
  }
  return d;
}

py::object q_table(const py::object& self) {
  auto& sim = self.cast<Simulation&>();
  const TableShape& t = sim.network().table;
  if (t.rows == 0) return py::none();
  const auto item = static_cast<py::ssize_t>(sizeof(float));
  return py::array(py::dtype::of<float>(), {static_cast<py::ssize_t>(sim.network().routers), static_cast<py::ssize_t>(t.rows), static_cast<py::ssize_t>(t.columns)},
                   {item * t.rows * t.stride, item * t.stride, item}, sim.state().table.data(), self);
}

}  // namespace

PYBIND11_MODULE(_core, m) {
  m.doc() = "flitgym's simulation core";
  m.attr("__version__") = FLITGYM_VERSION;
  py::register_exception<ConfigError>(m, "ConfigError", PyExc_ValueError);
  py::register_exception<CoreError>(m, "CoreError", PyExc_RuntimeError);
  m.def("registered", &registered, py::arg("kind"));
  m.def("motif_ranks", &motif_ranks, py::arg("name"), py::arg("available"));
  m.def("terminals", [](const py::dict& topology) {
    Config config;
    py::dict given;
    given["topology"] = topology;
    return count_terminals(to_section(given, "topology", ""));
  }, py::arg("topology"));

  PYBIND11_NUMPY_DTYPE(InputVc, front, back, count, sent, out_port, out_vc, routed, parked, park_next, served);
  PYBIND11_NUMPY_DTYPE(OutputVc, front, back, count, sent, credits, owner, owned_since, parked);
  PYBIND11_NUMPY_DTYPE(Port, flits, window_flits, stall, busy_until, waiting_vcs, queued, load, stalled_since, input_busy_until, output_busy_until, next_vc, awake,
                       stalled, next_request);
  PYBIND11_NUMPY_DTYPE(Rank, block, started, finished, calc, calc_since, bytes_sent, bytes_received, calculating, ops, left, first_op, first_edge, op_class, edge_class, posted, last_posted,
                       unexpected, last_unexpected, done);
  PYBIND11_NUMPY_DTYPE(Outbox, first, last, sent, last_sent);
  PYBIND11_NUMPY_DTYPE(JobTotals, messages_sent, messages_received, bytes_sent, bytes_received, packets, flits, hops, nonminimal, latency, latency_max, message_latency, message_latency_max,
                       outstanding, outstanding_peak, finished, ranks_done);
  // What a job does, rank by rank.
  py::class_<PyProgram, std::shared_ptr<PyProgram>>(m, "Program")
      .def(py::init([](const py::dict& arrays) { return std::make_shared<PyProgram>(PyProgram{program_from_arrays(arrays)}); }), py::arg("arrays"))
      .def_static("motif", [](const std::string& name, const py::dict& params) {
        Section section{name, {}};
        for (const auto& [key, value] : params) section.values[key.cast<std::string>()] = to_value("motif." + key.cast<std::string>(), value);
        return std::make_shared<PyProgram>(PyProgram{motif_program(section, "motif")});
      }, py::arg("name"), py::arg("params") = py::dict())
      .def_static("goal", [](const std::string& text, const std::string& name) { return std::make_shared<PyProgram>(PyProgram{read_goal(text, name)}); }, py::arg("text"), py::arg("name") = "goal")
      .def("to_goal", [](const PyProgram& p) { return write_goal(*p.program); })
      .def("check", [](const PyProgram& p) { check_program(*p.program, "program"); })
      .def("totals", [](const PyProgram& p) {
        const ProgramTotals t = totals(*p.program);
        py::dict d;
        d["messages"] = t.messages;
        d["bytes"] = t.bytes;
        d["receives"] = t.receives;
        d["calc_ns"] = t.calc_ns;
        d["operations"] = t.operations;
        return d;
      })
      .def_property_readonly("ranks", [](const PyProgram& p) { return p.program->ranks; });
  PYBIND11_NUMPY_DTYPE(Terminal, next_tick, tick, sequence, round, index, left, step);

  py::class_<Simulation> simulation(m, "Simulation");
  simulation
      // A fork: an independent copy of the state on the same network.
      .def(py::init([](Simulation& other) { const Exclusive held(other); return std::make_unique<Simulation>(other); }), py::arg("other"))
      .def(py::init([](const py::object& config) {
             const Config parsed = to_config(config);
             py::gil_scoped_release release;
             return std::make_unique<Simulation>(parsed);
           }),
           py::arg("config"))
      .def_property_readonly("now", [](const Simulation& s) { return s.state().totals.now; })
      .def_property_readonly("cycle_ns", [](const Simulation& s) { return s.network().cycle_ns; })
      .def_property_readonly("time_ns", [](const Simulation& s) { return s.state().totals.now * s.network().cycle_ns; })
      .def_property_readonly("packets_in_network", [](const Simulation& s) { return s.state().totals.packets_in_network; })
      .def("run", [](Simulation& s, u64 cycles) {
        const Exclusive held(s);
        s.run(cycles, interruptible());
      }, py::arg("cycles"), py::call_guard<py::gil_scoped_release>())
      .def("drain", [](Simulation& s, u64 most) {
        const Exclusive held(s);
        return s.drain(most, interruptible());
      }, py::arg("max_cycles"), py::call_guard<py::gil_scoped_release>())
      .def("run_workload", [](Simulation& s, u64 most) {
        const Exclusive held(s);
        return s.run_workload(most, interruptible());
      }, py::arg("max_cycles"), py::call_guard<py::gil_scoped_release>())
      .def_property_readonly("workload_finished", &Simulation::workload_finished)
      .def_property_readonly("workload_stuck", &Simulation::workload_stuck)
      .def_property_readonly("workload_progress", [](const Simulation& s) {
        const auto& w = s.network().workload;
        u64 blocks = 0;
        if (w)
          for (const Job& job : w->jobs)
            for (u32 r = 0; r < job.ranks; r++) blocks += job.program->blocks(r);
        return blocks ? static_cast<double>(s.state().host.blocks_done) / static_cast<double>(blocks) : 1.0;
      })
      .def("waiting", &Simulation::waiting, py::arg("most") = 16)
      .def("jobs", &jobs)
      .def("job_series", &job_series)
      .def("blame", &blame)
      .def("stop_sources", &Simulation::stop_sources)
      .def("begin_window", [](Simulation& s) { const Exclusive held(s); s.begin_window(); })
      .def("end_window", [](Simulation& s) { const Exclusive held(s); s.end_window(); })
      .def("set_series_interval", &Simulation::set_series_interval, py::arg("cycles"))
      .def("statistics", [](Simulation& s) { const Exclusive held(s); return statistics(s.network(), s.state()); })
      .def("series", &series)
      .def("channels", &channels)
      .def("facts", &facts)
      .def("collect", [](Simulation& s) { const Exclusive held(s); return s.collect(); })
      .def("requests", &requests)
      .def(
          "apply",
          [](Simulation& s, const std::optional<py::array_t<u32, py::array::c_style | py::array::forcecast>>& choices,
             const std::optional<py::array_t<float, py::array::c_style | py::array::forcecast>>& values, const std::optional<py::array_t<u32, py::array::c_style | py::array::forcecast>>& rows) {
            const Exclusive held(s);
            if (values.has_value() != rows.has_value() || (values && values->size() != rows->size())) throw ConfigError("apply(): values and rows come together, one of each per request");
            if (values) s.answer(values->data(), rows->data(), static_cast<std::size_t>(values->size()));
            if (choices) s.apply(choices->data(), static_cast<std::size_t>(choices->size()));
            else s.apply(nullptr, 0);
          },
          py::arg("choices") = py::none(), py::arg("values") = py::none(), py::arg("rows") = py::none())
      .def("arrays",
           [](const py::object& self) {
             auto& s = self.cast<Simulation&>().state();
             py::dict out;
#define FLITGYM_VIEW(type, name) add_view(out, #name, s.name, self);
             FLITGYM_STATE_FIXED(FLITGYM_VIEW)
             FLITGYM_STATE_WORKLOAD_FIXED(FLITGYM_VIEW)
#undef FLITGYM_VIEW
             return out;
           })
      .def_property_readonly("q_table", &q_table)
      .def_property(
          "q_frozen", [](const Simulation& s) { return s.state().totals.frozen != 0; }, [](Simulation& s, bool frozen) { s.state().totals.frozen = frozen; })
      .def("watch", &Simulation::watch, py::arg("terminal"), py::arg("sequence"))
      .def("watch_log", &Simulation::watch_log)
      .def("state_hash", [](Simulation& s) {
        const Exclusive held(s);
        char text[17];
        std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(s.hash()));
        return std::string(text);
      })
      .def("snapshot", [](Simulation& s) { const Exclusive held(s); return py::bytes(s.snapshot()); })
      .def("restore", [](Simulation& s, const py::bytes& bytes) { const Exclusive held(s); s.restore(bytes); }, py::arg("snapshot"))
      .def("check_conservation", &Simulation::check_conservation);
  bind_learning(m, simulation);
}
