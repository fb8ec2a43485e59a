#include <cmath>

#include "configuration.hpp"
#include "readers/fabric.hpp"
#include "simcore/grouped.hpp"
#include "simcore/tables/engine.hpp"

using GraphPtr = std::shared_ptr<tables::ChannelGraph>;
using TablePtr = std::shared_ptr<tables::ForwardingTable>;
using DemandPtr = std::shared_ptr<Demand>;

const char* const kLayerBy[] = {"one", "destination", "switch", "terminal"};

static u32 whole_number(const py::dict& given, const char* key, u32 fallback, u32 least, u32 most) {
  if (!given.contains(key)) return fallback;
  const auto value = integers_of<u32>(given[key], std::string("table: ") + key);
  if (value.size() != 1 || value[0] < least || value[0] > most)
    throw ConfigError("table: ", key, " is not a number from ", least, " to ", most);
  return value[0];
}

// The arrays are read by rows. A transposed array would be read as another table, so its shape is refused.
static void check_shape(const py::dict& given, const char* key, const Shape& wanted, const std::string& axes) {
  if (!given.contains(key)) return;
  const py::object has = py::array(given[key]).attr("shape"), valid = py::tuple(py::cast(wanted));
  if (!has.equal(valid))
    throw ConfigError("table: ", key, ": an array of shape ", shown(has), "; valid is [", axes, "] = ", shown(valid));
}

// Builds a table from arrays by the names of ForwardingTable; missing ones are empty. check() compares the sizes with a
// network.
static TablePtr table_from(const py::dict& given) {
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
    const std::string by = py::str(given["layer_by"]);
    const auto at = std::find(std::begin(kLayerBy), std::end(kLayerBy), by);
    if (at == std::end(kLayerBy))
      throw ConfigError("table: layer_by is '", by, "'; valid are one, destination, switch, terminal");
    table->layer_by = static_cast<tables::LayerBy>(at - std::begin(kLayerBy));
  }
  const u64 destinations = table->destinations();
  check_shape(given, "port", shape(table->switches, destinations), "switches, destinations");
  if (table->layer_by == tables::LayerBy::kDestination)
    check_shape(given, "layer", shape(destinations), "destinations");
  else if (table->layer_by == tables::LayerBy::kSwitch)
    check_shape(given, "layer", shape(table->switches, destinations), "switches, destinations");
  else if (table->layer_by == tables::LayerBy::kTerminal)
    check_shape(given, "layer", shape(table->terminals, destinations), "terminals, destinations");
  const auto take = [&]<class T>(const char* key, std::vector<T>& to) {
    if (given.contains(key)) to = integers_of<T>(given[key], std::string("table: ") + key);
  };
  take("port", table->port);
  take("layer", table->layer);
  take("lane", table->lane);
  take("route_first", table->route_first);
  take("route_port", table->route_port);
  return table;
}

static py::dict arrays_of_table(const TablePtr& table) {
  const tables::ForwardingTable& t = *table;
  const py::object self = owner_of(*table);
  py::dict d;
  d["engine"] = t.engine;
  d["fingerprint"] = t.fingerprint;
  d["switches"] = t.switches;
  d["terminals"] = t.terminals;
  d["lmc"] = t.lmc;
  d["layers"] = t.layers;
  d["bubble"] = t.bubble;
  d["layer_by"] = kLayerBy[static_cast<u32>(t.layer_by)];
  if (!t.source_routed()) d["port"] = view(t.port.data(), shape(t.switches, t.destinations()), self);
  else d["route_first"] = view(t.route_first, self), d["route_port"] = view(t.route_port, self);
  const auto rows = t.destinations() ? t.layer.size() / t.destinations() : 0;
  if (t.layer_by == tables::LayerBy::kDestination) d["layer"] = view(t.layer, self);
  else if (t.layer_by != tables::LayerBy::kOne) d["layer"] = view(t.layer.data(), shape(rows, t.destinations()), self);
  if (t.lanes) {
    d["lanes"] = t.lanes;
    d["lane_ports"] = t.lane_ports;
    d["lane"] = view(t.lane.data(), shape(t.switches, t.lane_ports, t.lane_ports, t.layers), self);
  }
  return d;
}

static py::dict arrays_of_graph(const GraphPtr& graph) {
  const tables::ChannelGraph& g = *graph;
  const py::object self = owner_of(*graph);
  return py::dict("first"_a = view(g.first, self), "from"_a = view(g.from, self), "to"_a = view(g.to, self),
                  "reverse"_a = view(g.reverse, self), "terminal_switch"_a = view(g.terminal_switch, self),
                  "port"_a = view(g.port, self), "kind"_a = view(g.kind, self),
                  "terminal_port"_a = view(g.terminal_port, self));
}

static TablePtr made_by_engine(const GraphPtr& graph, const std::string& engine, const py::dict& params,
                               const DemandPtr& demand, const py::object& seed) {
  const tables::EngineChoice choice{engine, to_values("engine." + engine, params), demand, to_seed(seed)};
  return without_gil(
      [&] { return std::make_shared<tables::ForwardingTable>(tables::make_table("engine", choice, *graph)); });
}

// A matrix as entries: `source[k]` sends `weight[k]` to `destination[k]`.
static DemandPtr demand_from(u32 terminals, const py::object& sources, const py::object& destinations,
                             const Reals& weights, const std::string& name) {
  const auto source = integers_of<u32>(sources, "demand: source", terminals - 1),
             destination = integers_of<u32>(destinations, "demand: destination", terminals - 1);
  if (source.size() != destination.size() || source.size() != static_cast<std::size_t>(weights.size()))
    throw ConfigError("demand: sources, destinations and weights have different lengths");
  auto demand = std::make_shared<Demand>();
  demand->terminals = terminals;
  demand->name = name;
  double sum = 0, between = 0;
  for (std::size_t k = 0; k < source.size(); k++) {
    const double w = weights.data()[k];
    if (!(w >= 0 && w <= std::numeric_limits<double>::max()))
      throw ConfigError("demand: row ", source[k], ", column ", destination[k], " is ", w,
                        "; valid are finite numbers from 0");
    sum += w;
    if (source[k] != destination[k]) between += w;
  }
  if (!std::isfinite(sum)) throw ConfigError("demand: the sum of its entries is infinite");
  if (between == 0) throw ConfigError("demand: no terminal sends to another; at least one entry must be above 0");
  for (const u64 k : grouped(terminals, source.size(), demand->first, [&](u64 k) { return destination[k]; })) {
    demand->source.push_back(source[k]);
    demand->weight.push_back(weights.data()[k]);
  }
  return demand;
}

// The arguments of demand_from() that rebuild a demand from its pickle.
static py::tuple arguments_of(const Demand& demand) {
  std::vector<u32> destination(demand.source.size());
  for (u32 t = 0; t < demand.terminals; t++)
    std::fill(destination.begin() + static_cast<std::ptrdiff_t>(demand.first[t]),
              destination.begin() + static_cast<std::ptrdiff_t>(demand.first[t + 1]), t);
  return py::make_tuple(demand.terminals, copied(demand.source), copied(destination), copied(demand.weight),
                        demand.name);
}

// The caller runs without the GIL.
static Fabric read_records(const std::string& path, const std::string& text) {
  using Nodes = std::vector<std::tuple<std::string, bool, u32, u32>>;
  using Cables = std::vector<std::tuple<u32, u32, u32, u32, double, u32>>;
  const py::gil_scoped_acquire gil;
  const auto [nodes, cables] =
      py::module_::import("flitgym.simcore._records").attr("read_records")(path, text).cast<std::pair<Nodes, Cables>>();
  Fabric fabric;
  for (const auto& [name, host, ports, line] : nodes) fabric.nodes.push_back({name, host, ports, line});
  for (const auto& [a, a_port, b, b_port, share, line] : cables)
    fabric.cables.push_back({a, a_port, b, b_port, -1, -share, "", line});
  return fabric;
}

void bind_tables(py::module_& m) {
  record_reader() = &read_records;
  py::class_<tables::ChannelGraph, GraphPtr>(m, "ChannelGraph")
      .def(py::init([](const py::object& topology, const py::object& failures, const py::object& seed) {
             const Config config = to_network(topology, failures, seed);
             return without_gil([&] { return std::make_shared<tables::ChannelGraph>(tables::channel_graph(config)); });
           }),
           "topology"_a, "failures"_a = py::none(), "seed"_a = 0)
      .def_readonly("switches", &tables::ChannelGraph::switches)
      .def_readonly("terminals", &tables::ChannelGraph::terminals)
      .def_readonly("channels", &tables::ChannelGraph::channels)
      .def_readonly("ports", &tables::ChannelGraph::ports)
      .def_readonly("fingerprint", &tables::ChannelGraph::fingerprint)
      .def_property_readonly(
          "switch_names",
          [](const tables::ChannelGraph& g) { return names_of(g.switches, [&](u32 s) { return g.switch_name(s); }); })
      .def_property_readonly("terminal_names",
                             [](const tables::ChannelGraph& g) {
                               return names_of(g.terminals, [&](u32 t) { return g.terminal_name(t); });
                             })
      .def("arrays", &arrays_of_graph);
  py::class_<Demand, DemandPtr>(m, "Demand")
      .def(py::init(&demand_from), "terminals"_a, "source"_a, "destination"_a, "weight"_a, "name"_a = "")
      .def_readonly("terminals", &Demand::terminals)
      .def("__reduce__", [](const Demand& d) { return py::make_tuple(py::type::of<Demand>(), arguments_of(d)); });
  py::class_<tables::ForwardingTable, TablePtr>(m, "ForwardingTable")
      .def(py::init(&table_from), "arrays"_a)
      .def(py::init([](const TablePtr& other) { return other; }), "other"_a)
      .def_static("make", &made_by_engine, "graph"_a, "engine"_a, "params"_a = py::dict(), "demand"_a = py::none(),
                  "seed"_a = 0)
      .def(
          "check",
          [](const TablePtr& table, const GraphPtr& graph) {
            without_gil([&] { tables::check_table(*graph, *table); });
          },
          "graph"_a)
      .def("arrays", &arrays_of_table);
}
