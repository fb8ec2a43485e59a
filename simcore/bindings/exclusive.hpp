// One thread at a time: a run holds the simulation while the GIL is free.
#pragma once

#include <atomic>

#include "simcore/error.hpp"
#include "simcore/simulation.hpp"

class Exclusive {
 public:
  explicit Exclusive(flitgym::Simulation& simulation) : busy_(simulation.busy()) {
    if (busy_.exchange(true)) throw flitgym::CoreError("this simulation is running in another thread; use fork() for a second one");
  }
  ~Exclusive() { busy_.store(false); }
  Exclusive(const Exclusive&) = delete;
  Exclusive& operator=(const Exclusive&) = delete;

 private:
  std::atomic<bool>& busy_;
};
