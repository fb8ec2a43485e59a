#pragma once

#include <cmath>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>

#include "exclusive.hpp"
#include "simcore/team.hpp"

// Several networks whose decisions form one batch. Each network advances to its next cycle with a decision, so the
// networks may be at different cycles. With several threads, each advances the networks of its share. The rows of the
// batch are copies, because the place of a network's rows depends on the networks before it.
class SimulationBatch {
 public:
  // The caller may change its list later, so the simulations are held one by one.
  SimulationBatch(const py::list& simulations, u32 threads) : threads_(threads) {
    if (simulations.empty()) throw ConfigError("SimulationBatch(): the list of simulations is empty");
    std::size_t most = 0;
    for (const py::handle& item : simulations) {
      Simulation& sim = *held<Simulation>(item, "SimulationBatch(): simulation " + std::to_string(sims_.size()));
      const Exclusive alone(sim);
      const Seam& seam = seam_of(sim, "SimulationBatch()");
      if (sim.network().decider != Decider::kSlots)
        throw ConfigError("SimulationBatch(): routing.", sim.network().routing_name,
                          " does not ask an external agent; use routing=agent");
      if (sims_.empty()) slots_ = seam.slots, width_ = seam.width;
      if (seam.slots != slots_ || seam.width != width_)
        throw ConfigError("SimulationBatch(): networks with ", slots_, " and ", seam.slots, " slots, ", width_, " and ",
                          seam.width, " features; both numbers must be equal for all networks");
      for (const Simulation* other : sims_)
        if (other == &sim) throw ConfigError("SimulationBatch(): a simulation occurs twice in the list; use fork()");
      sims_.push_back(&sim);
      held_.append(item);
      most += sim.batch().input_vc.size();
    }
    observation_.resize(most * width_);
    mask_.resize(most * slots_);
    for (auto* column : {&network_, &router_, &actions_}) column->resize(most);
    decision_.resize(most);
    first_.assign(sims_.size(), 0);
    cycle_.assign(sims_.size(), 0);
    // A simulation between collect() and apply(), such as a copy, has pending decisions.
    for (u32 k = 0; k < sims_.size(); k++) {
      const State& s = sims_[k]->state();
      counts_.push_back(s.part.totals.collected ? sims_[k]->batch().decisions.count : 0);
      filed_.push_back(s.part.learning.transitions);
      add_rows(k);
    }
    waiting_ = count_ > 0;
  }
  SimulationBatch(const SimulationBatch&) = delete;
  SimulationBatch& operator=(const SimulationBatch&) = delete;

  // After an error or Ctrl-C, the networks keep the decisions that they have reached. The next call returns these.
  u32 collect(u64 most_cycles) {
    const Busy busy(busy_, "this SimulationBatch");
    if (waiting_) throw CoreError("SimulationBatch.collect() was called twice without apply()");
    const Holders held = hold();
    const py::gil_scoped_release release;
    return advance_all(most_cycles);
  }
  // The same up to cycle `end`, for a batch of one network. It also stops when the network is finished.
  u32 collect_before(double end) {
    const Busy busy(busy_, "this SimulationBatch");
    if (waiting_) throw CoreError("SimulationBatch.collect_before() was called twice without apply()");
    const Exclusive alone(only());
    const py::gil_scoped_release release;
    return advance_before(end);
  }

  // For a batch of one network, whose simulation the caller holds.
  Simulation& only() const {
    if (sims_.size() != 1) throw ConfigError("the SimulationBatch has several networks");
    return *sims_[0];
  }
  u32 advance_before(double end) {
    const Cycle& now = only().state().part.totals.now;
    count_ = 0;
    while (count_ == 0 && now < end && !finished())
      if (advance_all(static_cast<u64>(std::min<double>(kRound, std::ceil(end - now)))) == 0) check_signals();
    return count_;
  }
  // Whether the workload is done, the network empty, and every transition recorded.
  bool finished() const {
    const Simulation& sim = only();
    if (!sim.network().workload) return false;
    if (sim.workload_stuck()) throw CoreError("the ranks of the workload wait for ever:\n", sim.waiting(16));
    return sim.workload_finished() && sim.empty() &&
           sim.state().part.learning.transitions == decisions_made(sim.state());
  }
  // Applies choices that have candidates.
  void settle(const i64* choices) {
    check_stands(0);
    std::transform(choices, choices + count_, actions_.begin(), [](i64 slot) { return static_cast<u32>(slot); });
    waiting_ = false;
    only().apply(actions_.data(), count_);
  }

  using LogProbabilities = py::array_t<float, py::array::c_style | py::array::forcecast>;

  void apply(const py::array_t<i64, py::array::c_style>& choices,
             const std::optional<LogProbabilities>& log_probability) {
    const Busy busy(busy_, "this SimulationBatch");
    if (!waiting_) throw CoreError("SimulationBatch.apply() without decisions; call collect() first");
    if (choices.ndim() != 1 || choices.shape(0) != static_cast<py::ssize_t>(count_))
      throw ConfigError("SimulationBatch.apply(): ", choices.size(), " choices for ", count_, " decisions");
    const Holders held = hold();
    for (u32 k = 0; k < sims_.size(); k++) check_stands(k);
    const i64* const given = choices.data();
    for (u32 j = 0, k = 0, at = 0; j < count_; j++) {
      while (j >= at + counts_[k]) at += counts_[k++];
      const bool left = given[j] == -1 && sims_[k]->network().seam->background;
      if (!left && static_cast<u64>(given[j]) >= sims_[k]->batch().decisions.slot_count[j - at])
        throw ConfigError("SimulationBatch.apply(): slot ", given[j], " of decision ", j, " is masked out");
      actions_[j] = static_cast<u32>(given[j]);
    }
    const float* const logs = log_probability ? log_probability->data() : nullptr;
    if (logs) check_log_probabilities(*log_probability);
    const py::gil_scoped_release release;
    // All networks are applied even if one raises. The others can continue after the next collect().
    const Errors raised = on_all_threads([&](u32 k) {
      if (counts_[k] > 0) sims_[k]->apply(&actions_[first_[k]], counts_[k], logs ? logs + first_[k] : nullptr);
    });
    waiting_ = false;
    rethrow(raised);
  }

  // A delay of each slot. Only the rows of present decisions are written.
  using Measure = float (*)(const Network&, const State&, const Batch&, u32, u32);
  py::array delays(std::vector<float>& of_slots, Measure measure) {
    const Busy busy(busy_, "this SimulationBatch");
    of_slots.resize(mask_.size());
    for (u32 k = 0, at = 0; waiting_ && k < sims_.size(); k++) {
      const Exclusive alone(*sims_[k]);
      const Batch& b = sims_[k]->batch();
      for (u32 j = 0; j < counts_[k]; j++, at++)
        for (u32 slot = 0; slot < slots_; slot++)
          of_slots[std::size_t{at} * slots_ + slot] =
              slot < b.decisions.slot_count[j] ? measure(sims_[k]->network(), sims_[k]->state(), b, j, slot) : 0;
    }
    return view(of_slots.data(), shape(network_.size(), slots_), owner_of(*this));
  }
  py::array path_delays() { return delays(path_delay_, path_delay); }
  py::array tolled_delays() {
    for (const Simulation* sim : sims_) tolled_block(sim->network());  // without decisions, too
    return delays(tolled_delay_, tolled_delay);
  }

  u32 count() const { return count_; }
  u64 most_filed() const { return most_filed_; }
  // These two arrays are writable, because libraries that wrap arrays as tensors ask for that. Nothing reads what is
  // written there.
  py::array observation() { return py::array(shape(network_.size(), width_), observation_.data(), owner_of(*this)); }
  py::array mask() {
    return py::array(py::dtype("bool"), shape(network_.size(), slots_), {}, mask_.data(), owner_of(*this));
  }
  py::array network() { return view(network_, owner_of(*this)); }
  py::array router() { return view(router_, owner_of(*this)); }
  py::array decision() { return view(decision_, owner_of(*this)); }
  py::list simulations() const { return py::list(held_.attr("copy")()); }

 private:
  // Cycles of a network without a decision between two checks for Ctrl-C.
  static constexpr u64 kRound = 1024;

  // Takes all simulations, with the GIL held.
  using Holders = std::deque<Exclusive>;
  Holders hold() const {
    Holders held;
    for (Simulation* sim : sims_) held.emplace_back(*sim);
    return held;
  }

  using Errors = std::vector<std::exception_ptr>;  // by network, null without an error; empty if there is none

  // The number of threads that share the networks. Starts them if they do not exist yet.
  u32 team_size() {
    const u32 wanted = std::min<u32>(threads_, static_cast<u32>(sims_.size()));
    if (wanted > 1 && (!team_ || !team_->here())) team_ = std::make_unique<Team>(wanted);
    return team_ ? team_->size() : 1;
  }
  // Calls work(k) for every network k, also after an error of another network.
  template <class Work>
  Errors on_all_threads(const Work& work) {
    Errors raised;
    std::mutex mutex;
    const u32 size = team_size();
    const auto work_share = [&](u32 i) {
      for (std::size_t k = sims_.size() * i / size; k < sims_.size() * (i + 1) / size; k++) {
        try {
          work(static_cast<u32>(k));
        } catch (...) {
          const std::lock_guard lock(mutex);
          raised.resize(sims_.size());
          raised[k] = std::current_exception();
        }
      }
    };
    if (size > 1) team_->run(work_share);
    else work_share(0);
    return raised;
  }
  // Throws the errors of all networks as one.
  static void rethrow(const Errors& raised) {
    std::string messages;
    for (u32 k = 0; k < raised.size(); k++) {
      if (!raised[k]) continue;
      try {
        std::rethrow_exception(raised[k]);
      } catch (const CoreError& error) {
        messages +=
            (messages.empty() ? "" : "\n") + ("SimulationBatch: network " + std::to_string(k)) + ": " + error.what();
      }
    }
    if (!messages.empty()) throw CoreError(messages);
  }

  // Advances every network to its next decisions unless it has pending ones. The threads work in rounds, and Ctrl-C
  // ends a round.
  u32 advance_all(u64 most_cycles) {
    counts_.assign(sims_.size(), 0);
    count_ = 0;
    most_filed_ = 0;
    u64 done = 0;
    do {
      if (done > 0) check_signals();
      rethrow(on_all_threads([&](u32 k) {
        if (counts_[k] == 0) advance(k, std::min<u64>(kRound, most_cycles - done));
      }));
      done += kRound;
    } while (done < most_cycles && std::ranges::count(counts_, 0u) > 0);
    for (u32 k = 0; k < sims_.size(); k++) {
      add_rows(k);
      // After a restore to an earlier state, a simulation has filed fewer transitions than before.
      const u64 filed = sims_[k]->state().part.learning.transitions;
      most_filed_ = std::max(most_filed_, filed - std::min(filed, filed_[k]));
      filed_[k] = filed;
    }
    waiting_ = count_ > 0;
    return count_;
  }
  void advance(u32 k, u64 most_cycles) {
    Simulation& sim = *sims_[k];
    const bool stands = sim.state().part.totals.collected;
    counts_[k] = stands ? sim.batch().decisions.count : 0;
    if (stands && counts_[k] == 0) sim.apply(nullptr, 0);
    for (u64 cycle = 0; counts_[k] == 0 && cycle < most_cycles; cycle++) {
      counts_[k] = sim.collect();
      if (counts_[k] == 0) sim.apply(nullptr, 0);
    }
  }

  // Another caller may have advanced a simulation, or restored another state.
  void check_stands(u32 k) {
    if (counts_[k] == 0) return;
    const State& s = sims_[k]->state();
    const Batch& b = sims_[k]->batch();
    if (s.part.totals.collected && b.now == cycle_[k] && b.decisions.count == counts_[k] &&
        decisions_made(s) == decision_[first_[k]])
      return;
    waiting_ = false;
    throw CoreError("SimulationBatch.apply(): network ", k,
                    " was advanced or restored after collect(); call collect() again");
  }

  // Appends the decisions of network k as the next rows, with the numbers that their transitions will have.
  void add_rows(u32 k) {
    const Batch& b = sims_[k]->batch();
    const u64 first = decisions_made(sims_[k]->state());
    const std::size_t row = count_, rows = counts_[k];
    std::copy_n(b.decisions.observation.begin(), rows * width_, observation_.data() + row * width_);
    std::copy_n(b.decisions.mask.begin(), rows * slots_, mask_.data() + row * slots_);
    first_[k] = count_;
    cycle_[k] = b.now;
    for (u32 j = 0; j < counts_[k]; j++) {
      network_[count_ + j] = k;
      router_[count_ + j] = b.router[b.decisions.request[j]];
      decision_[count_ + j] = first + j;
    }
    count_ += counts_[k];
  }
  void check_log_probabilities(const LogProbabilities& given) const {
    if (given.ndim() != 1 || given.shape(0) != static_cast<py::ssize_t>(count_))
      throw ConfigError("SimulationBatch.apply(): ", given.size(), " log-probabilities for ", count_, " decisions");
    for (u32 j = 0; j < count_; j++)  // above 0 by the rounding of a probability of 1
      if (!(given.data()[j] <= 1e-4f))
        throw ConfigError("SimulationBatch.apply(): log_probability ", given.data()[j], " of decision ", j,
                          " is not the logarithm of a probability");
  }

  py::list held_;
  std::vector<Simulation*> sims_;
  const u32 threads_;
  std::unique_ptr<Team> team_;  // made when it is first needed
  u32 slots_ = 0, width_ = 0, count_ = 0;
  bool waiting_ = false, busy_ = false;
  std::vector<float> observation_, path_delay_, tolled_delay_;
  std::vector<u8> mask_;
  std::vector<u32> network_, router_, actions_;
  std::vector<u32> counts_, first_;  // rows of each network, and its first row
  std::vector<Cycle> cycle_;         // of each network's decisions
  std::vector<u64> decision_, filed_;
  u64 most_filed_ = 0;  // most transitions that a network filed between the last two collect()
};
