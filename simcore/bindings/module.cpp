// Python bindings of the core. Arrays are NumPy views of the State's memory: they are not copied, and they keep the
// simulation alive. Every long call releases the GIL and can be interrupted by Ctrl-C.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <pthread.h>

#include <atomic>
#include <cstring>

#include "arrays.hpp"
#include "collectives.hpp"
#include "configuration.hpp"
#include "core/failures.hpp"
#include "core/hosts/engine.hpp"
#include "exclusive.hpp"
#include "interrupt.hpp"
#include "jobs.hpp"
#include "learning.hpp"
#include "live.hpp"
#include "mapping.hpp"
#include "memory.hpp"
#include "pickling.hpp"
#include "readers/array_program.hpp"
#include "readers/goal.hpp"
#include "readers/goal_binary.hpp"
#include "requests.hpp"
#include "simcore/error.hpp"
#include "simcore/graph.hpp"
#include "simcore/learning.hpp"
#include "simcore/plugins.hpp"
#include "simcore/program_totals.hpp"
#include "simcore/registry.hpp"
#include "simcore/simulation.hpp"
#include "simcore/workload.hpp"
#include "tables.hpp"

namespace py = pybind11;
using namespace flitgym;

namespace {

std::atomic<u32> processes{1};

}  // namespace

std::uint32_t process_number() { return processes.load(std::memory_order_relaxed); }

namespace {

// An integer as it was given: a cast would turn 2^32, 0.9 and infinity into 0.
u32 whole_number(const py::object& given, const char* what) {
  if (py::isinstance<py::bool_>(given) || !PyIndex_Check(given.ptr()))
    throw ConfigError(std::string(what) + ": " + py::repr(given).cast<std::string>() + " is not an integer");
  const py::object value = py::reinterpret_steal<py::object>(PyNumber_Index(given.ptr()));
  if (value.attr("__lt__")(0).cast<bool>() || value.attr("bit_length")().cast<int>() > 31)
    throw ConfigError(std::string(what) + ": " + py::repr(given).cast<std::string>() + " is out of range");
  return value.cast<u32>();
}

// A name from a damaged file may not be valid UTF-8; its bytes are shown as escapes.
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
u64 now(Simulation& s) {
  return runs_elsewhere(s) ? s.progress().now.load() : workload::present(s.network(), s.state());
}
u64 packets_in_network(Simulation& s) {
  return runs_elsewhere(s) ? s.progress().packets_in_network.load() : totals(s.state()).packets_in_network;
}

}  // namespace

PYBIND11_MODULE(_core, m) {
  m.doc() = "flitgym's simulation core";
  m.attr("__version__") = FLITGYM_VERSION;
  m.attr("results_version") =
      FLITGYM_RESULTS;  // "" for an uncommitted tree, whose results are identified by the hash of its sources
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
  bind_collectives(m);
  m.def(
      "terminals",
      [](const py::dict& topology, const py::object& failures, const py::object& seed) {
        Config config;
        config.seed = to_seed(seed);
        py::dict given;
        given["topology"] = topology;
        config.topology = to_section(given, "topology", "");
        if (!failures.is_none()) config.failures = to_failures(failures);
        return without_gil([&] { return count_terminals(config); });
      },
      py::arg("topology"), py::arg("failures") = py::none(), py::arg("seed") = 0);
  m.def(
      "nodes",
      [](const py::dict& topology, const py::object& failures, const py::object& seed, i64 ranks_per_node,
         i64 nics_per_node, const std::string& node_terminals) {
        Config config;
        config.seed = to_seed(seed);
        py::dict given;
        given["topology"] = topology;
        config.topology = to_section(given, "topology", "");
        if (!failures.is_none()) config.failures = to_failures(failures);
        config.workload.values = {
            {"ranks_per_node", ranks_per_node}, {"nics_per_node", nics_per_node}, {"node_terminals", node_terminals}};
        return without_gil([&] { return count_nodes(config); });
      },
      py::arg("topology"), py::arg("failures"), py::arg("seed"), py::arg("ranks_per_node"), py::arg("nics_per_node"),
      py::arg("node_terminals"));

  PYBIND11_NUMPY_DTYPE(InputVc, front, back, count, sent, out_port, out_vc);
  PYBIND11_NUMPY_DTYPE(OutputVc, front, back, count, sent, credits, parked);
  PYBIND11_NUMPY_DTYPE(Port, flits, window_flits, stall, busy_until, waiting_vcs, queued, load, stalled_since,
                       input_busy_until, output_busy_until, next_vc, awake, stalled, next_request);
  PYBIND11_NUMPY_DTYPE(Rank, block, started, finished, calc, calc_since, bytes_sent, bytes_received, calculating, ops,
                       left, first_op, first_edge, op_class, edge_class, posted, last_posted, unexpected,
                       last_unexpected, done);
  PYBIND11_NUMPY_DTYPE(NodePort, out_free, in_free, bytes_sent, bytes_received, messages_sent, messages_received);
  PYBIND11_NUMPY_DTYPE(ChannelAccount, sending_until, busy, job, flits);
  PYBIND11_NUMPY_DTYPE(Outbox, first, last, next_flits);
  PYBIND11_NUMPY_DTYPE(JobTotals, messages_sent, messages_received, bytes_sent, bytes_received, packets, flits, hops,
                       nonminimal, latency, latency_max, message_latency, message_latency_max, outstanding,
                       outstanding_peak, finished, ranks_done);
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
            return std::make_shared<PyProgram>(
                PyProgram{without_gil([&] { return motif_program(section, "motif", 0); })});
          },
          py::arg("name"), py::arg("params") = py::dict())
      .def_static(
          "goal",
          [](const std::string& text, const std::string& name) {
            return std::make_shared<PyProgram>(PyProgram{without_gil([&] { return workload::read_goal(text, name); })});
          },
          py::arg("text"), py::arg("name") = "goal")
      .def_static(
          "goal_binary",
          [](const std::string& path) {
            return std::make_shared<PyProgram>(
                PyProgram{without_gil([&] { return workload::read_goal_binary(path); })});
          },
          py::arg("path"))
      .def("to_goal", [](Live<PyProgram> p) { return without_gil([&] { return workload::write_goal(*p->program); }); })
      .def("to_goal_binary",
           [](Live<PyProgram> p) {
             return py::bytes(without_gil([&] { return workload::write_goal_binary(*p->program); }));
           })
      .def("communication", [](Live<PyProgram> p) { return communication_of(*p); })
      .def("check", [](Live<PyProgram> p) { without_gil([&] { workload::check_program(*p->program, "program"); }); })
      .def("totals",
           [](Live<PyProgram> p) {
             const workload::ProgramTotals t = without_gil([&] { return workload::totals(*p->program); });
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
      // Fork: an independent copy of the state on the same network.
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
      // Progress can be read while another thread runs the simulation; the values lag by a few thousand cycles.
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
  bind_arrays(simulation);
  bind_requests(simulation);
  bind_jobs(simulation);
  bind_mapping(simulation);
  bind_learning(simulation);
  bind_memory(simulation);
  bind_simulation_batch(m);
  bind_decision_steps(m);
  bind_marginal_cost(m);
  bind_tables(m);
  bind_quality(m);
  bind_pickling(simulation);
}
