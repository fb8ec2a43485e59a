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
  // as in send_news()
  d["news_cycles"] = 2 + static_cast<u64>(sim.network().graphs[0]->longest_flight_ns / sim.network().cycle_ns);
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
  if (seam.capacity == 0)
    throw ConfigError("transitions(): none are kept; set routing.record to the number that shall be");
  const State& s = sim.state();
  const auto n = static_cast<py::ssize_t>(seam.capacity), width = static_cast<py::ssize_t>(seam.width),
             slots = static_cast<py::ssize_t>(seam.slots);
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

const char* const kTransitionsDoc =
    R"(The ring of transitions, decisions with what came of them: views of the core's memory.

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
`apply()` (of a simulation in `SimulationBatch` the first two are copies), the others copies.

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
// memory of SimulationBatch, which may go before the simulation does or after it, they are copies.
py::dict decisions(const Live<Simulation>& live) {
  const Exclusive held(*live);
  Simulation& sim = *live;
  const py::object self = live.owner();
  const Seam& seam = seam_of(sim, "decisions()");
  if (!sim.state().part.totals.collected) throw CoreError("decisions(): there are none before collect()");
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
  const std::vector<py::ssize_t> rows{n, static_cast<py::ssize_t>(seam.width)},
      slots{n, static_cast<py::ssize_t>(seam.slots)};
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
  if (shape.layers.empty())
    throw ConfigError("set_policy(): routing." + sim.network().routing_name + " has no network; use routing=policy");
  if (layers.size() + 1 != shape.layers.size())
    throw ConfigError("set_policy(): " + std::to_string(layers.size()) + " layers, the policy has " +
                      std::to_string(shape.layers.size() - 1));
  for (u32 l = 0; l < layers.size(); l++) {
    const auto& [weight, bias] = layers[l];
    const py::ssize_t in = shape.layers[l], out = shape.layers[l + 1];
    if (weight.ndim() != 2 || weight.shape(0) != out || weight.shape(1) != in || bias.ndim() != 1 ||
        bias.shape(0) != out)
      throw ConfigError("set_policy(): layer " + std::to_string(l) + " needs weights of shape (" + std::to_string(out) +
                        ", " + std::to_string(in) + ") and as many biases as outputs");
    for (const Matrix* m : {&weight, &bias})
      for (py::ssize_t k = 0; k < m->size(); k++)
        if (!std::isfinite(m->data()[k]))
          throw ConfigError("set_policy(): layer " + std::to_string(l) + " holds a weight that is not finite");
  }
  for (u32 l = 0; l < layers.size(); l++)
    load_layer(shape, l, layers[l].first.data(), layers[l].second.data(), sim.state().weights.data());
}

py::array_t<float> scores(Simulation& sim, const Matrix& observation) {
  const Seam& seam = seam_of(sim, "policy_scores()");
  if (seam.policy.layers.empty())
    throw ConfigError("policy_scores(): routing." + sim.network().routing_name + " has no network; use routing=policy");
  if (observation.ndim() != 2 || observation.shape(1) != static_cast<py::ssize_t>(seam.width))
    throw ConfigError("policy_scores(): observations are rows of " + std::to_string(seam.width) + " features");
  Matrix out({observation.shape(0), static_cast<py::ssize_t>(seam.slots)});
  policy_scores(sim.network(), sim.state(), observation.data(), static_cast<u32>(observation.shape(0)),
                out.mutable_data());
  return out;
}

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

}  // namespace

void bind_learning(py::class_<Simulation>& simulation) {
  simulation.def("seam", alone([](Simulation& s) { return seam_facts(s); }))
      .def(
          "decisions", [](Live<Simulation> live) { return decisions(live); }, kDecisionsDoc)
      .def(
          "transitions", [](Live<Simulation> live) { return transitions(live); }, kTransitionsDoc)
      .def_property_readonly("transition_count",
                             alone([](Simulation& s) { return s.state().part.learning.transitions; }))
      .def_property_readonly("decision_count", alone([](Simulation& s) { return s.state().part.learning.decisions; }))
      .def("accrued_delay_us", alone([](Simulation& s) { return accrued(s, 1, [](u32) { return 0u; }).at(0); }),
           "Packet-us up to now between when packets were due and when they were delivered, those still under way or "
           "kept\n"
           "away by a full NIC included; of a workload all that is still to be received counts, in packets of full "
           "size.")
      .def("accrued_delay_by_router_us", alone([](Simulation& s) {
             return accrued(s, s.network().routers, [&](u32 t) { return s.network().terminal_router[t]; });
           }),
           "The same per router of the source, [routers].")
      .def("accrued_delay_by_job_us", alone([](Simulation& s) {
             const Workload* const w = s.network().workload.get();
             const auto job = [&](u32 t) {
               const u32 rank = w ? w->terminal_rank[t] : 0;
               return !w ? 0u : rank == kNone ? kNone : w->rank_job[rank];
             };
             return accrued(s, w ? w->job_count() : 1, job);
           }),
           "The same per job, [jobs]; a traffic pattern is one.")
      .def_property("epsilon", alone([](Simulation& s) { return s.state().part.learning.epsilon; }),
                    alone([](Simulation& s, double epsilon) {
                      if (!(epsilon >= 0 && epsilon <= 1))
                        throw ConfigError("epsilon: " + std::to_string(epsilon) + " is no probability");
                      s.state().part.learning.epsilon = epsilon;
                    }))
      .def_property("temperature", alone([](Simulation& s) { return s.state().part.learning.temperature; }),
                    alone([](Simulation& s, double temperature) {
                      if (!(temperature >= 0 && temperature <= 1e6))
                        throw ConfigError("temperature: " + std::to_string(temperature) + " is outside 0 .. 1e6");
                      s.state().part.learning.temperature = temperature;
                    }))
      .def("set_policy", alone([](Simulation& s, const Layers& layers) { set_policy(s, layers); }), py::arg("layers"))
      .def("policy_scores", alone([](Simulation& s, const Matrix& observation) { return scores(s, observation); }),
           py::arg("observation"))
      .def("feedback", alone([](Simulation& sim) {
             const auto& heard = sim.state().part.heard;
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
}
