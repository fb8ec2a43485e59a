#include "memory.hpp"

#include <pybind11/numpy.h>

#include "exclusive.hpp"
#include "live.hpp"
#include "simcore/error.hpp"
#include "views.hpp"

namespace py = pybind11;
using namespace flitgym;

namespace {

const char* word_for(Per per) {
  switch (per) {
    case Per::kRouter: return "router";
    case Per::kPort: return "port";
    case Per::kPacket: return "packet";
    case Per::kJob: return "job";
    default: return "network";
  }
}

// Entries first: routers, ports of each router, places of the packet pool or jobs; then the rows and columns of an
// entry, those of a learned table always, others where there is more than one.
std::vector<py::ssize_t> shape_of(const Simulation& sim, const MemoryShape& m) {
  const Network& net = sim.network();
  std::vector<py::ssize_t> shape;
  if (m.per == Per::kPort) shape = {static_cast<py::ssize_t>(net.routers), py::ssize_t{1} << net.radix_shift};
  else if (m.per != Per::kNetwork)
    shape = {static_cast<py::ssize_t>(memory_entries(net, m.per, sim.state().packets.size()))};
  if (m.learned || m.rows > 1) shape.push_back(m.rows);
  if (m.learned || m.rows > 1 || m.columns > 1) shape.push_back(m.columns);
  return shape;
}

py::dtype type_of(const MemoryShape& m) {
  return with_cell(m.cell, [](auto value) { return py::dtype::of<decltype(value)>(); });
}

// Of a learned table a view that can be written to, which is looked at before the simulation goes on; of what packets
// carry, whose pool moves as it grows, a copy; of all else a view to read.
py::object memory(const Live<Simulation>& live, u32 id, bool writable) {
  const MemoryShape& m = live->network().memories[id];
  const void* const data = live->state().memory[id].data();
  const std::vector<py::ssize_t> shape = shape_of(*live, m);
  if (m.per == Per::kPacket) return py::array(type_of(m), shape, data);
  if (!m.learned) return read_only(py::array(type_of(m), shape, data, live.owner()));
  if (writable) live->expose_table(id);
  const py::ssize_t item = sizeof(float), row = item * m.stride;
  py::array table(type_of(m), shape, {row * m.rows, row, item}, data, live.owner());
  return writable ? table : read_only(table);
}

py::dict memories(const Simulation& sim) {
  py::dict all;
  for (const MemoryShape& m : sim.network().memories) {
    py::dict d;
    d["per"] = word_for(m.per);
    d["meaning"] = m.meaning;
    d["shape"] = py::tuple(py::cast(shape_of(sim, m)));
    d["type"] = type_of(m).attr("name");
    d["learned"] = m.learned;
    all[m.name.c_str()] = d;
  }
  return all;
}

const char* const kQTable = "q_table";

using Floats = py::array_t<float, py::array::c_style | py::array::forcecast>;

void set_q_table(Simulation& sim, const Floats& values) {
  const Network& net = sim.network();
  if (net.table == kNone) throw ConfigError("routing." + net.routing_name + " has no Q-table");
  const MemoryShape& t = net.memories[net.table];
  if (values.ndim() != 3 || values.shape(0) != net.routers || values.shape(1) != t.rows || values.shape(2) != t.columns)
    throw ConfigError(t.name + ": the table has " + std::to_string(net.routers) + " routers x " +
                      std::to_string(t.rows) + " rows x " + std::to_string(t.columns) + " columns");
  sim.set_table(net.table, values.data());
}

py::object table_of_routing(const Live<Simulation>& live) {
  const Exclusive held(*live);
  const u32 id = live->network().table;
  return id == kNone ? py::none() : memory(live, id, false);
}

// A routing may learn something else than times to the destination (biases of ports): that goes by its own name.
py::object q_table(const Live<Simulation>& live) {
  const Exclusive held(*live);
  const Network& net = live->network();
  const bool has_one = net.table != kNone && net.memories[net.table].name == kQTable;
  return has_one ? memory(live, net.table, true) : py::none();
}

const char* const kMemoryDoc =
    "What a routing, observation or reward keeps under a name of `memories()`.\n\n"
    "[routers], [routers, ports], [packet pool] or [jobs] entries of as many rows and columns as `memories()` says. A\n"
    "learned table, [routers, rows, columns] float32, can be written to: its values are checked before the simulation\n"
    "goes on. What packets carry comes as a copy, all else as a read-only view.\n\n"
    "Raises ConfigError that lists the names, where this one is not kept.";
const char* const kMemoriesDoc =
    "The memories of this simulation's components, by name: what each is `per` (network, router, port, packet or "
    "job),\n"
    "its `meaning` with the unit, its present `shape`, the `type` of its numbers, and whether it is a `learned` table.";

const char* const kQTableDoc =
    "The Q-table of the routing, [routers, rows, columns] float32 (`facts()['table_layout']`), as "
    "`memory('q_table')`;\n"
    "None where the routing has none, whatever else it learns.";

}  // namespace

void bind_memory(py::class_<Simulation>& simulation) {
  simulation
      .def(
          "memory",
          [](Live<Simulation> live, const std::string& name) {
            const Exclusive held(*live);
            return memory(live, find_memory(live->network(), name), true);
          },
          py::arg("name"), kMemoryDoc)
      .def("memories", alone([](Simulation& s) { return memories(s); }), kMemoriesDoc)
      .def_property_readonly(
          "q_table", [](Live<Simulation> live) { return q_table(live); }, kQTableDoc)
      .def_property_readonly("_table", [](Live<Simulation> live) { return table_of_routing(live); })
      .def("_set_table", alone([](Simulation& s, const Floats& values) { set_q_table(s, values); }), py::arg("values"));
}
