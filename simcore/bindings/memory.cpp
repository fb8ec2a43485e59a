#include "exclusive.hpp"
#include "simcore/cost.hpp"

const char* const kPer[] = {"network", "router", "port", "packet", "job"};  // in the order of Per

// Shape of a memory: its entries (routers, ports of each router, the packet pool, or jobs), then rows and columns.
// Learned tables always have rows and columns, other memories only if there is more than one.
static Shape shape_of(const Simulation& sim, const MemoryShape& m) {
  const Network& net = sim.network();
  Shape sizes;
  if (m.per == Per::kPort) sizes = shape(net.routers, u64{1} << net.radix_shift);
  else if (m.per != Per::kNetwork) sizes = shape(memory_entries(net, m.per, sim.state().packets.size()));
  if (m.learned || m.rows > 1) sizes.push_back(m.rows);
  if (m.learned || m.rows > 1 || m.columns > 1) sizes.push_back(m.columns);
  return sizes;
}

static py::dtype type_of(const MemoryShape& m) {
  return with_cell(m.cell, [](auto value) { return py::dtype::of<decltype(value)>(); });
}

// A learned table is a writable view, whose values are checked before the simulation continues. Memory of packets is
// copied, because the packet pool moves as it grows. All other memories are read-only views.
static py::object memory(Simulation& sim, u32 id, bool writable) {
  const MemoryShape& m = sim.network().memories[id];
  make_dense(sim.state(), id);
  const void* const data = sim.state().memory[id].data();
  const Shape sizes = shape_of(sim, m);
  if (m.per == Per::kPacket) return py::array(type_of(m), sizes, data);
  if (!m.learned) return read_only(py::array(type_of(m), sizes, data, owner_of(sim)));
  if (writable) sim.expose_table(id);
  const py::ssize_t item = sizeof(float), row = item * m.stride;
  py::array table(type_of(m), sizes, {row * m.rows, row, item}, data, owner_of(sim));
  return writable ? table : read_only(table);
}

static py::dict memories(const Simulation& sim) {
  py::dict all;
  for (const MemoryShape& m : sim.network().memories)
    all[m.name.c_str()] = py::dict("per"_a = kPer[static_cast<u32>(m.per)], "meaning"_a = m.meaning,
                                   "shape"_a = py::tuple(py::cast(shape_of(sim, m))),
                                   "type"_a = type_of(m).attr("name"), "learned"_a = m.learned);
  return all;
}

static py::dict cost(const Simulation& sim, double candidates) {
  if (!(candidates >= 0 && candidates <= kMaxRadix))
    throw ConfigError("hardware_cost(): ", candidates, " candidates; expected a mean from 0 to ", kMaxRadix);
  const HardwareCost c = hardware_cost(sim.network(), candidates);
  const auto of = [](const Operations& o) {
    return py::dict("multiplications"_a = o.multiplications, "additions"_a = o.additions,
                    "comparisons"_a = o.comparisons, "table_reads"_a = o.reads);
  };
  py::list all;
  for (const HardwareCost::Memory& m : c.memories)
    all.append(py::dict("name"_a = m.name, "learned"_a = m.learned, "bytes"_a = m.bytes));
  py::dict d;
  d["decision"] = c.counted ? py::object(of(c.decision)) : py::none();
  d["update"] = of(c.update);
  d["inputs"] = c.inputs;
  d["weights"] = c.weights;
  d["biases"] = c.biases;
  d["weight_bytes"] = c.weight_bytes;
  d["memories"] = all;
  d["header_bits"] = c.header_bits;
  d["feedback_row_bits"] = c.row_bits;
  d["feedback_value_bits"] = c.value_bits;
  return d;
}

const char* const kCostDoc =
    R"(The cost of the routing in a router's hardware, as the components of this network declare it.

`candidates` is the mean number of candidates that a decision compares, from 0.

    decision             operations of a decision: multiplications, additions, comparisons, table_reads; None: not
                         declared
    update               the same, of an update of the learned table by a feedback message
    inputs               numbers that an agent's decision observes
    weights, biases      of the neural network
    weight_bytes         of both, with the scales of 8-bit weights; all routers hold the same
    memories             the routing's memories, a list of name, learned and bytes per router
    header_bits          bits that a packet carries for the routing
    feedback_row_bits    bits of the row number in a feedback message
    feedback_value_bits  bits of the value in it; 0: the routing sends no feedback

Raises:
    ConfigError: `candidates` is negative or above the largest radix.
)";

static void set_q_table(Simulation& sim, const py::array_t<float, py::array::c_style | py::array::forcecast>& values) {
  const Network& net = sim.network();
  if (net.table == kNone) throw ConfigError("routing.", net.routing_name, " has no Q-table");
  const MemoryShape& t = net.memories[net.table];
  if (values.ndim() != 3 || values.shape(0) != net.routers || values.shape(1) != t.rows || values.shape(2) != t.columns)
    throw ConfigError(t.name, ": the array must have the shape of the table, ", net.routers, " routers x ", t.rows,
                      " rows x ", t.columns, " columns");
  sim.set_table(net.table, values.data());
}

static py::object table_of_routing(Simulation& sim) {
  const u32 id = sim.network().table;
  return id == kNone ? py::none() : memory(sim, id, false);
}

// A routing that learns something other than delivery times, such as biases of ports, has a table of another name.
static py::object q_table(Simulation& sim) {
  const Network& net = sim.network();
  const bool has_one = net.table != kNone && net.memories[net.table].name == "q_table";
  return has_one ? memory(sim, net.table, true) : py::none();
}

const char* const kMemoryDoc = R"(The memory that a routing, observation or reward keeps under a name of `memories()`.

The shape starts with [routers], [routers, ports], [packet pool] or [jobs] and ends with the rows and columns that
`memories()` lists. A learned table is a writable view, [routers, rows, columns] float32, and its values are checked
before the simulation continues. Memory of packets is a copy; all other memories are read-only views.

Raises:
    ConfigError: No component keeps this name. The message lists the valid ones.
)";
const char* const kMemoriesDoc = R"(The memories of this simulation's components, as a dict of dicts by name.

    per      what has an entry each: network, router, port, packet or job
    meaning  description with the unit
    shape    present shape
    type     type of the numbers
    learned  whether it is a learned table
)";

const char* const kQTableDoc =
    R"(Q-table of the routing, float32 [routers, rows, columns], a writable view; None if it has none.

`facts()["table_layout"]` describes rows and columns. `memory("q_table")` is the same array.)";

void bind_memory(PySimulation& simulation) {
  simulation
      .def("memory", alone([](Simulation& s, const std::string& name) {
             return memory(s, find_memory(s.network(), name), true);
           }),
           "name"_a, kMemoryDoc)
      .def("hardware_cost", alone(cost), "candidates"_a, kCostDoc)
      .def("memories", alone(memories), kMemoriesDoc)
      .def_property_readonly("q_table", alone(q_table), kQTableDoc)
      .def_property_readonly("_table", alone(table_of_routing))
      .def("_set_table", alone(set_q_table), "values"_a);
}
