#include "tables/quality.hpp"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "configuration.hpp"
#include "interrupt.hpp"
#include "live.hpp"
#include "simcore/error.hpp"
#include "simcore/limits.hpp"
#include "simcore/traffic/draws.hpp"
#include "tables.hpp"
#include "views.hpp"

namespace py = pybind11;
using namespace flitgym;

namespace {

using Whole = py::array_t<u32, py::array::c_style>;
using Numbers = py::array_t<double, py::array::c_style | py::array::forcecast>;

template <class T>
py::array as_array(const std::vector<T>& values) {
  return copied(values.data(), {static_cast<py::ssize_t>(values.size())});
}

std::shared_ptr<const Demand> demand_of(const py::object& given) {
  return given.is_none() ? std::make_shared<const Demand>() : built<PyDemand>(given, "demand").demand;
}

py::dict of_loads(const tables::Loads& loads) {
  py::dict d;
  d["channel"] = as_array(loads.channel);
  d["from_terminal"] = as_array(loads.from_terminal);
  d["to_terminal"] = as_array(loads.to_terminal);
  return d;
}

// The table is checked again, because it may have been made for another network.
py::dict table_loads(Live<PyTable> t, Live<PyGraph> g, const py::object& given) {
  const auto demand = demand_of(given);
  return of_loads(without_gil([&] {
    tables::check_table(*g->graph, *t->table);
    return loads(*g->graph, *t->table, *demand);
  }));
}

py::dict table_quality(Live<PyTable> t, Live<PyGraph> g, const py::object& given) {
  const auto demand = demand_of(given);
  const tables::Quality q = without_gil([&] {
    tables::check_table(*g->graph, *t->table);
    return quality(*g->graph, *t->table, *demand);
  });
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
  d["cycle"] = tables::cycle_name(*g->graph, q.cycle);
  d["loads"] = of_loads(q.loads);
  return d;
}

py::array table_bisection(Live<PyTable> t, Live<PyGraph> g, const Whole& orders, bool both_ways) {
  if (orders.ndim() != 2 || orders.shape(1) != static_cast<py::ssize_t>(g->graph->terminals))
    throw ConfigError("orders: the array must have the shape [patterns, " + std::to_string(g->graph->terminals) +
                      "], with an order of the terminals per row");
  const std::vector<u32> all(orders.data(), orders.data() + orders.size());
  return as_array(without_gil([&] {
    tables::check_table(*g->graph, *t->table);
    return tables::bisection_bandwidth(*g->graph, *t->table, all, both_ways);
  }));
}

py::dict table_congestion(Live<PyTable> t, Live<PyGraph> g, const Whole& sources, const Whole& destinations,
                          const Numbers& weights) {
  if (sources.size() != destinations.size() || sources.size() != weights.size())
    throw ConfigError("flows: sources, destinations and weights have different lengths");
  std::vector<tables::Flow> flows;
  for (py::ssize_t k = 0; k < sources.size(); k++)
    flows.push_back({sources.data()[k], destinations.data()[k], weights.data()[k]});
  const tables::FlowLoads c = without_gil([&] {
    tables::check_table(*g->graph, *t->table);
    return tables::flow_loads(*g->graph, *t->table, flows);
  });
  py::dict d;
  d["flow"] = as_array(c.flow);
  d["endpoint"] = as_array(c.endpoint);
  d["channel"] = as_array(c.channel);
  return d;
}

py::array random_orders(u64 seed, u64 first, u32 patterns, u32 terminals) {
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
  return copied(all.data(), {static_cast<py::ssize_t>(patterns), static_cast<py::ssize_t>(terminals)});
}

}  // namespace

void bind_quality(py::module_& m) {
  m.def("table_loads", table_loads, py::arg("table"), py::arg("graph"), py::arg("demand") = py::none());
  m.def("table_quality", table_quality, py::arg("table"), py::arg("graph"), py::arg("demand") = py::none());
  m.def("table_bisection_bandwidth", table_bisection, py::arg("table"), py::arg("graph"), py::arg("orders"),
        py::arg("both_ways") = false);
  m.def("table_congestion", table_congestion, py::arg("table"), py::arg("graph"), py::arg("source"),
        py::arg("destination"), py::arg("weight"));
  m.def("random_orders", random_orders, py::arg("seed"), py::arg("first"), py::arg("patterns"), py::arg("terminals"));
}
