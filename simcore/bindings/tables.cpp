#include "tables.hpp"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "configuration.hpp"
#include "interrupt.hpp"
#include "live.hpp"
#include "simcore/error.hpp"
#include "tables/dependencies.hpp"
#include "views.hpp"

namespace py = pybind11;
using namespace flitgym;

namespace {

const char* const kLayerBy[] = {"one", "destination", "switch", "terminal"};

// The integers of an array. Each is checked to fit the type T.
template <class T>
std::vector<T> column(const py::handle& item, const std::string& where) {
  const py::array array = py::array::ensure(py::reinterpret_borrow<py::object>(item));
  const char kind = array ? array.dtype().kind() : 'O';
  if (!array || (array.size() > 0 && kind != 'i' && kind != 'u' && kind != 'b')) {
    PyErr_Clear();
    throw ConfigError(where + ": not an array of integers");
  }
  const py::array_t<i64, py::array::c_style | py::array::forcecast> whole(array);
  std::vector<T> out(static_cast<std::size_t>(whole.size()));
  const i64* const data = whole.data();
  const u64 most = std::numeric_limits<T>::max();
  for (std::size_t k = 0; k < out.size(); k++) {
    if (data[k] < 0 || static_cast<u64>(data[k]) > most)
      throw ConfigError(where + ": entry " + std::to_string(k) + " is " + std::to_string(data[k]) +
                        "; valid are 0 to " + std::to_string(most));
    out[k] = static_cast<T>(data[k]);
  }
  return out;
}

u32 whole_number(const py::dict& given, const char* key, u32 fallback, u32 least, u32 most) {
  if (!given.contains(key)) return fallback;
  const auto value = column<u32>(given[key], std::string("table: ") + key);
  if (value.size() != 1 || value[0] < least || value[0] > most)
    throw ConfigError(std::string("table: ") + key + " is not a number from " + std::to_string(least) + " to " +
                      std::to_string(most));
  return value[0];
}

// The arrays are read by rows. A transposed array would be read as another table, so its shape is refused.
void check_shape(const py::dict& given, const char* key, const std::vector<py::ssize_t>& shape,
                 const std::string& axes) {
  if (!given.contains(key)) return;
  const py::array array = py::array::ensure(given[key]);
  bool same = array && static_cast<std::size_t>(array.ndim()) == shape.size();
  for (std::size_t k = 0; same && k < shape.size(); k++) same = array.shape(static_cast<py::ssize_t>(k)) == shape[k];
  if (same) return;
  PyErr_Clear();
  std::string has, wanted;
  for (py::ssize_t k = 0; array && k < array.ndim(); k++) has += (k ? ", " : "") + std::to_string(array.shape(k));
  for (std::size_t k = 0; k < shape.size(); k++) wanted += (k ? ", " : "") + std::to_string(shape[k]);
  throw ConfigError(std::string("table: ") + key + ": an array of shape [" + has + "]; valid is [" + axes + "] = [" +
                    wanted + "]");
}

// Builds a table from arrays by the names of ForwardingTable; missing ones are empty. check() compares the sizes with a
// network.
std::shared_ptr<PyTable> table_from(const py::dict& given) {
  static const std::vector<std::string> valid = {"switches",   "terminals", "lmc",    "layers",      "lanes",
                                                 "lane_ports", "bubble",    "engine", "fingerprint", "port",
                                                 "layer",      "layer_by",  "lane",   "route_first", "route_port"};
  for (const auto& [key, value] : given) {
    const std::string name = to_text("table", key);
    if (std::find(valid.begin(), valid.end(), name) == valid.end())
      throw ConfigError("table: unknown array '" + name + "'" + did_you_mean(name, valid) +
                        "; valid names: " + join(valid));
  }
  auto table = std::make_shared<tables::ForwardingTable>();
  table->switches = whole_number(given, "switches", 0, 1, 1u << 26);
  table->terminals = whole_number(given, "terminals", 0, 1, 1u << 26);
  table->lmc = whole_number(given, "lmc", 0, 0, 3);
  table->layers = whole_number(given, "layers", 1, 1, 64);
  table->lanes = whole_number(given, "lanes", 0, 0, 64);
  table->lane_ports = whole_number(given, "lane_ports", 0, 0, kMaxRadix);
  table->bubble = whole_number(given, "bubble", 0, 0, 1);
  if (given.contains("engine")) table->engine = to_text("table: engine", py::str(given["engine"]));
  if (given.contains("fingerprint")) table->fingerprint = to_text("table: fingerprint", py::str(given["fingerprint"]));
  if (given.contains("layer_by")) {
    const std::string by = to_text("table: layer_by", py::str(given["layer_by"]));
    u32 k = 0;
    while (k < 4 && by != kLayerBy[k]) k++;
    if (k == 4) throw ConfigError("table: layer_by is '" + by + "'; valid are one, destination, switch, terminal");
    table->layer_by = static_cast<tables::LayerBy>(k);
  }
  const auto size = [](auto n) { return static_cast<py::ssize_t>(n); };
  const py::ssize_t destinations = size(table->destinations());
  check_shape(given, "port", {size(table->switches), destinations}, "switches, destinations");
  if (table->layer_by == tables::LayerBy::kDestination) check_shape(given, "layer", {destinations}, "destinations");
  if (table->layer_by == tables::LayerBy::kSwitch)
    check_shape(given, "layer", {size(table->switches), destinations}, "switches, destinations");
  if (table->layer_by == tables::LayerBy::kTerminal)
    check_shape(given, "layer", {size(table->terminals), destinations}, "terminals, destinations");
  if (given.contains("port")) table->port = column<u16>(given["port"], "table: port");
  if (given.contains("layer")) table->layer = column<u8>(given["layer"], "table: layer");
  if (given.contains("lane")) table->lane = column<u8>(given["lane"], "table: lane");
  if (given.contains("route_first")) table->route_first = column<u64>(given["route_first"], "table: route_first");
  if (given.contains("route_port")) table->route_port = column<u16>(given["route_port"], "table: route_port");
  return std::make_shared<PyTable>(PyTable{table});
}

py::dict arrays_of_table(const Live<PyTable>& live) {
  const tables::ForwardingTable& t = *live->table;
  const py::object self = live.owner();
  const auto size = [](auto n) { return static_cast<py::ssize_t>(n); };
  py::dict d;
  d["engine"] = t.engine;
  d["fingerprint"] = t.fingerprint;
  d["switches"] = t.switches;
  d["terminals"] = t.terminals;
  d["lmc"] = t.lmc;
  d["layers"] = t.layers;
  d["bubble"] = t.bubble;
  d["layer_by"] = kLayerBy[static_cast<u32>(t.layer_by)];
  if (!t.source_routed()) d["port"] = view(t.port, {size(t.switches), size(t.destinations())}, self);
  else d["route_first"] = view(t.route_first, self), d["route_port"] = view(t.route_port, self);
  const auto rows = t.destinations() ? t.layer.size() / t.destinations() : 0;
  if (t.layer_by == tables::LayerBy::kDestination) d["layer"] = view(t.layer, self);
  else if (t.layer_by != tables::LayerBy::kOne) d["layer"] = view(t.layer, {size(rows), size(t.destinations())}, self);
  if (t.lanes) {
    d["lanes"] = t.lanes;
    d["lane_ports"] = t.lane_ports;
    d["lane"] = view(t.lane, {size(t.switches), size(t.lane_ports), size(t.lane_ports), size(t.layers)}, self);
  }
  return d;
}

py::dict arrays_of_graph(const Live<PyGraph>& live) {
  const tables::ChannelGraph& g = *live->graph;
  const py::object self = live.owner();
  py::dict d;
  for (const auto& [name, array] : {std::pair{"first", &g.first},
                                    {"from", &g.from},
                                    {"to", &g.to},
                                    {"reverse", &g.reverse},
                                    {"terminal_switch", &g.terminal_switch}})
    d[name] = view(*array, self);
  d["port"] = view(g.port, self);
  d["terminal_port"] = view(g.terminal_port, self);
  return d;
}

tables::EngineChoice to_choice(const std::string& engine, const py::dict& params, const py::object& demand,
                               const py::object& seed) {
  tables::EngineChoice choice{engine, {}, nullptr, to_seed(seed)};
  for (const auto& [key, value] : params) {
    const std::string name = to_text("engine", key);
    choice.values[name] = to_value("engine." + engine + "." + name, value);
  }
  if (!demand.is_none()) choice.demand = built<PyDemand>(demand, "demand").demand;
  return choice;
}

// A matrix as entries: `source[k]` sends `weight[k]` to `destination[k]`.
std::shared_ptr<PyDemand> demand_from(u32 terminals, const py::object& sources, const py::object& destinations,
                                      const py::array_t<double, py::array::c_style | py::array::forcecast>& weights,
                                      const std::string& name) {
  const auto source = column<u32>(sources, "demand: source"),
             destination = column<u32>(destinations, "demand: destination");
  if (source.size() != destination.size() || source.size() != static_cast<std::size_t>(weights.size()))
    throw ConfigError("demand: sources, destinations and weights have different lengths");
  auto demand = std::make_shared<Demand>();
  demand->terminals = terminals;
  demand->name = name;
  demand->first.assign(std::size_t{terminals} + 1, 0);
  double sum = 0, between = 0;
  for (std::size_t k = 0; k < source.size(); k++) {
    if (source[k] >= terminals || destination[k] >= terminals)
      throw ConfigError("demand: entry " + std::to_string(k) + " goes from " + std::to_string(source[k]) + " to " +
                        std::to_string(destination[k]) + "; there are " + std::to_string(terminals) + " terminals");
    const double w = weights.data()[k];
    if (!(w >= 0 && w <= std::numeric_limits<double>::max()))
      throw ConfigError("demand: entry " + std::to_string(k) + " is " + std::to_string(w) +
                        "; valid are numbers from 0");
    demand->first[destination[k] + 1]++;
    sum += w;
    if (source[k] != destination[k]) between += w;
  }
  if (!std::isfinite(sum)) throw ConfigError("demand: the sum of its entries is infinite");
  if (between == 0) throw ConfigError("demand: no terminal sends to another; at least one entry must be above 0");
  for (u32 t = 0; t < terminals; t++) demand->first[t + 1] += demand->first[t];
  demand->source.resize(source.size());
  demand->weight.resize(source.size());
  std::vector<u64> fill(demand->first.begin(), demand->first.end() - 1);
  for (std::size_t k = 0; k < source.size(); k++) {
    const u64 at = fill[destination[k]]++;
    demand->source[at] = source[k];
    demand->weight[at] = weights.data()[k];
  }
  return std::make_shared<PyDemand>(PyDemand{demand});
}

// The arguments of demand_from() that rebuild a demand from its pickle.
py::tuple arguments_of(const Demand& demand) {
  std::vector<u32> destination(demand.source.size());
  for (u32 t = 0; t < demand.terminals; t++)
    std::fill(destination.begin() + static_cast<std::ptrdiff_t>(demand.first[t]),
              destination.begin() + static_cast<std::ptrdiff_t>(demand.first[t + 1]), t);
  return py::make_tuple(demand.terminals, py::array(py::cast(demand.source)).attr("astype")("uint32"),
                        py::array(py::cast(destination)).attr("astype")("uint32"), py::array(py::cast(demand.weight)),
                        demand.name);
}

}  // namespace

void bind_tables(py::module_& m) {
  py::class_<PyGraph, std::shared_ptr<PyGraph>>(m, "ChannelGraph")
      .def(py::init([](const py::object& topology, const py::object& failures, const py::object& seed) {
             Config config;
             config.seed = to_seed(seed);
             py::dict given;
             given["topology"] = topology;
             config.topology = to_section(given, "topology", "");
             if (!failures.is_none()) config.failures = to_failures(failures);
             return without_gil([&] {
               return std::make_shared<PyGraph>(
                   PyGraph{std::make_shared<const tables::ChannelGraph>(tables::channel_graph(config))});
             });
           }),
           py::arg("topology"), py::arg("failures") = py::none(), py::arg("seed") = 0)
      .def_property_readonly("switches", [](Live<PyGraph> g) { return g->graph->switches; })
      .def_property_readonly("terminals", [](Live<PyGraph> g) { return g->graph->terminals; })
      .def_property_readonly("channels", [](Live<PyGraph> g) { return g->graph->channels; })
      .def_property_readonly("ports", [](Live<PyGraph> g) { return g->graph->ports; })
      .def_property_readonly("topology_name", [](Live<PyGraph> g) { return g->graph->topology_name; })
      .def_property_readonly("fingerprint", [](Live<PyGraph> g) { return g->graph->fingerprint; })
      .def_property_readonly("switch_names",
                             [](Live<PyGraph> g) {
                               std::vector<std::string> names;
                               for (u32 s = 0; s < g->graph->switches; s++) names.push_back(g->graph->switch_name(s));
                               return names;
                             })
      .def_property_readonly("terminal_names",
                             [](Live<PyGraph> g) {
                               std::vector<std::string> names;
                               for (u32 t = 0; t < g->graph->terminals; t++)
                                 names.push_back(g->graph->terminal_name(t));
                               return names;
                             })
      .def("arrays", [](Live<PyGraph> g) { return arrays_of_graph(g); });
  py::class_<PyDemand, std::shared_ptr<PyDemand>>(m, "Demand")
      .def(py::init(&demand_from), py::arg("terminals"), py::arg("source"), py::arg("destination"), py::arg("weight"),
           py::arg("name") = "")
      .def_property_readonly("terminals", [](Live<PyDemand> d) { return d->demand->terminals; })
      .def("__reduce__",
           [](Live<PyDemand> d) { return py::make_tuple(py::type::of<PyDemand>(), arguments_of(*d->demand)); });
  py::class_<PyTable, std::shared_ptr<PyTable>>(m, "ForwardingTable")
      .def(py::init(&table_from), py::arg("arrays"))
      .def(py::init([](Live<PyTable> other) { return std::make_shared<PyTable>(*other); }), py::arg("other"))
      .def_static(
          "make",
          [](Live<PyGraph> g, const std::string& engine, const py::dict& params, const py::object& demand,
             const py::object& seed) {
            const tables::EngineChoice choice = to_choice(engine, params, demand, seed);
            return without_gil([&] {
              return std::make_shared<PyTable>(PyTable{
                  std::make_shared<const tables::ForwardingTable>(tables::make_table("engine", choice, *g->graph))});
            });
          },
          py::arg("graph"), py::arg("engine"), py::arg("params") = py::dict(), py::arg("demand") = py::none(),
          py::arg("seed") = 0)
      .def(
          "check",
          [](Live<PyTable> t, Live<PyGraph> g) { without_gil([&] { tables::check_table(*g->graph, *t->table); }); },
          py::arg("graph"))
      .def(
          "cycle",
          [](Live<PyTable> t, Live<PyGraph> g) {
            return without_gil([&] { return tables::cycle_name(*g->graph, find_cycle(*g->graph, *t->table)); });
          },
          py::arg("graph"))
      .def("arrays", [](Live<PyTable> t) { return arrays_of_table(t); });
}
