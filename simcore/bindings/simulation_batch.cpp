#include "simulation_batch.hpp"

void bind_simulation_batch(py::module_& m) {
  py::class_<SimulationBatch>(m, "SimulationBatch")
      .def(py::init<const py::list&, u32>(), "simulations"_a, "threads"_a = 1)
      .def("collect", &SimulationBatch::collect, "max_cycles"_a)
      .def("collect_before", &SimulationBatch::collect_before, "end"_a)
      .def_property_readonly("finished",
                             [](const SimulationBatch& batch) {
                               const Exclusive alone(batch.only());
                               return batch.finished();
                             })
      .def("apply", &SimulationBatch::apply, "actions"_a, "log_probability"_a = py::none())
      .def("path_delay_us", &SimulationBatch::path_delays,
           "Delay of each slot of each decision, [rows, slots] float32: us to the destination if no queue changed.")
      .def(
          "tolled_delay", &SimulationBatch::tolled_delays,
          "Sum of the reward relative_delay up to the delivery, of each slot of each decision, with the opposite sign, "
          "[rows, slots] float32, in mean hops: the present queue of the link, and the mean of later queues and of "
          "the losses that the next router has learned.")
      .def_property_readonly("count", &SimulationBatch::count)
      .def_property_readonly("most_filed", &SimulationBatch::most_filed)
      .def_property_readonly("observation", &SimulationBatch::observation)
      .def_property_readonly("mask", &SimulationBatch::mask)
      .def_property_readonly("network", &SimulationBatch::network)
      .def_property_readonly("router", &SimulationBatch::router)
      .def_property_readonly("decision", &SimulationBatch::decision)
      .def_property_readonly("simulations", &SimulationBatch::simulations);
}
