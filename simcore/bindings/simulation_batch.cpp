#include "simulation_batch.hpp"

using namespace flitgym;

namespace {

template <class T>
using Choices = py::array_t<T, py::array::c_style>;
using Logs = std::optional<SimulationBatch::LogProbabilities>;

}  // namespace

void bind_simulation_batch(py::module_& m) {
  py::class_<SimulationBatch>(m, "SimulationBatch")
      .def(py::init<const py::list&, u32>(), py::arg("simulations"), py::arg("threads") = 1)
      .def(
          "collect", [](Live<SimulationBatch> w, u64 most_cycles) { return w->collect(most_cycles); },
          py::arg("max_cycles"))
      .def(
          "collect_before", [](Live<SimulationBatch> w, double end) { return w->collect_before(end); }, py::arg("end"))
      .def_property_readonly("finished",
                             [](Live<SimulationBatch> w) {
                               const Exclusive alone(w->only());
                               return w->finished();
                             })
      .def(
          "apply",
          [](Live<SimulationBatch> w, const Choices<i64>& choices, const Logs& logs) { w->apply(choices, logs); },
          py::arg("actions").noconvert(), py::arg("log_probability") = py::none())
      .def(
          "apply",
          [](Live<SimulationBatch> w, const Choices<i32>& choices, const Logs& logs) { w->apply(choices, logs); },
          py::arg("actions").noconvert(), py::arg("log_probability") = py::none())
      .def(
          "apply",
          [](Live<SimulationBatch> w, const Choices<i64>& choices, const Logs& logs) { w->apply(choices, logs); },
          py::arg("actions"), py::arg("log_probability") = py::none())
      .def(
          "path_delay_us", [](Live<SimulationBatch> w) { return w->path_delay(w.owner()); },
          "Delay of each slot of each decision, [rows, slots] float32: us to the destination if no queue changed.")
      .def(
          "tolled_delay", [](Live<SimulationBatch> w) { return w->tolled_delay(w.owner()); },
          "Sum of the reward relative_delay up to the delivery, of each slot of each decision, with the opposite sign, "
          "[rows, slots] float32, in mean hops: the present queue of the link, and the mean of later queues and of the "
          "losses that the next router has learned.")
      .def_property_readonly("count", [](Live<SimulationBatch> w) { return w->count(); })
      .def_property_readonly("most_filed", [](Live<SimulationBatch> w) { return w->most_filed(); })
      .def_property_readonly("observation", [](Live<SimulationBatch> w) { return w->observation(w.owner()); })
      .def_property_readonly("mask", [](Live<SimulationBatch> w) { return w->mask(w.owner()); })
      .def_property_readonly("network", [](Live<SimulationBatch> w) { return w->network(w.owner()); })
      .def_property_readonly("router", [](Live<SimulationBatch> w) { return w->router(w.owner()); })
      .def_property_readonly("decision", [](Live<SimulationBatch> w) { return w->decision(w.owner()); })
      .def_property_readonly("simulations", [](Live<SimulationBatch> w) { return w->simulations(); });
}
