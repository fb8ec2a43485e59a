// Python bindings of the core. Arrays are NumPy views of the State's memory: they are not copied, and they keep the
// simulation alive. Every long call releases the GIL and can be interrupted by Ctrl-C.
#include <cstring>
#include <optional>

#include "configuration.hpp"
#include "core/hosts/engine.hpp"
#include "exclusive.hpp"
#include "simcore/graph.hpp"
#include "simcore/plugins.hpp"
#include "simcore/workload.hpp"

using SimulationPtr = std::shared_ptr<Simulation>;

// A name from a damaged file may not be valid UTF-8; its bytes are shown as escapes.
static void raise_python(const py::handle& type, const char* what) {
  const auto text = py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(what, static_cast<py::ssize_t>(std::strlen(what)), "backslashreplace"));
  PyErr_SetObject(type.ptr(), text.ptr());
}

static double workload_progress(Simulation& s) {
  const auto& w = s.network().workload;
  u64 blocks = 0;
  if (w)
    for (const Job& job : w->jobs)
      for (u32 r = 0; r < job.ranks; r++) blocks += job.program->blocks(r);
  const u64 done = runs_elsewhere(s) ? s.progress().blocks_done.load() : host_totals(s.state()).blocks_done;
  return blocks ? static_cast<double>(done) / static_cast<double>(blocks) : 1.0;
}
static u64 now(Simulation& s) {
  return runs_elsewhere(s) ? s.progress().now.load() : workload::present(s.network(), s.state());
}
static u64 packets_in_network(Simulation& s) {
  return runs_elsewhere(s) ? s.progress().packets_in_network.load() : totals(s.state()).packets_in_network;
}

// Between collect() and apply() the state does not say which packets ask. It is saved as a list next to the snapshot,
// and loading collects the batch again from it.
static py::tuple save_state(Simulation& sim) {
  u32& collected = sim.state().part.totals.collected;
  if (!collected) return py::make_tuple(py::bytes(sim.snapshot()), py::none());
  collected = 0;
  try {
    const std::string bytes = sim.snapshot();
    collected = 1;
    return py::make_tuple(py::bytes(bytes), sim.asking());
  } catch (...) {
    collected = 1;
    throw;
  }
}

static void load_state(Simulation& sim, const py::bytes& snapshot, const std::optional<std::vector<u32>>& asking) {
  sim.restore(snapshot);
  if (asking) sim.resume(*asking);
}

PYBIND11_MODULE(_core, m) {
  m.doc() = "flitgym's simulation core";
  m.attr("__version__") = FLITGYM_VERSION;
  m.attr("results_version") =
      FLITGYM_RESULTS;  // "" for an uncommitted tree, whose results are identified by the hash of its sources
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
  m.def("registered", &registered, "kind"_a);
  m.def("load_plugin", &load_plugin, "name"_a, "path"_a);
  m.def("core_described", &core_described);
  m.def("available_memory", &available_memory);
  // Complete nodes. By default, each terminal is a node.
  m.def(
      "nodes",
      [](const py::object& topology, const py::object& failures, const py::object& seed, const py::dict& workload) {
        Config config = to_network(topology, failures, seed);
        config.workload.values = to_values("workload", workload);
        return without_gil([&] { return count_nodes(config); });
      },
      "topology"_a, "failures"_a = py::none(), "seed"_a = 0, "workload"_a = py::dict());
  bind_collectives(m);
  bind_programs(m);

  PySimulation simulation(m, "Simulation");
  simulation
      // Fork: an independent copy of the state on the same network.
      .def(py::init([](const std::shared_ptr<Simulation>& other) {
             const Exclusive held(*other);
             return std::make_shared<Simulation>(*other);
           }),
           "other"_a)
      .def(py::init([](const py::object& config) {
             const Config parsed = to_config(config);
             const py::gil_scoped_release release;
             return std::make_shared<Simulation>(parsed, interruptible());
           }),
           "config"_a)
      // Progress can be read while another thread runs the simulation; the values lag by a few thousand cycles.
      .def_property_readonly("now", [](const SimulationPtr& s) { return now(*s); })
      .def_property_readonly("cycle_ns", [](const SimulationPtr& s) { return s->network().cycle_ns; })
      .def_property_readonly(
          "time_ns", [](const SimulationPtr& s) { return static_cast<double>(now(*s)) * s->network().cycle_ns; })
      .def_property_readonly("packets_in_network", [](const SimulationPtr& s) { return packets_in_network(*s); })
      .def_property_readonly("workload_progress", [](const SimulationPtr& s) { return workload_progress(*s); })
      .def_property("threads", alone([](Simulation& s) { return s.threads(); }),
                    alone([](Simulation& s, u32 threads) { s.set_threads(threads); }))
      .def("run", long_run([](Simulation& s, u64 cycles) { s.run(cycles, interruptible()); }), "cycles"_a)
      .def("drain", long_run([](Simulation& s, u64 most) { return s.drain(most, interruptible()); }), "max_cycles"_a)
      .def("run_workload", long_run([](Simulation& s, u64 most) { return s.run_workload(most, interruptible()); }),
           "max_cycles"_a)
      .def_property_readonly("workload_finished", alone([](Simulation& s) { return s.workload_finished(); }))
      .def_property_readonly("workload_stuck", alone([](Simulation& s) { return s.workload_stuck(); }))
      .def("waiting", alone([](Simulation& s, u32 most) { return s.waiting(most); }), "most"_a = 16)
      .def("stop_sources", alone([](Simulation& s) { s.stop_sources(); }))
      .def("begin_window", alone([](Simulation& s) { s.begin_window(); }))
      .def("end_window", alone([](Simulation& s) { s.end_window(); }))
      .def("set_series_interval", alone([](Simulation& s, u32 cycles) { s.set_series_interval(cycles); }), "cycles"_a)
      .def("statistics", alone([](Simulation& s) { return statistics(s.network(), s.state()); }))
      .def_property("q_frozen", alone([](Simulation& s) { return s.state().part.totals.frozen != 0; }),
                    alone([](Simulation& s, bool frozen) {
                      for (u32 k = 0; k < s.network().partitions(); k++) partition(s.state(), k).totals.frozen = frozen;
                    }))
      .def("watch", alone([](Simulation& s, u32 terminal, u32 sequence) { s.watch(terminal, sequence); }), "terminal"_a,
           "sequence"_a)
      .def("watch_log", alone([](Simulation& s) { return s.watch_log(); }))
      .def("state_hash", alone([](Simulation& s) { return py::str("{:016x}").format(s.hash()); }))
      .def("snapshot", alone([](Simulation& s) { return py::bytes(s.snapshot()); }))
      .def("restore", alone([](Simulation& s, const py::bytes& bytes) { s.restore(bytes); }), "snapshot"_a)
      .def("_save", alone(save_state))
      .def("_load", alone(load_state), "snapshot"_a, "asking"_a.none(true))
      .def("_hand_over", alone([](Simulation& s) { s.hand_over(); }))
      .def_property_readonly("_handed_over",
                             alone([](Simulation& s) { return s.network().seam && s.network().seam->background; }))
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
}
