#include "requests.hpp"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exclusive.hpp"
#include "live.hpp"
#include "simcore/error.hpp"
#include "simcore/network.hpp"
#include "simcore/state.hpp"
#include "views.hpp"

namespace py = pybind11;
using namespace flitgym;

namespace {

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
  // The packet pool moves as it grows, so these four are copies.
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

// Integers as they were given: a cast would turn 2^32, 0.9 and infinity into 0.
std::vector<u32> whole_numbers(const py::handle& given, const char* what) {
  const py::array array = py::array::ensure(py::reinterpret_borrow<py::object>(given));
  const char kind = array ? array.dtype().kind() : 'O';
  if (!array || array.ndim() != 1 || (array.size() > 0 && kind != 'i' && kind != 'u')) {
    PyErr_Clear();
    throw ConfigError(std::string("apply(): ") + what +
                      " must be one integer per request, in a list or a one-dimensional array of integers");
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

// A network that threads share may take long for a cycle, so Python's other threads go on.
template <class Work>
auto without_gil(const Simulation& s, Work work) {
  std::optional<py::gil_scoped_release> released;
  if (s.network().partitions() > 1) released.emplace();
  return work();
}

void apply(Simulation& s, const py::object& choices, const std::optional<Floats>& values, const py::object& rows) {
  if (values.has_value() == rows.is_none())
    throw ConfigError("apply(): values and rows must be given together, one of each per request");
  if (values) {
    const std::vector<u32> row = whole_numbers(rows, "rows");
    if (values->ndim() != 1 || static_cast<std::size_t>(values->size()) != row.size())
      throw ConfigError("apply(): values and rows must be given together, one of each per request");
    s.answer(values->data(), row.data(), row.size());
  }
  const std::vector<u32> chosen = choices.is_none() ? std::vector<u32>() : whole_numbers(choices, "choices");
  without_gil(s, [&] { s.apply(chosen.data(), chosen.size()); });
}

}  // namespace

void bind_requests(py::class_<Simulation>& simulation) {
  simulation.def("collect", alone([](Simulation& s) { return without_gil(s, [&] { return s.collect(); }); }))
      .def("requests", [](Live<Simulation> live) { return requests(live); })
      .def("apply",
           alone([](Simulation& s, const py::object& choices, const std::optional<Floats>& values,
                    const py::object& rows) { apply(s, choices, values, rows); }),
           py::arg("choices") = py::none(), py::arg("values") = py::none(), py::arg("rows") = py::none());
}
