// Python bindings of marginal costs (src/libraries/hindsight/marginal_cost.hpp). The docstrings are in
// simcore/_marginal_cost.py.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <memory>

#include "exclusive.hpp"
#include "hindsight/marginal_cost.hpp"
#include "interrupt.hpp"
#include "learning.hpp"
#include "live.hpp"

namespace py = pybind11;
using namespace flitgym;

namespace {

// The marginal costs of a simulation, which Python keeps alive.
struct PyMarginalCost {
  py::object simulation;
  std::unique_ptr<learning::MarginalCost> costs;
  std::atomic<bool> busy{false};
};

template <class T>
py::array_t<T> column(const std::vector<T>& values) {
  return py::array_t<T>(static_cast<py::ssize_t>(values.size()), values.data());
}
template <class T>
py::array_t<T> table(const std::vector<T>& values, u32 rows, u32 columns) {
  return py::array_t<T>({static_cast<py::ssize_t>(rows), static_cast<py::ssize_t>(columns)}, values.data());
}

py::dict arrays(const learning::LabelledDecisions& d) {
  py::dict out;
  out["cycle"] = column(d.cycle);
  out["router"] = column(d.router);
  out["source"] = column(d.source);
  out["destination"] = column(d.destination);
  out["sequence"] = column(d.sequence);
  out["hops"] = column(d.hops);
  out["came_by"] = column(d.came_by);
  out["candidates"] = column(d.candidates);
  out["tried"] = column(d.tried);
  out["taken"] = column(d.taken);
  out["port"] = table(d.port, d.count, d.slots);
  out["vc_class"] = table(d.vc_class, d.count, d.slots);
  out["cost"] = table(d.cost, d.count, d.slots);
  out["observation"] = table(d.observation, d.count, d.width);
  return out;
}

py::dict label(PyMarginalCost& own, u32 decisions, double part, u64 most_cycles) {
  if (own.busy.exchange(true)) throw CoreError("label(): another thread is running label() of this MarginalCost");
  struct Release {
    std::atomic<bool>& busy;
    ~Release() { busy = false; }
  } release{own.busy};
  Simulation& sim = built<Simulation>(own.simulation, "label()");
  const Exclusive held(sim);
  learning::LabelledDecisions d;
  {
    const py::gil_scoped_release released;
    d = own.costs->label(sim, decisions, part, most_cycles, interruptible());
  }
  return arrays(d);
}

}  // namespace

void bind_marginal_cost(py::module_& m) {
  py::class_<PyMarginalCost>(m, "MarginalCost")
      .def(py::init([](const py::object& simulation, u32 horizon, u32 slots, u32 threads, u32 forks, u64 seed,
                       bool reroute) {
             const Simulation& sim = built<Simulation>(simulation, "MarginalCost()");
             const Exclusive held(const_cast<Simulation&>(sim));
             auto own = std::make_unique<PyMarginalCost>();
             own->simulation = simulation;
             own->costs = std::make_unique<learning::MarginalCost>(
                 sim, learning::MarginalCostRule{horizon, slots, threads, forks, seed,
                                                 reroute ? learning::Ahead::kRouted : learning::Ahead::kKnown});
             return own;
           }),
           py::arg("simulation"), py::arg("horizon_cycles"), py::arg("slots"), py::arg("threads"), py::arg("forks"),
           py::arg("seed"), py::arg("reroute"))
      .def(
          "_label",
          [](Live<PyMarginalCost> own, u32 decisions, double part, u64 most_cycles) {
            return label(*own, decisions, part, most_cycles);
          },
          py::arg("decisions"), py::arg("part"), py::arg("max_cycles"));
}
