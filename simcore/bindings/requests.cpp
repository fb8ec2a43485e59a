#include <optional>

#include "exclusive.hpp"

// The requests of this cycle, as views that are valid until apply(). The packet pool moves as it grows, so its columns
// are copies.
static py::dict requests(Simulation& sim) {
  const py::object self = owner_of(sim);
  if (!sim.state().part.totals.collected) throw CoreError("requests(): there are none before collect()");
  const Batch& b = sim.batch();
  const Shape n = shape(b.count);
  py::dict d = packet_columns(sim.state(), b.packet, b.count);
  d["router"] = view(b.router.data(), n, self);
  d["packet"] = view(b.packet.data(), n, self);
  d["input_vc"] = view(b.input_vc.data(), n, self);
  d["in_port"] = view(b.in_port.data(), n, self);
  d["in_vc"] = view(b.in_vc.data(), n, self);
  if (sim.network().decider != Decider::kRouting) {
    d["offsets"] = view(b.offsets.data(), shape(b.count + 1), self);
    d["candidate_port"] = view(b.candidate_port.data(), shape(b.offsets[b.count]), self);
    d["candidate_class"] = view(b.candidate_class.data(), shape(b.offsets[b.count]), self);
  }
  return d;
}

using Values32 = py::array_t<float, py::array::c_style | py::array::forcecast>;

// A network that threads share may take long for a cycle, so Python's other threads go on.
template <class Work>
auto without_gil_if_shared(const Simulation& s, Work work) {
  std::optional<py::gil_scoped_release> released;
  if (s.network().partitions() > 1) released.emplace();
  return work();
}

static void apply_choices(Simulation& s, const py::object& choices, const std::optional<Values32>& values,
                          const py::object& rows) {
  const std::vector<u32> row = rows.is_none() ? std::vector<u32>() : integers_of<u32>(rows, "apply(): rows");
  if (values.has_value() == rows.is_none() || (values && static_cast<std::size_t>(values->size()) != row.size()))
    throw ConfigError("apply(): values and rows must be given together, one of each per request");
  if (values) s.answer(values->data(), row.data(), row.size());
  const std::vector<u32> chosen =
      choices.is_none() ? std::vector<u32>() : integers_of<u32>(choices, "apply(): choices");
  without_gil_if_shared(s, [&] { s.apply(chosen.data(), chosen.size()); });
}

void bind_requests(PySimulation& simulation) {
  simulation.def("collect", alone([](Simulation& s) { return without_gil_if_shared(s, [&] { return s.collect(); }); }))
      .def("requests", alone(requests))
      .def("apply", alone(apply_choices), "choices"_a = py::none(), "values"_a = py::none(), "rows"_a = py::none());
}
