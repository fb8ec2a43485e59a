// Shared by all files of the bindings: the parts of the module, calls without the GIL, and conversions of arrays and
// objects. Arrays are NumPy views of the core's memory where possible. A view keeps its owner alive. Views are
// read-only, because values written from outside would not be checked before the next cycle uses them.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "simcore/learning.hpp"
#include "simcore/simulation.hpp"

namespace py = pybind11;
using namespace flitgym;
using namespace pybind11::literals;

// Python holds all objects of the core by shared pointers. pybind11 refuses an argument of this type if Python created
// the object without initialising it.
using PySimulation = py::class_<Simulation, std::shared_ptr<Simulation>>;

void bind_arrays(PySimulation& simulation);    // a network and a simulation's state
void bind_requests(PySimulation& simulation);  // routing from outside the core: requests of a cycle, and the answers
void bind_jobs(PySimulation& simulation);      // results of the jobs of a workload
void bind_mapping(PySimulation& simulation);   // measures of a mapping, and the Python libraries of some mappers
void bind_learning(PySimulation& simulation);  // decisions, transitions and policy weights
void bind_memory(PySimulation& simulation);    // the memory that components keep, and its hardware cost
void bind_simulation_batch(py::module_& m);    // batches of several networks
void bind_decision_steps(py::module_& m);      // steps of environments
void bind_marginal_cost(py::module_& m);
void bind_programs(py::module_& m);
void bind_collectives(py::module_& m);  // collectives of the motifs, for readers of traces
void bind_tables(py::module_& m);       // forwarding tables, their networks and engines
void bind_quality(py::module_& m);      // loads, quality and bisection bandwidth of tables

inline void check_signals() {
  const py::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}
// Ctrl-C during long calls, which run without the GIL.
inline KeepGoing interruptible() { return check_signals; }

// Runs `work` without the GIL, so it must not touch Python objects. Ctrl-C interrupts it, and it may not claim more
// memory than the machine has free.
template <class Work>
auto without_gil(Work&& work) {
  const py::gil_scoped_release release;
  const KeepGoing keep_going = interruptible();
  const LimitScope scope(keep_going);
  return work();
}

inline const Seam& seam_of(const Simulation& sim, const char* what) {
  if (!sim.network().seam)
    throw ConfigError(what, ": routing.", sim.network().routing_name,
                      " asks no agent; use routing=agent, policy, random or biased");
  return *sim.network().seam;
}

// The fields source, destination, sequence and hops of the first `count` packets of a list, as copies.
py::dict packet_columns(const State& s, const std::vector<u32>& packets, std::size_t count);

// A value for a message: at most 200 characters, and ASCII only.
inline std::string shown(const py::handle& item) {
  const std::string text = py::reinterpret_steal<py::str>(PyObject_ASCII(item.ptr()));
  return text.size() > 200 ? text.substr(0, 200) + "..." : text;
}

// The core's object of a Python object. `where` names it in messages.
template <class T>
std::shared_ptr<T> held(const py::handle& item, const std::string& where) {
  if (!py::isinstance<T>(item))
    throw ConfigError(where, ": ", shown(item), " is not a ", std::string(py::str(py::type::of<T>().attr("__name__"))));
  return item.cast<std::shared_ptr<T>>();
}
// pybind11 holds no const class, but Python changes neither programs nor graphs, tables and demands.
template <class T>
std::shared_ptr<T> for_python(const std::shared_ptr<const T>& object) {
  return std::const_pointer_cast<T>(object);
}

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

inline py::array read_only(py::array array) {
  py::detail::array_proxy(array.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return array;
}
using Shape = std::vector<py::ssize_t>;
template <class... Sizes>
Shape shape(Sizes... sizes) {
  return {static_cast<py::ssize_t>(sizes)...};
}

template <class Name>
std::vector<std::string> names_of(u32 count, Name&& name) {
  std::vector<std::string> names;
  for (u32 k = 0; k < count; k++) names.push_back(name(k));
  return names;
}

// The Python object of an object of the core.
template <class T>
py::object owner_of(T& object) {
  return py::cast(&object, py::return_value_policy::reference);
}
template <class T>
py::array view(const T* data, Shape shape, const py::object& owner) {
  return read_only(py::array(py::dtype::of<T>(), std::move(shape), data, owner));
}
template <class T, class A>
py::array view(const std::vector<T, A>& array, const py::object& owner) {
  return view(array.data(), shape(array.size()), owner);
}
// View of bytes that are 0 or 1, as booleans.
inline py::array flags(const u8* data, Shape shape, const py::object& owner) {
  return read_only(py::array(py::dtype("bool"), std::move(shape), data, owner));
}

// A copy that Python owns.
template <class T, class A>
py::array copied(const std::vector<T, A>& values) {
  return py::array(shape(values.size()), values.data());
}
template <class T>
py::array copied(const std::vector<T>& values, std::size_t rows, std::size_t columns) {
  return py::array(shape(rows, columns), values.data());
}
// Copies of the fields of structs by name. Their type is declared by PYBIND11_NUMPY_DTYPE.
template <class Row>
py::dict columns(const std::vector<Row>& rows) {
  const py::array table = copied(rows);
  py::dict out;
  for (const py::handle name : table.dtype().attr("names"))
    out[name] = table[py::reinterpret_borrow<py::object>(name)].attr("copy")();
  return out;
}

using Integers = py::array_t<i64, py::array::c_style | py::array::forcecast>;
using Reals = py::array_t<double, py::array::c_style | py::array::forcecast>;

// The integers of an array or a list. A cast of other numbers would turn 0.9 and infinity into 0.
inline Integers integers(const py::handle& given, const std::string& where) {
  const py::array array = py::array::ensure(py::reinterpret_borrow<py::object>(given));
  const char kind = array ? array.dtype().kind() : 'O';
  if (!array || (array.size() > 0 && kind != 'i' && kind != 'u' && kind != 'b')) {
    PyErr_Clear();
    throw ConfigError(where, ": ", shown(given), " is not a list or an array of integers");
  }
  return Integers(array);
}
// The same as numbers from 0 to `most`, each checked.
template <class T>
std::vector<T> integers_of(const py::handle& given, const std::string& where,
                           u64 most = std::numeric_limits<T>::max()) {
  const Integers whole = integers(given, where);
  std::vector<T> out(static_cast<std::size_t>(whole.size()));
  for (std::size_t k = 0; k < out.size(); k++) {
    const i64 value = whole.data()[k];
    if (value < 0 || static_cast<u64>(value) > most)
      throw ConfigError(where, ": entry ", k, " is ", value, "; valid are 0 to ", most);
    out[k] = static_cast<T>(value);
  }
  return out;
}
