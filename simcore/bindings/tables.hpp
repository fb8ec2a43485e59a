// Forwarding tables in Python: the network they are made for, engines, and tables from arrays.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "tables/engine.hpp"

// pybind11's holders want types of their own that are not const.
struct PyGraph {
  std::shared_ptr<const flitgym::ChannelGraph> graph;
};
struct PyTable {
  std::shared_ptr<const flitgym::ForwardingTable> table;
};
struct PyDemand {
  std::shared_ptr<const flitgym::Demand> demand;
};

void bind_tables(pybind11::module_& m);
void bind_quality(pybind11::module_& m);  // how good they are
