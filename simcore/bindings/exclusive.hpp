// Exclusive access to a simulation. Every call that reads or writes it holds it, above all a run that has released the
// GIL. It is taken with the GIL held, so two short calls never conflict.
#pragma once

#include <atomic>

#include "bindings.hpp"

class Exclusive {
 public:
  explicit Exclusive(Simulation& simulation) : holder_(simulation.holder()) {
    if (holder_.exchange(1) == 0) return;
    throw CoreError(
        "this simulation is running in another thread; wait until it is done, or make a copy with fork() beforehand "
        "(now, time_ns, packets_in_network and workload_progress can be read meanwhile). A process that was forked "
        "meanwhile must build its own");
  }
  ~Exclusive() { holder_.store(0); }
  Exclusive(const Exclusive&) = delete;
  Exclusive& operator=(const Exclusive&) = delete;

 private:
  std::atomic<u32>& holder_;
};

// Marks an object that a call uses without the GIL. Taken and left with the GIL held.
class Busy {
 public:
  Busy(bool& busy, const char* what) : busy_(busy) {
    if (busy) throw CoreError(what, " is busy in another thread; wait until it is done");
    busy = true;
  }
  ~Busy() { busy_ = false; }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  bool& busy_;
};

// Whether another thread holds the simulation. Asked with the GIL held, so that no thread can take it meanwhile.
inline bool runs_elsewhere(Simulation& simulation) { return simulation.holder().load() != 0; }

namespace exclusive_detail {

template <bool kFreesGil, class Work, class Result, class Sim, class... Given>
auto wrapped(Work work, Result (*)(Sim, Given...)) {
  return [work](const std::shared_ptr<Simulation>& simulation, Given... given) -> Result {
    const Exclusive held(*simulation);
    if constexpr (kFreesGil) {
      const py::gil_scoped_release released;
      return work(*simulation, std::forward<Given>(given)...);
    } else {
      return work(*simulation, std::forward<Given>(given)...);
    }
  };
}

}  // namespace exclusive_detail

// Binds `work(simulation, ...)`, a lambda without captures or a function: no other thread may hold the simulation.
template <class Work>
auto alone(Work work) {
  return exclusive_detail::wrapped<false>(work, +work);
}
// The same without the GIL.
template <class Work>
auto long_run(Work work) {
  return exclusive_detail::wrapped<true>(work, +work);
}
