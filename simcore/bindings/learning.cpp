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
  // an upper bound of the delay in send_news(), for the first graph
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
    throw ConfigError("transitions(): no transitions are kept; set routing.record to the number to keep");
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
    R"(The replay buffer of the core: the last transitions, as views of the core's memory.

The n-th filed transition (n from 0) is in row n mod capacity. `transition_count` transitions have been filed. The
capacity is `routing.record`. A decision is filed when its reward is known *and* the feedback has travelled back to the
router that decided (the time of an empty path). The decisions of a packet are therefore filed in any order. New
transitions overwrite the oldest without a warning; `flitgym.env.Ring` reads the new ones and raises if any was lost.

    observation       float32 [capacity, width]  observation of the decision; `seam()` names the features
    mask              bool    [capacity, slots]  slots that held a candidate
    action            int64   [capacity]         slot chosen
    log_probability   float32 [capacity]         of the choice; NaN if an external agent did not give it
    reward            float32 [capacity]         us, negative; see `registered("reward")`
    done              bool    [capacity]         the packet was delivered without another decision
    next_observation  float32 [capacity, width]  observation of the packet's next decision; zeros if done
    next_mask         bool    [capacity, slots]  mask of the packet's next decision; all False if done
    decision          uint64  [capacity]         number of the decision, counted from 0 in this network
    next_decision     uint64  [capacity]         number of the packet's next decision, or `NO_DECISION`
    router            uint32  [capacity]         router that decided
    decided           uint32  [capacity]         cycle of the decision
    job               uint32  [capacity]         job of the packet; 0 without a workload

A reward that is paid on delivery (`end_to_end_delay`, `job_slowdown`) files all decisions of a packet at its delivery,
as `done`; `next_decision` still links them.

Raises:
    ConfigError: The routing asks no agent, or keeps no transitions.
)";

const char* const kDecisionsDoc = R"(The decisions of this cycle, between `collect()` and `apply()`.

Row j is decision number `decision_count` + j. `observation`, `mask`, `slots` and `port` are views that are valid until
`apply()`; the others are copies. For a simulation in a `SimulationBatch`, `observation` and `mask` are copies, too.

    observation  float32 [n, width]  `seam()` names the features
    mask         bool    [n, slots]  slots that hold a candidate; they come first
    slots        uint32  [n]         number of slots that hold a candidate
    port         uint16  [n, slots]  output port of each candidate, counted within the router; undefined elsewhere
    router       uint32  [n]         router that decides
    source       uint32  [n]         source terminal; `source` and `sequence` identify the packet
    destination  uint32  [n]         destination terminal
    sequence     uint32  [n]         number of the packet at its source
    hops         uint32  [n]         router-to-router hops that the packet has made

Raises:
    ConfigError: The routing asks no agent.
    CoreError: Called before `collect()`.
)";

// The decisions between collect() and apply(), as views. Rows in the memory of a SimulationBatch are copied, because
// the batch may be destroyed before the simulation.
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
  out["sequence"] = sequence;
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
    throw ConfigError("set_policy(): " + std::to_string(layers.size()) + " layers; the policy has " +
                      std::to_string(shape.layers.size() - 1));
  for (u32 l = 0; l < layers.size(); l++) {
    const auto& [weight, bias] = layers[l];
    const py::ssize_t in = shape.layers[l], out = shape.layers[l + 1];
    if (weight.ndim() != 2 || weight.shape(0) != out || weight.shape(1) != in || bias.ndim() != 1 ||
        bias.shape(0) != out)
      throw ConfigError("set_policy(): layer " + std::to_string(l) + " needs weights of shape (" + std::to_string(out) +
                        ", " + std::to_string(in) + ") and one bias per output");
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

// Converts packet-cycles to packet-us and sums them by a grouping of the terminals.
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
      .def_property_readonly("decision_count", alone([](Simulation& s) { return decisions_made(s.state()); }))
      .def("accrued_delay_us", alone([](Simulation& s) { return accrued(s, 1, [](u32) { return 0u; }).at(0); }),
           "Delay accrued up to now, in packet-us. A packet counts from the cycle in which it should be\n"
           "generated until it is delivered.\n"
           "Packets under way and packets waiting for a full NIC are included. For a workload, all data still to be\n"
           "received counts, in packets of full size.")
      .def("accrued_delay_by_router_us", alone([](Simulation& s) {
             return accrued(s, s.network().routers, [&](u32 t) { return s.network().terminal_router[t]; });
           }),
           "`accrued_delay_us()` per router of the source, float64 [routers].")
      .def("accrued_delay_by_job_us", alone([](Simulation& s) {
             const Workload* const w = s.network().workload.get();
             const auto job = [&](u32 t) {
               const u32 rank = w ? w->terminal_rank[t] : 0;
               return !w ? 0u : rank == kNone ? kNone : w->rank_job[rank];
             };
             return accrued(s, w ? w->job_count() : 1, job);
           }),
           "`accrued_delay_us()` per job, float64 [jobs]; a traffic pattern counts as one job.")
      .def_property("epsilon", alone([](Simulation& s) { return s.state().part.learning.epsilon; }),
                    alone([](Simulation& s, double epsilon) {
                      if (!(epsilon >= 0 && epsilon <= 1))
                        throw ConfigError("epsilon: " + std::to_string(epsilon) + " is not a probability");
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
             std::size_t n = 0;
             for (u32 k = 0; k < sim.network().partitions(); k++)
               n += partition(sim.state(), k).feedback_received.size();
             py::array_t<u32> router(n), port(n), row(n);
             py::array_t<float> target(n);
             py::ssize_t at = 0;
             for (u32 k = 0; k < sim.network().partitions(); k++)
               for (const FeedbackEvent& e : partition(sim.state(), k).feedback_received) {
                 router.mutable_at(at) = sim.network().router_of_port(e.port);
                 port.mutable_at(at) = sim.network().local_port(e.port);
                 row.mutable_at(at) = e.row;
                 target.mutable_at(at++) = e.target;
               }
             py::dict d;
             d["router"] = router;
             d["port"] = port;
             d["row"] = row;
             d["target"] = target;
             return d;
           }));
}
