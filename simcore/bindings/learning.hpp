// The Python face of the learning seam: decisions, transitions, the weights of a policy, and several networks in one batch.
#pragma once

#include <pybind11/pybind11.h>

#include "simcore/simulation.hpp"

void bind_learning(pybind11::module_& m, pybind11::class_<flitgym::Simulation>& simulation);
