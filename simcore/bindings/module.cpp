// The Python face of the core. Arrays are NumPy views of the State's own memory: no copy, and the view keeps the
// simulation alive. Every long call releases the GIL and lets Ctrl-C in.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <optional>

#include "configuration.hpp"
#include "exclusive.hpp"
#include "failures.hpp"
#include "interrupt.hpp"
#include "jobs.hpp"
#include "learning.hpp"
#include "live.hpp"
#include "mapping.hpp"
#include "memory.hpp"
#include "pickling.hpp"
#include "simcore/error.hpp"
#include "simcore/learning.hpp"
#include "simcore/plugins.hpp"
#include "simcore/registry.hpp"
#include "simcore/simulation.hpp"
#include "simcore/workload.hpp"
#include "tables.hpp"
#include "topology/graph.hpp"
#include "views.hpp"
#include "workload/array_program.hpp"
#include "workload/goal.hpp"
#include "workload/program_totals.hpp"

namespace py = pybind11;
using namespace flitgym;

namespace {

std::atomic<u32> processes{1};

}  // namespace

std::uint32_t process_number() { return processes.load(std::memory_order_relaxed); }

namespace {

// ---- views ----

// Arrays of structs come as structured NumPy arrays, so that a field is one column of the view.
template <class T, class A>
void add_view(py::dict& out, const char* name, std::vector<T, A>& array, const py::object& owner) {
  out[name] = view(array, owner);
}
void add_view(py::dict&, const char*, Totals&, const py::object&) {}
void add_view(py::dict&, const char*, Window&, const py::object&) {}
void add_view(py::dict&, const char*, LearningTotals&, const py::object&) {}

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
  d["partitions"] = net.partitions();                             // that threads can run
  d["window_cycles"] = net.partitions() > 1 ? net.lookahead : 0;  // that a partition runs on its own
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
    if (net.channels[p].peer != kNone)
      hops[net.is_nic(p) ? "nic" : names[static_cast<int>(net.channels[p].kind)]] = net.hop_cycles(p);
  }
  d["hop_cycles"] = hops;
  py::dict link_latency;
  for (const auto& [name, kind] : {std::pair{"terminal", 0}, std::pair{"local", 1}, std::pair{"global", 2}})
    link_latency[name] = net.link_latency_ns[kind];
  d["link_latency_ns"] = link_latency;
  d["crossbar_cycles"] = net.router.crossbar_cycles;
  d["wake_cycles"] = net.router.wake_cycles;
  d["pipeline_cycles"] = net.router.pipeline_cycles;
  d["table_layout"] = net.table == kNone ? std::string() : net.memories[net.table].meaning;
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
  d["memory_estimate_bytes"] = net.memory_bytes;
  d["workload"] = net.workload != nullptr;
  d["link_span"] = net.link_span;
  d["damaged"] = net.damaged;
  d["failed_links"] = net.failed_links;
  d["routing_replaced"] = net.replaced;
  d["plugins"] = net.plugins;                 // whose components it is made of
  d["link_changes"] = net.graphs.size() - 1;  // times at which links go down or come up
  return d;
}

py::dict channels(const Simulation& sim) {
  const Network& net = sim.network();
  const State& s = sim.state();
  const u64 end = s.part.window.open ? s.part.totals.now : s.part.window.end;
  const double cycles = static_cast<double>(end - s.part.window.begin);
  std::vector<u32> router, port, kind;
  std::vector<i64> peer, peer_port, terminal;
  std::vector<double> latency, hop, flit_time;
  std::vector<u64> flits;
  std::vector<double> utilisation, stall;
  for (u32 p = 0; p < net.router_ports; p++) {
    if (net.channels[p].peer == kNone) continue;
    router.push_back(net.router_of_port(p));
    port.push_back(net.local_port(p));
    kind.push_back(static_cast<u32>(net.channels[p].kind));
    peer.push_back(net.is_nic(net.channels[p].peer) ? -1 : static_cast<i64>(net.router_of_port(net.channels[p].peer)));
    const u32 end_port = net.channels[p].peer;
    peer_port.push_back(net.is_nic(end_port) ? -1 : static_cast<i64>(net.local_port(end_port)));
    terminal.push_back(net.is_nic(end_port) ? static_cast<i64>(end_port - net.router_ports) : -1);
    latency.push_back(net.link_ns(p));
    hop.push_back(hop_ns(net, p));
    flit_time.push_back(net.channels[p].flit_cycles * net.cycle_ns);
    flits.push_back(s.part.window.open ? s.ports[p].flits : s.ports[p].window_flits);
    utilisation.push_back(cycles > 0 ? static_cast<double>(flits.back()) * net.channels[p].flit_cycles / cycles : 0);
    u64 stalled = s.ports[p].stall;
    if (s.part.window.open && s.ports[p].stalled) stalled += s.part.totals.now - s.ports[p].stalled_since;
    stall.push_back(static_cast<double>(stalled) * net.cycle_ns);
  }
  const auto array = [](const auto& v) { return py::array(static_cast<py::ssize_t>(v.size()), v.data()); };
  py::dict d;
  d["router"] = array(router);
  d["port"] = array(port);
  d["kind"] = array(kind);
  d["peer_router"] = array(peer);
  d["peer_port"] = array(peer_port);
  d["terminal"] = array(terminal);
  d["latency_ns"] = array(latency);
  d["hop_ns"] = array(hop);  // what the first values of tables are made of: a hop without queueing
  d["flit_time_ns"] = array(flit_time);
  d["flits"] = array(flits);
  d["utilisation"] = array(utilisation);
  d["stall_ns"] = array(stall);
  return d;
}

// What each router is, apart from what it does.
py::dict routers(const Simulation& sim) {
  const Network& net = sim.network();
  py::dict d;
  py::list names;
  std::vector<u32> region, first_port;
  for (u32 r = 0; r < net.routers; r++)
    names.append(net.router_name(r)), region.push_back(net.topology->region(r)), first_port.push_back(net.port(r, 0));
  d["name"] = names;
  d["group"] = py::array(static_cast<py::ssize_t>(net.routers), net.router_group.data());
  d["region"] = py::array(static_cast<py::ssize_t>(net.routers), region.data());
  d["first_link"] = py::array(static_cast<py::ssize_t>(net.routers), net.first_link.data());
  // its port 0 in the arrays of ports
  d["first_port"] = py::array(static_cast<py::ssize_t>(net.routers), first_port.data());
  return d;
}

py::dict terminals(const Simulation& sim) {
  const Network& net = sim.network();
  py::dict d;
  py::list names;
  for (u32 t = 0; t < net.terminals; t++) names.append(net.terminal_name(t));
  d["name"] = names;
  d["router"] = py::array(static_cast<py::ssize_t>(net.terminals), net.terminal_router.data());
  d["port"] = py::array(static_cast<py::ssize_t>(net.terminals), net.terminal_port.data());
  return d;
}

py::dict series(const Simulation& sim) {
  const Network& net = sim.network();
  const State& s = sim.state();
  const u32 interval = s.series_interval[0];
  // Up to now, empty intervals at the end included.
  const std::vector<SeriesPoint> sums = series_sums(s);
  const auto n = static_cast<py::ssize_t>(interval ? (s.part.totals.now + interval - 1) / interval : 0);
  py::array_t<double> time(n), latency(n), hops(n), throughput(n);
  py::array_t<u64> packets(n), flits(n);
  for (py::ssize_t k = 0; k < n; k++) {
    const SeriesPoint x = static_cast<std::size_t>(k) < sums.size() ? sums[static_cast<std::size_t>(k)] : SeriesPoint{};
    const double begin = static_cast<double>(interval) * static_cast<double>(k),
                 end = std::min(begin + interval, static_cast<double>(s.part.totals.now));
    const auto count = static_cast<double>(x.packets);
    time.mutable_at(k) = end * net.cycle_ns;
    packets.mutable_at(k) = x.packets;
    flits.mutable_at(k) = x.flits;
    latency.mutable_at(k) =
        x.packets ? static_cast<double>(x.latency) / count * net.cycle_ns : std::numeric_limits<double>::quiet_NaN();
    hops.mutable_at(k) = x.packets ? static_cast<double>(x.hops) / count : std::numeric_limits<double>::quiet_NaN();
    throughput.mutable_at(k) =
        end > begin ? static_cast<double>(x.flits) * net.flit_cycles_host / (end - begin) / net.terminals : 0;
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

// The requests of this cycle, as views that are valid until apply().
py::dict requests(const Live<Simulation>& live) {
  const Exclusive held(*live);
  Simulation& sim = *live;
  const py::object self = live.owner();
  if (!sim.state().part.totals.collected) throw CoreError("requests(): there are none before collect()");
  Batch& b = sim.batch();
  const auto n = static_cast<py::ssize_t>(b.count);
  py::dict d;
  for (auto [name, ids] :
       {std::pair{"router", &b.router}, std::pair{"packet", &b.packet}, std::pair{"input_vc", &b.input_vc}})
    d[name] = view(*ids, {n}, self);
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
  if (sim.network().decider != Decider::kRouting) {
    d["offsets"] = view(b.offsets, {n + 1}, self);
    const auto candidates = static_cast<py::ssize_t>(b.offsets[b.count]);
    d["candidate_port"] = view(b.candidate_port, {candidates}, self);
    d["candidate_class"] = view(b.candidate_class, {candidates}, self);
  }
  return d;
}

// Whole numbers from Python as they were given: a cast would make 0 of 2^32, of 0.9 and of infinity.
u32 whole_number(const py::object& given, const char* what) {
  if (py::isinstance<py::bool_>(given) || !PyIndex_Check(given.ptr()))
    throw ConfigError(std::string(what) + ": " + py::repr(given).cast<std::string>() + " is not a whole number");
  const py::object value = py::reinterpret_steal<py::object>(PyNumber_Index(given.ptr()));
  if (value.attr("__lt__")(0).cast<bool>() || value.attr("bit_length")().cast<int>() > 31)
    throw ConfigError(std::string(what) + ": " + py::repr(given).cast<std::string>() + " is out of range");
  return value.cast<u32>();
}

std::vector<u32> whole_numbers(const py::handle& given, const char* what) {
  const py::array array = py::array::ensure(py::reinterpret_borrow<py::object>(given));
  const char kind = array ? array.dtype().kind() : 'O';
  if (!array || array.ndim() != 1 || (array.size() > 0 && kind != 'i' && kind != 'u')) {
    PyErr_Clear();
    throw ConfigError(std::string("apply(): ") + what +
                      " are one whole number per request, in a list or a one-dimensional array of integers");
  }
  std::vector<u32> numbers(static_cast<std::size_t>(array.size()));
  const auto take = [&](const auto& all) {
    for (py::ssize_t i = 0; i < all.size(); i++) {
      const auto value = all.data()[i];
      if (value < 0 || static_cast<u64>(value) > 0xffffffffu)
        throw ConfigError(std::string("apply(): ") + what + "[" + std::to_string(i) + "] is " + std::to_string(value) +
                          "; valid are 0 to 2^32 - 1");
      numbers[static_cast<std::size_t>(i)] = static_cast<u32>(value);
    }
  };
  if (array.size() == 0) return numbers;
  if (kind == 'u') take(py::array_t<u64, py::array::c_style | py::array::forcecast>(array));
  else take(py::array_t<i64, py::array::c_style | py::array::forcecast>(array));
  return numbers;
}

using Floats = py::array_t<float, py::array::c_style | py::array::forcecast>;

void apply(Simulation& s, const py::object& choices, const std::optional<Floats>& values, const py::object& rows) {
  if (values.has_value() == rows.is_none())
    throw ConfigError("apply(): values and rows come together, one of each per request");
  if (values) {
    const std::vector<u32> row = whole_numbers(rows, "rows");
    if (values->ndim() != 1 || static_cast<std::size_t>(values->size()) != row.size())
      throw ConfigError("apply(): values and rows come together, one of each per request");
    s.answer(values->data(), row.data(), row.size());
  }
  if (choices.is_none()) return s.apply(nullptr, 0);
  const std::vector<u32> chosen = whole_numbers(choices, "choices");
  s.apply(chosen.data(), chosen.size());
}

// What a message holds that is no UTF-8 (a name out of a damaged file) is shown as its bytes.
void raise_python(const py::handle& type, const char* what) {
  const auto text = py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(what, static_cast<py::ssize_t>(std::strlen(what)), "backslashreplace"));
  PyErr_SetObject(type.ptr(), text.ptr());
}

double workload_progress(Simulation& s) {
  const auto& w = s.network().workload;
  u64 blocks = 0;
  if (w)
    for (const Job& job : w->jobs)
      for (u32 r = 0; r < job.ranks; r++) blocks += job.program->blocks(r);
  const u64 done = runs_elsewhere(s) ? s.progress().blocks_done.load() : host_totals(s.state()).blocks_done;
  return blocks ? static_cast<double>(done) / static_cast<double>(blocks) : 1.0;
}
u64 now(Simulation& s) { return runs_elsewhere(s) ? s.progress().now.load() : s.state().part.totals.now; }
u64 packets_in_network(Simulation& s) {
  return runs_elsewhere(s) ? s.progress().packets_in_network.load() : totals(s.state()).packets_in_network;
}

}  // namespace

PYBIND11_MODULE(_core, m) {
  m.doc() = "flitgym's simulation core";
  m.attr("__version__") = FLITGYM_VERSION;
  m.attr("results_version") = FLITGYM_RESULTS;  // "" where only the sources say whose results are whose
  pthread_atfork(nullptr, nullptr, [] { processes++; });
  static const py::handle config_error = py::exception<ConfigError>(m, "ConfigError", PyExc_ValueError).release();
  static const py::handle core_error = py::exception<CoreError>(m, "CoreError", PyExc_RuntimeError).release();
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const ConfigError& error) {
      raise_python(config_error, error.what());
    } catch (const CoreError& error) {
      raise_python(core_error, error.what());
    }
  });
  m.def("registered", &registered, py::arg("kind"));
  m.def("load_plugin", &load_plugin, py::arg("name"), py::arg("path"));
  m.def("core_described", &core_described);
  const auto ranks = [](const std::string& name, u32 most) {
    return without_gil([&] { return motif_ranks(name, most); });
  };
  m.def("motif_ranks", ranks, py::arg("name"), py::arg("available"));
  m.def("available_memory", &available_memory);
  m.def(
      "terminals",
      [](const py::dict& topology, const py::object& failures) {
        Config config;
        py::dict given;
        given["topology"] = topology;
        config.topology = to_section(given, "topology", "");
        if (!failures.is_none()) config.failures = to_failures(failures);
        return without_gil([&] { return count_terminals(config); });
      },
      py::arg("topology"), py::arg("failures") = py::none());

  PYBIND11_NUMPY_DTYPE(InputVc, front, back, count, sent, out_port, out_vc, routed, parked, park_next, served);
  PYBIND11_NUMPY_DTYPE(OutputVc, front, back, count, sent, credits, owner, owned_since, parked);
  PYBIND11_NUMPY_DTYPE(Port, flits, window_flits, stall, busy_until, waiting_vcs, queued, load, stalled_since,
                       input_busy_until, output_busy_until, next_vc, awake, stalled, next_request);
  PYBIND11_NUMPY_DTYPE(Rank, block, started, finished, calc, calc_since, bytes_sent, bytes_received, calculating, ops,
                       left, first_op, first_edge, op_class, edge_class, posted, last_posted, unexpected,
                       last_unexpected, done);
  PYBIND11_NUMPY_DTYPE(ChannelAccount, sending_until, busy, job, flits);
  PYBIND11_NUMPY_DTYPE(Outbox, first, last, next_flits);
  PYBIND11_NUMPY_DTYPE(JobTotals, messages_sent, messages_received, bytes_sent, bytes_received, packets, flits, hops,
                       nonminimal, latency, latency_max, message_latency, message_latency_max, outstanding,
                       outstanding_peak, finished, ranks_done);
  // What a job does, rank by rank.
  py::class_<PyProgram, std::shared_ptr<PyProgram>>(m, "Program")
      .def(py::init([](const py::dict& arrays) {
             return std::make_shared<PyProgram>(PyProgram{program_from_arrays(arrays)});
           }),
           py::arg("arrays"))
      .def(py::init([](Live<PyProgram> other) { return std::make_shared<PyProgram>(*other); }), py::arg("other"))
      .def_static(
          "motif",
          [](const std::string& name, const py::dict& params) {
            Section section{name, {}};
            for (const auto& [key, value] : params) {
              const std::string text = to_text("motif", key);
              section.values[text] = to_value("motif." + text, value);
            }
            return std::make_shared<PyProgram>(PyProgram{without_gil([&] { return motif_program(section, "motif"); })});
          },
          py::arg("name"), py::arg("params") = py::dict())
      .def_static(
          "goal",
          [](const std::string& text, const std::string& name) {
            return std::make_shared<PyProgram>(PyProgram{without_gil([&] { return read_goal(text, name); })});
          },
          py::arg("text"), py::arg("name") = "goal")
      .def("to_goal", [](Live<PyProgram> p) { return without_gil([&] { return write_goal(*p->program); }); })
      .def("communication", [](Live<PyProgram> p) { return communication_of(*p); })
      .def("check", [](Live<PyProgram> p) { without_gil([&] { check_program(*p->program, "program"); }); })
      .def("totals",
           [](Live<PyProgram> p) {
             const ProgramTotals t = without_gil([&] { return totals(*p->program); });
             py::dict d;
             d["messages"] = t.messages;
             d["bytes"] = t.bytes;
             d["receives"] = t.receives;
             d["calc_ns"] = t.calc_ns;
             d["operations"] = t.operations;
             return d;
           })
      .def_property_readonly("ranks", [](Live<PyProgram> p) { return p->program->ranks; });
  PYBIND11_NUMPY_DTYPE(Terminal, next_tick, tick, sequence, round, index, left, step);

  py::class_<Simulation> simulation(m, "Simulation");
  simulation
      // A fork: an independent copy of the state on the same network.
      .def(py::init([](Live<Simulation> other) {
             const Exclusive held(*other);
             return std::make_unique<Simulation>(*other);
           }),
           py::arg("other"))
      .def(py::init([](const py::object& config) {
             const Config parsed = to_config(config);
             py::gil_scoped_release release;
             return std::make_unique<Simulation>(parsed, interruptible());
           }),
           py::arg("config"))
      // What shows progress can be read while another thread runs, a few thousand cycles late.
      .def_property_readonly("now", [](Live<Simulation> s) { return now(*s); })
      .def_property_readonly("cycle_ns", [](Live<Simulation> s) { return s->network().cycle_ns; })
      .def_property_readonly("time_ns",
                             [](Live<Simulation> s) { return static_cast<double>(now(*s)) * s->network().cycle_ns; })
      .def_property_readonly("packets_in_network", [](Live<Simulation> s) { return packets_in_network(*s); })
      .def_property_readonly("workload_progress", [](Live<Simulation> s) { return workload_progress(*s); })
      .def_property(
          "threads", alone([](Simulation& s) { return s.threads(); }),
          alone([](Simulation& s, const py::object& threads) { s.set_threads(whole_number(threads, "threads")); }))
      .def("run", long_run([](Simulation& s, u64 cycles) { s.run(cycles, interruptible()); }), py::arg("cycles"))
      .def("drain", long_run([](Simulation& s, u64 most) { return s.drain(most, interruptible()); }),
           py::arg("max_cycles"))
      .def("run_workload", long_run([](Simulation& s, u64 most) { return s.run_workload(most, interruptible()); }),
           py::arg("max_cycles"))
      .def_property_readonly("workload_finished", alone([](Simulation& s) { return s.workload_finished(); }))
      .def_property_readonly("workload_stuck", alone([](Simulation& s) { return s.workload_stuck(); }))
      .def("waiting", alone([](Simulation& s, u32 most) { return s.waiting(most); }), py::arg("most") = 16)
      .def("stop_sources", alone([](Simulation& s) { s.stop_sources(); }))
      .def("begin_window", alone([](Simulation& s) { s.begin_window(); }))
      .def("end_window", alone([](Simulation& s) { s.end_window(); }))
      .def("set_series_interval", alone([](Simulation& s, u32 cycles) { s.set_series_interval(cycles); }),
           py::arg("cycles"))
      .def("statistics", alone([](Simulation& s) { return statistics(s.network(), s.state()); }))
      .def("series", alone([](Simulation& s) { return series(s); }))
      .def("channels", alone([](Simulation& s) { return channels(s); }))
      .def("routers", alone([](Simulation& s) { return routers(s); }))
      .def("terminals", alone([](Simulation& s) { return terminals(s); }))
      .def("facts", alone([](Simulation& s) { return facts(s); }))
      .def("collect", alone([](Simulation& s) { return s.collect(); }))
      .def("requests", [](Live<Simulation> live) { return requests(live); })
      .def("apply",
           alone([](Simulation& s, const py::object& choices, const std::optional<Floats>& values,
                    const py::object& rows) { apply(s, choices, values, rows); }),
           py::arg("choices") = py::none(), py::arg("values") = py::none(), py::arg("rows") = py::none())
      .def("arrays",
           [](Live<Simulation> live) {
             const Exclusive held(*live);
             State& s = live->state();
             const py::object self = live.owner();
             py::dict out;
#define FLITGYM_VIEW(type, name) add_view(out, #name, s.name, self);
             FLITGYM_STATE_FIXED(FLITGYM_VIEW)
#define FLITGYM_PART_VIEW(type, name) add_view(out, #name, s.part.name, self);
             FLITGYM_PARTITION_FIXED(FLITGYM_PART_VIEW)
#undef FLITGYM_PART_VIEW
             if (!s.further.empty())  // sums over the partitions, as of now
               for (const auto& [name, histogram] : {std::pair{"histogram_nic", &Partition::histogram_nic},
                                                     {"histogram_generation", &Partition::histogram_generation}}) {
                 const std::vector<u32> sums = histogram_sums(s, histogram);
                 out[name] = py::array(static_cast<py::ssize_t>(sums.size()), sums.data());
               }
             FLITGYM_STATE_WORKLOAD_FIXED(FLITGYM_VIEW)
             for (const auto& [name, histogram] : {std::pair{"job_histogram", &Hosts::job_histogram},
                                                   {"message_histogram", &Hosts::message_histogram}}) {
               if (s.hosts.size() == 1) {
                 add_view(out, name, s.hosts[0].*histogram, self);
                 continue;
               }
               const std::vector<u32> sums = host_histogram_sums(s, histogram);
               out[name] = py::array(static_cast<py::ssize_t>(sums.size()), sums.data());
             }
             const std::vector<JobTotals> jobs = job_sums(s);
             out["job_totals"] = py::array(static_cast<py::ssize_t>(jobs.size()), jobs.data());
#undef FLITGYM_VIEW
             return out;
           })
      .def_property("q_frozen", alone([](Simulation& s) { return s.state().part.totals.frozen != 0; }),
                    alone([](Simulation& s, bool frozen) {
                      for (u32 k = 0; k < s.network().partitions(); k++) partition(s.state(), k).totals.frozen = frozen;
                    }))
      .def("watch", alone([](Simulation& s, u32 terminal, u32 sequence) { s.watch(terminal, sequence); }),
           py::arg("terminal"), py::arg("sequence"))
      .def("watch_log", alone([](Simulation& s) { return s.watch_log(); }))
      .def("state_hash", alone([](Simulation& s) {
             char text[17];
             std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(s.hash()));
             return std::string(text);
           }))
      .def("snapshot", alone([](Simulation& s) { return py::bytes(s.snapshot()); }))
      .def("restore", alone([](Simulation& s, const py::bytes& bytes) { s.restore(bytes); }), py::arg("snapshot"))
      .def("check_conservation", alone([](Simulation& s) { s.check_conservation(); }));
  bind_jobs(simulation);
  bind_mapping(simulation);
  bind_learning(simulation);
  bind_memory(simulation);
  bind_simulation_batch(m);
  bind_marginal_cost(m);
  bind_tables(m);
  bind_quality(m);
  bind_pickling(simulation);
}
