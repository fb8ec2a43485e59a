// Python bindings of the learning seam: decisions, transitions and policy weights (learning.cpp), batches of several
// networks (simulation_batch.cpp), steps of environments (decision_steps.cpp) and marginal costs (marginal_cost.cpp).
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "simcore/error.hpp"
#include "simcore/learning.hpp"
#include "simcore/simulation.hpp"

inline const flitgym::Seam& seam_of(const flitgym::Simulation& sim, const char* what) {
  if (!sim.network().seam)
    throw flitgym::ConfigError(std::string(what) + ": routing." + sim.network().routing_name +
                               " asks no agent; use routing=agent, policy, random or biased");
  return *sim.network().seam;
}

void bind_learning(pybind11::class_<flitgym::Simulation>& simulation);
void bind_simulation_batch(pybind11::module_& m);
void bind_decision_steps(pybind11::module_& m);
void bind_marginal_cost(pybind11::module_& m);
