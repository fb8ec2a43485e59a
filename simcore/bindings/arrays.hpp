// A network and a simulation's state as dicts and NumPy arrays.
#pragma once

#include <pybind11/pybind11.h>

#include "simcore/simulation.hpp"

void bind_arrays(pybind11::class_<flitgym::Simulation>& simulation);
