// Steps of environments with one decision per step: each step makes one decision in each of several networks.
#include "simulation_batch.hpp"

// Cycles after the end of an episode in which its last observation may follow, with reward=accrued.
constexpr double kBeyond = 1024;
// Mean hops per unit of the tolled reward. The Huber loss of DQN is quadratic, and so finds means of the noisy delays,
// only for errors below 1.
constexpr double kTolledUnit = 10;

// The results of a step are written into NumPy arrays of the caller, so that a copy of the environment copies them.
class DecisionSteps {
 public:
  // `reward`: hop_delay and relative_delay end an episode with each decision; accrued ends it with the network's time.
  DecisionSteps(const std::string& reward, bool strict, i64 most_decisions, const py::dict& arrays)
      : tolled_(reward == "relative_delay"), all_(reward == "accrued"), strict_(strict),
        most_decisions_(most_decisions), arrays_(arrays) {
    places_.resize(py::len(arrays_["at"]));
    const auto of = [&]<class T>(T*& to, const char* name) {
      using Array = py::array_t<T, py::array::c_style>;
      const py::object given = arrays_[name];
      if (!Array::check_(given) || py::len(given) != places_.size())
        throw ConfigError("DecisionSteps: ", name, " is not an array with an entry per network");
      to = py::reinterpret_borrow<Array>(given).mutable_data();
    };
    of(at_, "at"), of(decided_, "decided"), of(invalid_actions_, "invalid_actions"), of(router_, "router");
    of(over_, "over"), of(renew_, "renew"), of(collected_, "collected"), of(terminated_, "terminated"),
        of(truncated_, "truncated");
    of(reward_, "reward"), of(accrued_, "accrued"), of(time_ns_, "time_ns");
    of(observation_, "observation"), of(mask_, "mask");
    const py::array observation = arrays_["observation"], mask = arrays_["mask"];
    width_ = static_cast<std::size_t>(observation.shape(1)), slots_ = static_cast<std::size_t>(mask.shape(1));
  }

  // Network k is the one of `batch` until cycle `end`. `actions` [rows] holds the choices of a cycle.
  void place(u32 k, const py::object& batch, const py::array_t<i64>& actions, double end) {
    const Busy busy(busy_, "this environment");
    Place& to = places_.at(k);
    to.held = py::make_tuple(batch, actions);
    to.batch = batch.cast<SimulationBatch*>();
    to.actions = const_cast<i64*>(actions.data());
    to.end = end;
  }

  // Writes the decision of row at[k] of network k; -1: no decision.
  void show(u32 k) {
    Simulation& sim = network(k);
    const i64 row = at_[k];
    time_ns_[k] = sim.state().part.totals.now * sim.network().cycle_ns;
    float* const observation = observation_ + k * width_;
    bool* const mask = mask_ + k * slots_;
    if (row < 0) {
      std::fill_n(observation, width_, 0.f);
      for (std::size_t slot = 0; slot < slots_; slot++) mask[slot] = slot == 0;
      router_[k] = -1;
      return;
    }
    const Batch& b = sim.batch();
    std::copy_n(b.decisions.observation.data() + static_cast<std::size_t>(row) * width_, width_, observation);
    std::copy_n(b.decisions.mask.data() + static_cast<std::size_t>(row) * slots_, slots_, mask);
    router_[k] = b.router[b.decisions.request[static_cast<std::size_t>(row)]];
  }

  using Actions = py::array_t<i64, py::array::c_style>;
  using Flags = py::array_t<bool, py::array::c_style>;

  // Refuses actions that step() cannot take. `begins`: networks without a decision in this step.
  void check(const py::array& actions, const py::array& begins) {
    const Busy busy(busy_, "this environment");
    check_actions(actions, begins);
  }
  void check_actions(const py::array& actions, const py::array& begins) const {
    // A conversion by pybind11 would take longer than the step of a network.
    if (!Actions::check_(actions) || !Flags::check_(begins) || actions.size() != begins.size() ||
        begins.size() != static_cast<py::ssize_t>(places_.size()))
      throw ConfigError("DecisionSteps: an int64 and a bool per network are needed");
    const i64* const slots_of = static_cast<const i64*>(actions.data());
    const bool* const begin = static_cast<const bool*>(begins.data());
    for (u32 k = 0; k < places_.size(); k++) {
      if (begin[k]) continue;
      const i64 action = slots_of[k];
      if (at_[k] < 0) throw CoreError("step() without a decision; call reset() first");
      if (action < 0 || action >= static_cast<i64>(slots_))
        throw ConfigError("action: ", action, " is not a slot; slots are 0 .. ", slots_ - 1);
      const u32 slots = candidates(k);
      if (!strict_ || action < slots) continue;
      std::string valid = "0";
      for (u32 slot = 1; slot < slots; slot++) valid += ", " + std::to_string(slot);
      throw ConfigError("action: slot ", action, " has no candidate; valid here: ", valid,
                        " (info['action_mask'], or invalid='minimal' replaces such actions with slot 0)");
    }
  }

  // Decides in every network except those that begin an episode. Actions are checked first, so a refused step changes
  // no network. Returns the number of episodes that have ended, and of those networks, or of networks that begin an
  // episode, the number that cannot go on with their next decision.
  std::pair<u32, u32> step(const py::array& actions, const py::array& begins) {
    const Busy busy(busy_, "this environment");
    check_actions(actions, begins);
    std::deque<Exclusive> held;
    for (const Place& place : places_)
      if (place.batch) held.emplace_back(place.batch->only());
    const py::gil_scoped_release release;
    u32 ended = 0, renewed = 0;
    for (u32 k = 0; k < places_.size(); k++) {
      collected_[k] = false;
      const bool begin = static_cast<const bool*>(begins.data())[k];
      if (begin) reward_[k] = 0, terminated_[k] = truncated_[k] = false;
      else decide(k, static_cast<const i64*>(actions.data())[k]);
      const bool over = terminated_[k] || truncated_[k];
      ended += over;
      renewed += (begin || over) && renew_[k];
    }
    return {ended, renewed};
  }

 private:
  struct Place {
    py::object held;
    SimulationBatch* batch = nullptr;
    i64* actions = nullptr;
    double end = 0;
  };
  Simulation& network(u32 k) const {
    if (!places_.at(k).batch) throw CoreError("DecisionSteps: network ", k, " has no place");
    return places_[k].batch->only();
  }

  u32 candidates(u32 k) const { return network(k).batch().decisions.slot_count[static_cast<std::size_t>(at_[k])]; }

  double reward_of(Simulation& sim, u32 row, u32 slot) const {
    const auto delay = [&](u32 of) {
      return double{(tolled_ ? tolled_delay : path_delay)(sim.network(), sim.state(), sim.batch(), row, of)};
    };
    if (!tolled_) return -delay(slot);
    // The mean does not depend on the action. It removes the part of the delay that no choice changes.
    const u32 slots = sim.batch().decisions.slot_count[row];
    double sum = 0;
    for (u32 k = 0; k < slots; k++) sum += delay(k);
    return (sum / slots - delay(slot)) / kTolledUnit;
  }

  void decide(u32 k, i64 action) {
    const Place& place = places_[k];
    SimulationBatch& batch = *place.batch;
    Simulation& sim = batch.only();
    const u32 row = static_cast<u32>(at_[k]);
    if (action >= candidates(k)) action = 0, invalid_actions_[k]++;
    place.actions[row] = action;
    decided_[k]++;
    if (!all_) reward_[k] = reward_of(sim, row, static_cast<u32>(action));

    bool found = row + 1 < sim.batch().decisions.count;
    if (found) {
      at_[k]++;
    } else {
      at_[k] = -1;  // after an error there is no decision
      batch.settle(place.actions);
      found = batch.advance_before(all_ ? place.end + kBeyond : place.end) > 0;
      if (found) at_[k] = 0;
      collected_[k] = true;
    }
    const bool finished = batch.finished();
    if (finished || sim.state().part.totals.now >= place.end || decided_[k] >= most_decisions_) over_[k] = true;
    terminated_[k] = !all_ || (finished && !found);
    truncated_[k] = !terminated_[k] && (over_[k] || !found);
    renew_[k] = all_ || over_[k] || !found;
    if (all_) {
      double accrued = 0;
      for (const double delay : sim.accrued_delay()) accrued += delay * sim.network().cycle_ns * 1e-3;
      reward_[k] = accrued_[k] - accrued;
      accrued_[k] = accrued;
    }
    show(k);
  }

  const bool tolled_, all_, strict_;
  const i64 most_decisions_;
  const py::dict arrays_;
  std::vector<Place> places_;
  std::size_t width_ = 0, slots_ = 0;
  bool busy_ = false;
  i64 *at_, *decided_, *invalid_actions_, *router_;
  bool *over_, *renew_, *collected_, *terminated_, *truncated_, *mask_;
  double *reward_, *accrued_, *time_ns_;
  float* observation_;
};

void bind_decision_steps(py::module_& m) {
  py::class_<DecisionSteps>(m, "DecisionSteps")
      .def(py::init<const std::string&, bool, i64, const py::dict&>(), "reward"_a, "strict"_a, "most_decisions"_a,
           "arrays"_a)
      .def("place", &DecisionSteps::place, "k"_a, "batch"_a, "actions"_a, "end"_a)
      .def("show", &DecisionSteps::show, "k"_a)
      .def("check", &DecisionSteps::check, "actions"_a, "begins"_a)
      .def("step", &DecisionSteps::step, "actions"_a, "begins"_a);
}
