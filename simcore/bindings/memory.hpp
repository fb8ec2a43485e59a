// The memories of a simulation's components (simcore/memory.hpp), as NumPy arrays by name.
#pragma once

#include <pybind11/pybind11.h>

#include "simcore/simulation.hpp"

void bind_memory(pybind11::class_<flitgym::Simulation>& simulation);
