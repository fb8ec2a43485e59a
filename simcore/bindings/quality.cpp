#include "tables/quality.hpp"

#include "bindings.hpp"
#include "simcore/traffic/draws.hpp"

using Table = tables::ForwardingTable;

static py::dict of_loads(const tables::Loads& loads) {
  return py::dict("channel"_a = copied(loads.channel), "from_terminal"_a = copied(loads.from_terminal),
                  "to_terminal"_a = copied(loads.to_terminal));
}

// Measures a table without the GIL. It is checked again, because it may have been made for another network.
template <class Work>
static auto measured(const Table& table, const tables::ChannelGraph& graph, Work&& work) {
  return without_gil([&] {
    tables::check_table(graph, table);
    return work();
  });
}

static py::dict table_loads(const Table& table, const tables::ChannelGraph& graph, const Demand* demand) {
  return of_loads(measured(table, graph, [&] { return loads(graph, table, demand ? *demand : Demand()); }));
}

static py::dict table_quality(const Table& table, const tables::ChannelGraph& graph, const Demand* demand) {
  const tables::Quality q = measured(table, graph, [&] { return quality(graph, table, demand ? *demand : Demand()); });
  py::dict d;
  d["routes"] = q.routes;
  d["edge_forwarding_index"] = q.edge_forwarding_index;
  d["terminal_forwarding_index"] = q.terminal_forwarding_index;
  d["load_mean"] = q.load_mean;
  d["load_least"] = q.load_least;
  d["load_deviation"] = q.load_deviation;
  d["load_mean_minimal"] = q.load_mean_minimal;
  d["channels_unused"] = q.channels_unused;
  d["hops_mean"] = q.hops_mean;
  d["hops_max"] = q.hops_max;
  d["minimal"] = q.minimal;
  d["layers"] = q.layers;
  d["cycle"] = tables::cycle_name(graph, q.cycle);
  d["loads"] = of_loads(q.loads);
  return d;
}

static py::array table_bisection(const Table& table, const tables::ChannelGraph& graph, const py::object& orders,
                                 bool both_ways) {
  const Integers rows = integers(orders, "orders");
  if (rows.ndim() != 2 || rows.shape(1) != static_cast<py::ssize_t>(graph.terminals))
    throw ConfigError("orders: the array must have the shape [patterns, ", graph.terminals,
                      "], with an order of the terminals per row");
  const std::vector<u32> all = integers_of<u32>(rows, "orders");
  return copied(measured(table, graph, [&] { return tables::bisection_bandwidth(graph, table, all, both_ways); }));
}

static py::dict table_congestion(const Table& table, const tables::ChannelGraph& graph, const py::object& source,
                                 const py::object& destination, const Reals& weights) {
  const auto sources = integers_of<u32>(source, "source"), destinations = integers_of<u32>(destination, "destination");
  if (sources.size() != destinations.size() || sources.size() != static_cast<std::size_t>(weights.size()))
    throw ConfigError("flows: sources, destinations and weights have different lengths");
  std::vector<tables::Flow> flows;
  for (std::size_t k = 0; k < sources.size(); k++) flows.push_back({sources[k], destinations[k], weights.data()[k]});
  const tables::FlowLoads c = measured(table, graph, [&] { return tables::flow_loads(graph, table, flows); });
  return py::dict("flow"_a = copied(c.flow), "endpoint"_a = copied(c.endpoint), "channel"_a = copied(c.channel));
}

static py::array random_orders(u64 seed, u64 first, u32 patterns, u32 terminals) {
  std::vector<u32> all;
  without_gil([&] {
    claim_memory(u64{patterns} * terminals * sizeof(u32), "patterns",
                 std::to_string(patterns) + " orders of " + std::to_string(terminals) + " terminals");
    all.resize(std::size_t{patterns} * terminals);
    for (u32 k = 0; k < patterns; k++) {
      worked(terminals);
      traffic::draw_order(seed, first + k, terminals, all.data() + std::size_t{k} * terminals);
    }
  });
  return copied(all, patterns, terminals);
}

void bind_quality(py::module_& m) {
  m.def("table_loads", table_loads, "table"_a, "graph"_a, "demand"_a = py::none());
  m.def("table_quality", table_quality, "table"_a, "graph"_a, "demand"_a = py::none());
  m.def("table_bisection_bandwidth", table_bisection, "table"_a, "graph"_a, "orders"_a, "both_ways"_a = false);
  m.def("table_congestion", table_congestion, "table"_a, "graph"_a, "source"_a, "destination"_a, "weight"_a);
  m.def("random_orders", random_orders, "seed"_a, "first"_a, "patterns"_a, "terminals"_a);
}
