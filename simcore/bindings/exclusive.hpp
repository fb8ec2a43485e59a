// Exclusive access to a simulation. Every call that reads or writes it holds it, above all a run that has released the
// GIL. It is taken with the GIL held, so two short calls never conflict.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <utility>

#include "live.hpp"
#include "simcore/error.hpp"
#include "simcore/simulation.hpp"

// Number of forks that led to this process, from 1. A simulation that another thread held at the fork stays held for
// ever in the child process, and may be in the middle of a cycle.
std::uint32_t process_number();

class Exclusive {
 public:
  explicit Exclusive(flitgym::Simulation& simulation) : holder_(simulation.holder()) {
    std::uint32_t holder = 0;
    if (holder_.compare_exchange_strong(holder, process_number())) return;
    if (holder != process_number())
      throw flitgym::CoreError(
          "this simulation was running in a thread when its process was forked, and this copy may be in the middle of "
          "a cycle; build a new simulation, or fork the process while none runs");
    throw flitgym::CoreError(
        "this simulation is running in another thread; wait until it is done, or make a copy with fork() beforehand "
        "(now, time_ns, packets_in_network and workload_progress can be read meanwhile)");
  }
  ~Exclusive() { holder_.store(0); }
  Exclusive(const Exclusive&) = delete;
  Exclusive& operator=(const Exclusive&) = delete;

 private:
  std::atomic<std::uint32_t>& holder_;
};

// Whether another thread holds the simulation. Asked with the GIL held, so that no thread can take it meanwhile.
inline bool runs_elsewhere(flitgym::Simulation& simulation) { return simulation.holder().load() == process_number(); }

namespace exclusive_detail {

template <bool kFreesGil, class Work, class Result, class... Given>
auto wrapped(Work work, Result (Work::*)(flitgym::Simulation&, Given...) const) {
  return [work](Live<flitgym::Simulation> simulation, Given... given) -> Result {
    const Exclusive held(*simulation);
    if constexpr (kFreesGil) {
      const pybind11::gil_scoped_release released;
      return work(*simulation, std::forward<Given>(given)...);
    } else {
      return work(*simulation, std::forward<Given>(given)...);
    }
  };
}

}  // namespace exclusive_detail

// Binds `work(simulation, ...)`: the simulation must be initialised, and no other thread may hold it.
template <class Work>
auto alone(Work work) {
  return exclusive_detail::wrapped<false>(work, &Work::operator());
}
// The same without the GIL.
template <class Work>
auto long_run(Work work) {
  return exclusive_detail::wrapped<true>(work, &Work::operator());
}
