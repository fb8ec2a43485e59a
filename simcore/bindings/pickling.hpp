// The parts of a pickled simulation; `simcore/_simulation.py` builds pickles from them.
#pragma once

#include <pybind11/pybind11.h>

#include "simcore/simulation.hpp"

void bind_pickling(pybind11::class_<flitgym::Simulation>& simulation);
