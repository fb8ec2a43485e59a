// Mapping in Python: what ranks exchange, how good a mapping is, and the libraries that some mappers take from there.
#pragma once

#include <pybind11/pybind11.h>

#include "configuration.hpp"
#include "simcore/simulation.hpp"

// (first, peer, bytes) of the communication matrix, as arrays.
pybind11::tuple communication_of(const PyProgram& program);

void bind_mapping(pybind11::class_<flitgym::Simulation>& simulation);
