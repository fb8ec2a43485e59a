// Mapping of ranks in Python: communication matrices, measures of a mapping, and the Python libraries of some mappers.
#pragma once

#include <pybind11/pybind11.h>

#include "configuration.hpp"
#include "simcore/simulation.hpp"

// (first, peer, bytes) of the communication matrix, as arrays of sparse rows.
pybind11::tuple communication_of(const PyProgram& program);

void bind_mapping(pybind11::class_<flitgym::Simulation>& simulation);
