// Results of the jobs of a workload, as NumPy arrays.
#pragma once

#include <pybind11/pybind11.h>

#include "simcore/simulation.hpp"

void bind_jobs(pybind11::class_<flitgym::Simulation>& simulation);
