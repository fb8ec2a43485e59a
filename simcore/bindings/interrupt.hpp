// Ctrl-C during long calls, which run without the GIL.
#pragma once

#include <pybind11/pybind11.h>

#include "simcore/limits.hpp"

inline flitgym::KeepGoing interruptible() {
  return [] {
    pybind11::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw pybind11::error_already_set();
  };
}

// Runs `work` without the GIL, so it must not touch Python objects. Ctrl-C interrupts it, and it may not claim more
// memory than the machine has free.
template <class Work>
auto without_gil(Work&& work) {
  pybind11::gil_scoped_release release;
  const flitgym::KeepGoing keep_going = interruptible();
  const flitgym::LimitScope scope(keep_going);
  return work();
}
