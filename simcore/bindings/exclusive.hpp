// One at a time: whoever reads or writes a simulation holds it, above all a run while the GIL is free. A simulation is
// taken with the GIL held, so that two short calls never meet.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <utility>

#include "live.hpp"
#include "simcore/error.hpp"
#include "simcore/simulation.hpp"

// Counts the forks that led to this process (from 1 on): what another process held when it was copied stays held for
// ever, and may stand half-way through a cycle.
std::uint32_t process_number();

class Exclusive {
 public:
  explicit Exclusive(flitgym::Simulation& simulation) : holder_(simulation.holder()) {
    std::uint32_t nobody = 0;
    if (holder_.compare_exchange_strong(nobody, process_number())) return;
    if (nobody != process_number())
      throw flitgym::CoreError(
          "this simulation was running in a thread when its process was forked, and this copy of it may stand half-way "
          "through a cycle; build a new one, or fork the process while nothing runs");
    throw flitgym::CoreError(
        "this simulation is running in another thread; wait until it is done (now, time_ns, packets_in_network and "
        "workload_progress can be read meanwhile), or use fork() before for a second one");
  }
  ~Exclusive() { holder_.store(0); }
  Exclusive(const Exclusive&) = delete;
  Exclusive& operator=(const Exclusive&) = delete;

 private:
  std::atomic<std::uint32_t>& holder_;
};

// Is somebody else inside? Asked with the GIL held, so that nobody comes in meanwhile.
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

// What is bound: `work(simulation, ...)` on a simulation that is initialised and held by nobody else ...
template <class Work>
auto alone(Work work) {
  return exclusive_detail::wrapped<false>(work, &Work::operator());
}
// ... and without the GIL.
template <class Work>
auto long_run(Work work) {
  return exclusive_detail::wrapped<true>(work, &Work::operator());
}
