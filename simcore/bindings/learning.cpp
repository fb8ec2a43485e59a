#include "learning.hpp"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <optional>

#include "exclusive.hpp"
#include "live.hpp"
#include "simcore/error.hpp"
#include "simcore/learning.hpp"
#include "simcore/registry.hpp"
#include "simcore/workload.hpp"
#include "views.hpp"

namespace py = pybind11;
using namespace flitgym;

namespace {

const Seam& seam_of(const Simulation& sim, const char* what) {
  if (!sim.network().seam) throw ConfigError(std::string(what) + ": routing." + sim.network().routing_name + " asks no agent; use routing=agent, policy, random or biased");
  return *sim.network().seam;
}

py::dict describe(const Feature& f) {
  py::dict d;
  d["name"] = f.name;
  d["low"] = f.low;
  d["high"] = f.high;
  d["doc"] = f.doc;
  return d;
}

py::dict seam_facts(const Simulation& sim) {
  const Seam& seam = seam_of(sim, "seam()");
  py::list general, per_slot;
  std::string observation;
  for (const ObservationSpec* block : seam.blocks) {
    observation += (observation.empty() ? "" : "+") + block->name;
    for (Feature f : block->general) f.name = block->name + "." + f.name, general.append(describe(f));
    for (Feature f : block->per_slot) f.name = block->name + "." + f.name, per_slot.append(describe(f));
  }
  py::dict d;
  d["slots"] = seam.slots;
  d["width"] = seam.width;
  d["general"] = general;
  d["per_slot"] = per_slot;
  d["observation"] = observation;
  d["reward"] = seam.reward->name;
  d["capacity"] = seam.capacity;
  d["news_cycles"] = 2 + static_cast<u64>(seam.longest_flight_ns / sim.network().cycle_ns);  // as in send_news()
  d["network"] = seam.policy.layers.empty() ? "" : seam.policy.per_slot ? "slots" : "flat";
  d["layers"] = seam.policy.layers;
  d["topology"] = sim.network().topology_name;
  return d;
}

py::dict transitions(const Live<Simulation>& live) {
  const Exclusive held(*live);
  const Simulation& sim = *live;
  const py::object self = live.owner();
  const Seam& seam = seam_of(sim, "transitions()");
  if (seam.capacity == 0) throw ConfigError("transitions(): none are kept; set routing.record to the number that shall be");
  const State& s = sim.state();
  const auto n = static_cast<py::ssize_t>(seam.capacity), width = static_cast<py::ssize_t>(seam.width), slots = static_cast<py::ssize_t>(seam.slots);
  py::dict d;
  d["observation"] = view(s.ring_observation, {n, width}, self);
  d["next_observation"] = view(s.ring_next_observation, {n, width}, self);
  d["mask"] = flags(s.ring_mask.data(), {n, slots}, self);
  d["next_mask"] = flags(s.ring_next_mask.data(), {n, slots}, self);
  d["action"] = view(s.ring_action, {n}, self);
  d["reward"] = view(s.ring_reward, {n}, self);
  d["done"] = flags(s.ring_done.data(), {n}, self);
  d["log_probability"] = view(s.ring_log_probability, {n}, self);
  d["decision"] = view(s.ring_decision, {n}, self);
  d["next_decision"] = view(s.ring_next_decision, {n}, self);
  d["router"] = view(s.ring_router, {n}, self);
  d["decided"] = view(s.ring_decided, {n}, self);
  d["job"] = view(s.ring_job, {n}, self);
  return d;
}

const char* const kTransitionsDoc = R"(The ring of transitions, decisions with what came of them: views of the core's memory.

The n-th transition that was ever filed (n from 0) lies in row n mod capacity; `transition_count` have been. Needs
`routing.record`, the capacity. A decision is filed when its reward is known *and* the news has travelled back to the
router that made it (the time of an empty path), so those of a packet come in any order. What was overwritten is lost
without a word: `flitgym.env.Ring` reads what is new and raises when that happens.

    observation       float32 [capacity, width]  what was seen; `seam()` names the features
    mask              bool    [capacity, slots]  slots that held a candidate
    action            int64   [capacity]         slot chosen
    log_probability   float32 [capacity]         of the choice, when it was made; NaN where an agent outside did not say
    reward            float32 [capacity]         us, negative: see `registered("reward")`
    done              bool    [capacity]         the packet was delivered, no decision is behind the reward
    next_observation  float32 [capacity, width]  at the packet's next decision; zeros where done
    next_mask         bool    [capacity, slots]  at the packet's next decision; all False where done
    decision          uint64  [capacity]         its number: decisions made in this network before it
    next_decision     uint64  [capacity]         number of the packet's next decision; `NO_DECISION`: none
    router            uint32  [capacity]         that decided
    decided           uint32  [capacity]         cycle
    job               uint32  [capacity]         of the packet; 0 without a workload

With a reward that is paid on delivery (`end_to_end_delay`, `job_slowdown`) all of a packet's decisions are filed then,
`done`, and `next_decision` still links them.

Raises:
    ConfigError: the routing asks no agent, or keeps no transitions.
)";

const char* const kDecisionsDoc = R"(The decisions of this cycle, between `collect()` and `apply()`.

Row j is decision number `decision_count` + j. `observation`, `mask`, `slots` and `port` are views that are good until
`apply()` (of a simulation in `Worlds` the first two are copies), the others copies.

    observation  float32 [n, width]  `seam()` names the features
    mask         bool    [n, slots]  slots that hold a candidate; those come first
    slots        uint32  [n]         how many those are
    port         uint16  [n, slots]  output port of each candidate, counted in the router; nothing behind those
    router       uint32  [n]         that asks
    source       uint32  [n]         terminal of the packet; with `sequence` it names the packet
    destination  uint32  [n]         terminal
    sequence     uint32  [n]         how many packets its source made before
    hops         uint32  [n]         links between routers that lie behind it

Raises:
    ConfigError: the routing asks no agent.
    CoreError: before `collect()`.
)";

// The decisions between collect() and apply(); the rows keep their place from cycle to cycle. Where they lie in the
// memory of Worlds, which may go before the simulation does or after it, they are copies.
py::dict decisions(const Live<Simulation>& live) {
  const Exclusive held(*live);
  Simulation& sim = *live;
  const py::object self = live.owner();
  const Seam& seam = seam_of(sim, "decisions()");
  if (!sim.state().totals.collected) throw CoreError("decisions(): there are none before collect()");
  const Batch& b = sim.batch();
  const Decisions& d = b.decisions;
  const auto n = static_cast<py::ssize_t>(d.count);
  py::array_t<u32> router(n), source(n), destination(n), sequence(n), hops(n);
  for (py::ssize_t j = 0; j < n; j++) {
    const u32 i = d.request[static_cast<std::size_t>(j)];
    const Packet& p = sim.state().packets[b.packet[i]];
    router.mutable_at(j) = b.router[i];
    source.mutable_at(j) = p.source;
    destination.mutable_at(j) = p.destination;
    sequence.mutable_at(j) = p.sequence;
    hops.mutable_at(j) = p.hops;
  }
  py::dict out;
  const bool own = d.observation == d.own_observation.data();
  const std::vector<py::ssize_t> rows{n, static_cast<py::ssize_t>(seam.width)}, slots{n,
      static_cast<py::ssize_t>(seam.slots)};
  out["observation"] = own ? view(d.observation, rows, self) : read_only(copied(d.observation, rows));
  out["mask"] = own ? flags(d.mask, slots, self) : read_only(py::array(py::dtype("bool"), slots, d.mask));
  out["slots"] = view(d.slot_count, {n}, self);
  out["port"] = view(d.ports, slots, self);
  out["router"] = router;
  out["source"] = source;
  out["destination"] = destination;
  out["sequence"] = sequence;  // with the source it names the packet
  out["hops"] = hops;
  return out;
}

using Matrix = py::array_t<float, py::array::c_style | py::array::forcecast>;

using Layers = std::vector<std::pair<Matrix, Matrix>>;

void set_policy(Simulation& sim, const Layers& layers) {
  const PolicyShape& shape = seam_of(sim, "set_policy()").policy;
  if (shape.layers.empty()) throw ConfigError("set_policy(): routing." + sim.network().routing_name + " has no network; use routing=policy");
  if (layers.size() + 1 != shape.layers.size()) throw ConfigError("set_policy(): " + std::to_string(layers.size()) + " layers, the policy has " + std::to_string(shape.layers.size() - 1));
  for (u32 l = 0; l < layers.size(); l++) {
    const auto& [weight, bias] = layers[l];
    const py::ssize_t in = shape.layers[l], out = shape.layers[l + 1];
    if (weight.ndim() != 2 || weight.shape(0) != out || weight.shape(1) != in || bias.ndim() != 1 || bias.shape(0) != out)
      throw ConfigError("set_policy(): layer " + std::to_string(l) + " needs weights of shape (" + std::to_string(out) + ", " + std::to_string(in) + ") and as many biases as outputs");
    for (const Matrix* m : {&weight, &bias})
      for (py::ssize_t k = 0; k < m->size(); k++)
        if (!std::isfinite(m->data()[k])) throw ConfigError("set_policy(): layer " + std::to_string(l) + " holds a weight that is not finite");
  }
  for (u32 l = 0; l < layers.size(); l++) load_layer(shape, l, layers[l].first.data(), layers[l].second.data(), sim.state().weights.data());
}

py::array_t<float> scores(Simulation& sim, const Matrix& observation) {
  const Seam& seam = seam_of(sim, "policy_scores()");
  if (seam.policy.layers.empty()) throw ConfigError("policy_scores(): routing." + sim.network().routing_name + " has no network; use routing=policy");
  if (observation.ndim() != 2 || observation.shape(1) != static_cast<py::ssize_t>(seam.width))
    throw ConfigError("policy_scores(): observations are rows of " + std::to_string(seam.width) + " features");
  Matrix out({observation.shape(0), static_cast<py::ssize_t>(seam.slots)});
  policy_scores(sim.network(), sim.state(), observation.data(), static_cast<u32>(observation.shape(0)), out.mutable_data());
  return out;
}

// Several networks whose decisions stand in one batch. Each goes on to its next cycle with a decision; they need not be at the
// same cycle.
class Worlds {
 public:
  // The list is the caller's and may change; the simulations are held one by one.
  explicit Worlds(const py::list& simulations) {
    if (simulations.empty()) throw ConfigError("Worlds(): no simulation");
    std::size_t most = 0;
    for (const py::handle& item : simulations) {
      auto& sim = built<Simulation>(item, "Worlds(): simulation " + std::to_string(sims_.size()));
      const Exclusive alone(sim);
      const Seam& seam = seam_of(sim, "Worlds()");
      if (!sim.network().external) throw ConfigError("Worlds(): routing." + sim.network().routing_name + " decides by itself; use routing=agent");
      if (sims_.empty()) slots_ = seam.slots, width_ = seam.width;
      if (seam.slots != slots_ || seam.width != width_)
        throw ConfigError("Worlds(): networks with " + std::to_string(slots_) + " and " + std::to_string(seam.slots) + " slots, " + std::to_string(width_) + " and " + std::to_string(seam.width) +
                          " features; they must agree");
      for (const Simulation* other : sims_)
        if (other == &sim) throw ConfigError("Worlds(): the same simulation twice; use fork()");
      sims_.push_back(&sim);
      held_.append(item);
      most += sim.batch().input_vc.size();
    }
    observation_.resize(most * width_);
    mask_.resize(most * slots_);
    for (auto* column : {&network_, &router_, &actions_}) column->resize(most);
    decision_.resize(most);
    counts_.assign(sims_.size(), 0);
    for (const Simulation* sim : sims_) filed_.push_back(sim->state().learning.transitions);
    for (u32 k = 0; k < sims_.size(); k++) take_over(k);
    waiting_ = count_ > 0;
  }
  // The simulations outlive it and must not write into its memory.
  ~Worlds() {
    for (Simulation* sim : sims_)
      if (is_ours(*sim)) own_rows(sim->network(), sim->batch());
  }
  Worlds(const Worlds&) = delete;
  Worlds& operator=(const Worlds&) = delete;

  // When a network raises, or Ctrl-C gets in, the others stay where they are: the next call takes the decisions that
  // stand.
  u32 collect(u64 most_cycles) {
    const Busy busy(*this);
    if (waiting_) throw CoreError("Worlds.collect() was called twice without apply()");
    count_ = 0;
    most_filed_ = 0;
    std::vector<std::unique_ptr<Exclusive>> held = hold();
    const py::gil_scoped_release release;
    // Rows that stand may lie where others will be written: away with them first.
    for (Simulation* sim : sims_)
      if (sim->state().totals.collected && is_ours(*sim)) own_rows(sim->network(), sim->batch());
    for (u32 k = 0; k < sims_.size(); k++) {
      try {
        advance(k, most_cycles);
      } catch (const CoreError& error) {
        count_ = 0;
        throw CoreError("Worlds: network " + std::to_string(k) + ": " + error.what());
      } catch (...) {
        count_ = 0;
        throw;
      }
      // A member may have been put back to an earlier state.
      const u64 filed = sims_[k]->state().learning.transitions;
      most_filed_ = std::max(most_filed_, filed - std::min(filed, filed_[k]));
      filed_[k] = filed;
    }
    waiting_ = count_ > 0;
    return count_;
  }

  using LogProbabilities = py::array_t<float, py::array::c_style | py::array::forcecast>;

  template <class T>
  void apply(const py::array_t<T, py::array::c_style>& choices,
             const std::optional<LogProbabilities>& log_probability) {
    const Busy busy(*this);
    if (!waiting_) throw CoreError("Worlds.apply() without decisions; call collect() first");
    if (choices.ndim() != 1 || choices.shape(0) != static_cast<py::ssize_t>(count_))
      throw ConfigError("Worlds.apply(): " + std::to_string(choices.size()) + " choices for " + std::to_string(count_) + " decisions");
    std::vector<std::unique_ptr<Exclusive>> held = hold();
    for (u32 k = 0; k < sims_.size(); k++) check_stands(k);
    const T* const given = choices.data();
    for (u32 j = 0, k = 0, at = 0; j < count_; j++) {
      while (j >= at + counts_[k]) at += counts_[k++];
      if (given[j] < 0 || static_cast<u64>(given[j]) >= sims_[k]->batch().decisions.slot_count[j - at])
        throw ConfigError("Worlds.apply(): slot " + std::to_string(given[j]) + " of decision " + std::to_string(j) + " is masked out");
      actions_[j] = static_cast<u32>(given[j]);
    }
    const float* const told = log_probability ? log_probability->data() : nullptr;
    if (told) check_log_probabilities(*log_probability);
    const py::gil_scoped_release release;
    // All of them are applied, also when one raises: who has not been told can go on after the next collect().
    std::string raised;
    u32 at = 0;
    for (u32 k = 0; k < sims_.size(); k++) {
      if (counts_[k] == 0) continue;
      try {
        sims_[k]->apply(&actions_[at], counts_[k], told ? told + at : nullptr);
      } catch (const CoreError& error) {
        raised += (raised.empty() ? "" : "\n") + ("Worlds: network " + std::to_string(k) + ": ") + error.what();
      }
      at += counts_[k];
    }
    waiting_ = false;
    if (!raised.empty()) throw CoreError(raised);
  }

  // Rows that are decisions now are written; the others are left from before.
  py::array path_delay(const py::object& self) {
    const Busy busy(*this);
    if (path_delay_.empty()) path_delay_.resize(mask_.size());
    std::size_t at = 0;
    for (u32 k = 0; waiting_ && k < sims_.size(); k++) {
      const Exclusive alone(*sims_[k]);
      if (counts_[k]) path_delays(sims_[k]->network(), sims_[k]->state(), sims_[k]->batch(), &path_delay_[at * slots_]);
      at += counts_[k];
    }
    return view(path_delay_, {rows(), static_cast<py::ssize_t>(slots_)}, self);
  }

  u32 count() const { return count_; }
  u64 most_filed() const { return most_filed_; }
  // These two can be written to, as what makes tensors of arrays wants them: nothing follows what stands there.
  py::array observation(const py::object& self) const {
    return py::array_t<float>({rows(), static_cast<py::ssize_t>(width_)}, observation_.data(), self);
  }
  py::array mask(const py::object& self) const {
    return py::array(py::dtype("bool"), {rows(), static_cast<py::ssize_t>(slots_)}, {}, mask_.data(), self);
  }
  py::array network(const py::object& self) const { return view(network_, {rows()}, self); }
  py::array router(const py::object& self) const { return view(router_, {rows()}, self); }
  py::array decision(const py::object& self) const { return view(decision_, {rows()}, self); }
  py::list simulations() const { return py::list(held_[py::slice(0, static_cast<py::ssize_t>(held_.size()), 1)]); }

 private:
  // Two threads in one Worlds would share its rows.
  struct Busy {
    explicit Busy(Worlds& worlds) : busy(worlds.busy_) {
      if (busy) throw CoreError("this Worlds is busy in another thread; wait until it is done");
      busy = true;
    }
    ~Busy() { busy = false; }
    bool& busy;  // touched with the GIL held
  };

  // All of the simulations, taken with the GIL held.
  std::vector<std::unique_ptr<Exclusive>> hold() const {
    std::vector<std::unique_ptr<Exclusive>> held;
    for (Simulation* sim : sims_) held.push_back(std::make_unique<Exclusive>(*sim));
    return held;
  }

  bool is_ours(Simulation& sim) const {
    const float* const at = sim.batch().decisions.observation;
    return at >= observation_.data() && at < observation_.data() + observation_.size();
  }

  // Network k goes on to its next decisions, if it has none; they become the next rows.
  void advance(u32 k, u64 most_cycles) {
    Simulation& sim = *sims_[k];
    Batch& b = sim.batch();
    const bool stands = sim.state().totals.collected;
    if (stands && b.decisions.count > 0) {
      std::copy_n(b.decisions.observation, std::size_t{b.decisions.count} * width_, observation_.data() +
          std::size_t{count_} * width_);
      std::copy_n(b.decisions.mask, std::size_t{b.decisions.count} * slots_, mask_.data() +
          std::size_t{count_} * slots_);
    }
    b.decisions.observation = observation_.data() + std::size_t{count_} * width_;
    b.decisions.mask = mask_.data() + std::size_t{count_} * slots_;
    counts_[k] = stands ? b.decisions.count : 0;
    if (stands && counts_[k] == 0) sim.apply(nullptr, 0);
    for (u64 cycle = 0; counts_[k] == 0 && cycle < most_cycles; cycle++) {
      counts_[k] = sim.collect();
      if (counts_[k] > 0) break;
      sim.apply(nullptr, 0);
      look_up();
    }
    add_rows(k);
  }

  // Lets Ctrl-C in some twenty times a second, however long a cycle takes.
  void look_up() {
    if (++cycles_ % 16 != 0) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - looked_up_ < std::chrono::milliseconds(50)) return;
    looked_up_ = now;
    const py::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  }

  // Somebody may have gone on with a member, or have put another state into it.
  void check_stands(u32 k) {
    if (counts_[k] == 0) return;
    Simulation& sim = *sims_[k];
    if (sim.state().totals.collected && sim.batch().decisions.count == counts_[k] && is_ours(sim)) return;
    waiting_ = false;
    throw CoreError("Worlds.apply(): network " + std::to_string(k) +
        " no longer stands where collect() left it; call collect() again");
  }

  // The decisions of network k become the next rows; their numbers are those by which the transitions name them.
  void add_rows(u32 k) {
    Simulation& sim = *sims_[k];
    const Batch& b = sim.batch();
    const u64 first = sim.state().learning.decisions;
    for (u32 j = 0; j < counts_[k]; j++) {
      network_[count_ + j] = k;
      router_[count_ + j] = b.router[b.decisions.request[j]];
      decision_[count_ + j] = first + j;
    }
    count_ += counts_[k];
  }
  // A simulation that stands between collect() and apply(), of a copy for instance: its rows come here.
  void take_over(u32 k) {
    Simulation& sim = *sims_[k];
    if (!sim.state().totals.collected) return;
    Decisions& d = sim.batch().decisions;
    if (d.count == 0) return;  // collect() goes on from there
    float* const rows = observation_.data() + std::size_t{count_} * width_;
    u8* const mask = mask_.data() + std::size_t{count_} * slots_;
    std::copy_n(d.observation, std::size_t{d.count} * width_, rows);
    std::copy_n(d.mask, std::size_t{d.count} * slots_, mask);
    d.observation = rows;
    d.mask = mask;
    counts_[k] = d.count;
    add_rows(k);
  }
  void check_log_probabilities(const LogProbabilities& given) const {
    if (given.ndim() != 1 || given.shape(0) != static_cast<py::ssize_t>(count_))
      throw ConfigError("Worlds.apply(): " + std::to_string(given.size()) + " log-probabilities for " +
                        std::to_string(count_) + " decisions");
    for (u32 j = 0; j < count_; j++)  // what rounding makes of a certain one is let through
      if (!(given.data()[j] <= 1e-4f))
        throw ConfigError("Worlds.apply(): log_probability " + std::to_string(given.data()[j]) + " of decision " +
                          std::to_string(j) + " is not the logarithm of a probability");
  }
  py::ssize_t rows() const { return static_cast<py::ssize_t>(network_.size()); }

  py::list held_;
  std::vector<Simulation*> sims_;
  u32 slots_ = 0, width_ = 0, count_ = 0;
  bool waiting_ = false, busy_ = false;
  u64 cycles_ = 0;
  std::chrono::steady_clock::time_point looked_up_;
  std::vector<float> observation_, path_delay_;
  std::vector<u8> mask_;
  std::vector<u32> network_, router_, actions_, counts_;
  std::vector<u64> decision_, filed_;
  u64 most_filed_ = 0;  // transitions of a network between the last two collect()
};

// Packet-us from packet-cycles, by some grouping of the terminals.
template <class Group>
py::array_t<double> accrued(Simulation& sim, u32 groups, Group&& group) {
  const std::vector<double>& delay = sim.accrued_delay();
  py::array_t<double> out(static_cast<py::ssize_t>(groups));
  double* const sums = out.mutable_data();
  std::fill_n(sums, groups, 0.0);
  for (u32 t = 0; t < delay.size(); t++)
    if (const u32 g = group(t); g < groups) sums[g] += delay[t] * sim.network().cycle_ns * 1e-3;
  return out;
}

template <class T>
using Choices = py::array_t<T, py::array::c_style>;
using Told = std::optional<Worlds::LogProbabilities>;

}  // namespace

void bind_learning(py::module_& m, py::class_<Simulation>& simulation) {
  simulation.def("seam", alone([](Simulation& s) { return seam_facts(s); }))
      .def("decisions", [](Live<Simulation> live) { return decisions(live); }, kDecisionsDoc)
      .def("transitions", [](Live<Simulation> live) { return transitions(live); }, kTransitionsDoc)
      .def_property_readonly("transition_count", alone([](Simulation& s) { return s.state().learning.transitions; }))
      .def_property_readonly("decision_count", alone([](Simulation& s) { return s.state().learning.decisions; }))
      .def("accrued_delay_us", alone([](Simulation& s) { return accrued(s, 1, [](u32) { return 0u; }).at(0); }))
      .def("accrued_delay_by_router_us", alone([](Simulation& s) {
        return accrued(s, s.network().routers, [&](u32 t) { return s.network().terminal_router[t]; });
      }))
      .def("accrued_delay_by_job_us", alone([](Simulation& s) {
        const Workload* const w = s.network().workload.get();
        return accrued(s, w ? w->job_count() : 1, [&](u32 t) { return !w ? 0u : w->terminal_rank[t] == kNone ? kNone : w->rank_job[w->terminal_rank[t]]; });
      }))
      .def_property_readonly("job_slowdown", [](Live<Simulation> live) {
        const Exclusive held(*live);
        return view(live->state().job_slowdown, live.owner());
      })
      .def_property(
          "epsilon", alone([](Simulation& s) { return s.state().learning.epsilon; }), alone([](Simulation& s,
              double epsilon) {
            if (!(epsilon >= 0 && epsilon <= 1)) throw ConfigError("epsilon: " + std::to_string(epsilon) + " is no probability");
            s.state().learning.epsilon = epsilon;
          }))
      .def_property(
          "temperature", alone([](Simulation& s) { return s.state().learning.temperature; }), alone([](Simulation& s,
              double temperature) {
            if (!(temperature >= 0 && temperature <= 1e6)) throw ConfigError("temperature: " + std::to_string(temperature) + " is outside 0 .. 1e6");
            s.state().learning.temperature = temperature;
          }))
      .def("set_policy", alone([](Simulation& s, const Layers& layers) { set_policy(s, layers); }), py::arg("layers"))
      .def("policy_scores", alone([](Simulation& s, const Matrix& observation) { return scores(s, observation); }),
          py::arg("observation"))
      .def("feedback", alone([](Simulation& sim) {
        const auto& heard = sim.state().heard;
        const auto n = static_cast<py::ssize_t>(heard.size());
        py::array_t<u32> router(n), port(n), row(n);
        py::array_t<float> target(n);
        for (py::ssize_t k = 0; k < n; k++) {
          const FeedbackEvent& e = heard[static_cast<std::size_t>(k)];
          router.mutable_at(k) = sim.network().router_of_port(e.port);
          port.mutable_at(k) = sim.network().local_port(e.port);
          row.mutable_at(k) = e.row;
          target.mutable_at(k) = e.target;
        }
        py::dict d;
        d["router"] = router;
        d["port"] = port;
        d["row"] = row;
        d["target"] = target;
        return d;
      }));

  py::class_<Worlds>(m, "Worlds")
      .def(py::init<const py::list&>(), py::arg("simulations"))
      .def("collect", [](Live<Worlds> w, u64 most_cycles) { return w->collect(most_cycles); }, py::arg("max_cycles"))
      .def("apply", [](Live<Worlds> w, const Choices<i64>& choices, const Told& told) { w->apply(choices, told); },
          py::arg("actions").noconvert(), py::arg("log_probability") = py::none())
      .def("apply", [](Live<Worlds> w, const Choices<i32>& choices, const Told& told) { w->apply(choices, told); },
          py::arg("actions").noconvert(), py::arg("log_probability") = py::none())
      .def("apply", [](Live<Worlds> w, const Choices<i64>& choices, const Told& told) { w->apply(choices, told); },
          py::arg("actions"), py::arg("log_probability") = py::none())
      .def("path_delay_us", [](Live<Worlds> w) { return w->path_delay(w.owner()); })
      .def_property_readonly("count", [](Live<Worlds> w) { return w->count(); })
      .def_property_readonly("most_filed", [](Live<Worlds> w) { return w->most_filed(); })
      .def_property_readonly("observation", [](Live<Worlds> w) { return w->observation(w.owner()); })
      .def_property_readonly("mask", [](Live<Worlds> w) { return w->mask(w.owner()); })
      .def_property_readonly("network", [](Live<Worlds> w) { return w->network(w.owner()); })
      .def_property_readonly("router", [](Live<Worlds> w) { return w->router(w.owner()); })
      .def_property_readonly("decision", [](Live<Worlds> w) { return w->decision(w.owner()); })
      .def_property_readonly("simulations", [](Live<Worlds> w) { return w->simulations(); });
}
