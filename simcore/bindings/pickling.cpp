#include <optional>

#include "exclusive.hpp"

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

void bind_pickling(PySimulation& simulation) {
  simulation.def("_hand_over", alone([](Simulation& s) { s.hand_over(); }))
      .def_property_readonly("_handed_over",
                             alone([](Simulation& s) { return s.network().seam && s.network().seam->background; }))
      .def("_save", alone(save_state))
      .def("_load", alone(load_state), "snapshot"_a, "asking"_a.none(true));
}
