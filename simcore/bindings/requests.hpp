// Routing from outside the core: the requests of a cycle, and the answers.
#pragma once

#include <pybind11/pybind11.h>

#include "simcore/simulation.hpp"

void bind_requests(pybind11::class_<flitgym::Simulation>& simulation);
