// Forwarding tables in Python: their network, the engines, and tables from arrays.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "simcore/tables/engine.hpp"

// pybind11's holder types cannot hold a const class, hence these wrappers.
struct PyGraph {
  std::shared_ptr<const flitgym::tables::ChannelGraph> graph;
};
struct PyTable {
  std::shared_ptr<const flitgym::tables::ForwardingTable> table;
};
struct PyDemand {
  std::shared_ptr<const flitgym::Demand> demand;
};

void bind_tables(pybind11::module_& m);
void bind_quality(pybind11::module_& m);  // loads, quality and bisection bandwidth of tables
