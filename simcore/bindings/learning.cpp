#include <cmath>

#include "exclusive.hpp"
#include "simcore/control.hpp"
#include "simcore/registry.hpp"
#include "simcore/workload.hpp"

static py::dict feature(const Feature& f) {
  return py::dict("name"_a = f.name, "low"_a = f.low, "high"_a = f.high, "doc"_a = f.doc);
}

static py::dict seam_facts(const Simulation& sim) {
  const Seam& seam = seam_of(sim, "seam()");
  py::list general, per_slot;
  std::string observation;
  for (const ObservationSpec* block : seam.blocks) {
    observation += (observation.empty() ? "" : "+") + block->name;
    for (Feature f : block->general) f.name = block->name + "." + f.name, general.append(feature(f));
    for (Feature f : block->per_slot) f.name = block->name + "." + f.name, per_slot.append(feature(f));
  }
  py::dict d;
  d["slots"] = seam.slots;
  d["width"] = seam.width;
  d["general"] = general;
  d["per_slot"] = per_slot;
  d["observation"] = observation;
  d["reward"] = seam.reward->name;
  d["relation"] = seam.relation;
  d["capacity"] = seam.capacity;
  // an upper bound of the delay in send_news(), for the first graph
  d["news_cycles"] = 2 + static_cast<u64>(sim.network().graphs[0]->longest_flight_ns / sim.network().cycle_ns);
  d["network"] = seam.policy.layers.empty() ? "" : seam.policy.per_slot ? "slots" : "flat";
  d["layers"] = seam.policy.layers;
  d["topology"] = sim.network().topology_name;
  return d;
}

static py::dict transitions(Simulation& sim) {
  const py::object self = owner_of(sim);
  const Seam& seam = seam_of(sim, "transitions()");
  if (seam.capacity == 0)
    throw ConfigError("transitions(): no transitions are kept; set routing.record to the number to keep");
  const State& s = sim.state();
  const Shape rows = shape(seam.capacity, seam.width), slots = shape(seam.capacity, seam.slots);
  py::dict d;
  d["observation"] = view(s.ring_observation.data(), rows, self);
  d["next_observation"] = view(s.ring_next_observation.data(), rows, self);
  d["mask"] = flags(s.ring_mask.data(), slots, self);
  d["next_mask"] = flags(s.ring_next_mask.data(), slots, self);
  d["action"] = view(s.ring_action, self);
  d["reward"] = view(s.ring_reward, self);
  d["done"] = flags(s.ring_done.data(), shape(seam.capacity), self);
  d["log_probability"] = view(s.ring_log_probability, self);
  d["decision"] = view(s.ring_decision, self);
  d["next_decision"] = view(s.ring_next_decision, self);
  d["router"] = view(s.ring_router, self);
  d["decided"] = view(s.ring_decided, self);
  d["job"] = view(s.ring_job, self);
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
`apply()`; the others are copies.

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

// The decisions between collect() and apply(), as views.
static py::dict decisions(Simulation& sim) {
  const py::object self = owner_of(sim);
  const Seam& seam = seam_of(sim, "decisions()");
  if (!sim.state().part.totals.collected) throw CoreError("decisions(): there are none before collect()");
  const Batch& b = sim.batch();
  const Decisions& d = b.decisions;
  std::vector<u32> router, packets;
  for (u32 j = 0; j < d.count; j++) {
    router.push_back(b.router[d.request[j]]);
    packets.push_back(b.packet[d.request[j]]);
  }
  py::dict out = packet_columns(sim.state(), packets, d.count);
  const Shape rows = shape(d.count, seam.width), slots = shape(d.count, seam.slots);
  out["observation"] = view(d.observation.data(), rows, self);
  out["mask"] = flags(d.mask.data(), slots, self);
  out["slots"] = view(d.slot_count.data(), shape(d.count), self);
  out["port"] = view(d.ports.data(), slots, self);
  out["router"] = copied(router);
  return out;
}

static const Seam& seam_with_network(const Simulation& sim, const char* what) {
  const Seam& seam = seam_of(sim, what);
  if (seam.policy.layers.empty())
    throw ConfigError(what, ": routing.", sim.network().routing_name, " has no network; use routing=policy");
  return seam;
}

using Matrix = py::array_t<float, py::array::c_style | py::array::forcecast>;

using Layers = std::vector<std::pair<Matrix, Matrix>>;

static void set_policy(Simulation& sim, const Layers& layers) {
  const PolicyShape& shape = seam_with_network(sim, "set_policy()").policy;
  if (layers.size() + 1 != shape.layers.size())
    throw ConfigError("set_policy(): ", layers.size(), " layers; the policy has ", shape.layers.size() - 1);
  for (u32 l = 0; l < layers.size(); l++) {
    const auto& [weight, bias] = layers[l];
    const py::ssize_t in = shape.layers[l], out = shape.layers[l + 1];
    if (weight.ndim() != 2 || weight.shape(0) != out || weight.shape(1) != in || bias.ndim() != 1 ||
        bias.shape(0) != out)
      throw ConfigError("set_policy(): layer ", l, " needs weights of shape (", out, ", ", in,
                        ") and one bias per output");
    for (const Matrix* m : {&weight, &bias})
      for (py::ssize_t k = 0; k < m->size(); k++)
        if (!std::isfinite(m->data()[k]))
          throw ConfigError("set_policy(): layer ", l, " holds a weight that is not finite");
  }
  for (u32 l = 0; l < layers.size(); l++)
    load_layer(shape, l, layers[l].first.data(), layers[l].second.data(), sim.state().weights.data());
}

static py::array_t<float> scores(Simulation& sim, const Matrix& observation) {
  const Seam& seam = seam_with_network(sim, "policy_scores()");
  if (observation.ndim() != 2 || observation.shape(1) != static_cast<py::ssize_t>(seam.width))
    throw ConfigError("policy_scores(): observations are rows of ", seam.width, " features");
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

static void set_epsilon(Simulation& sim, double epsilon) {
  if (!(epsilon >= 0 && epsilon <= 1)) throw ConfigError("epsilon: ", epsilon, " is not a probability");
  sim.state().part.learning.epsilon = epsilon;
}

static void set_temperature(Simulation& sim, double temperature) {
  if (!(temperature >= 0 && temperature <= 1e6))
    throw ConfigError("temperature: ", temperature, " is outside 0 .. 1e6");
  sim.state().part.learning.temperature = temperature;
}

static const Control& control_of_agent(const Simulation& sim) {
  const auto& control = sim.network().control;
  if (!control || !control->period)
    throw ConfigError("no agent decides about windows; use congestion_control=agent without a path");
  return *control;
}

static py::dict window_seam() {
  py::list general;
  for (const Feature& f : congestion::agent::features) general.append(feature(f));
  return py::dict("general"_a = general, "per_slot"_a = py::list(), "width"_a = general.size(),
                  "slots"_a = congestion::agent::factors.size(), "factors"_a = congestion::agent::factors);
}

// Numbers of the flows that ask for a decision, source * Control::flows + flow, and their rows.
static py::tuple window_decisions(Simulation& sim) {
  const Control& control = control_of_agent(sim);
  const State& s = sim.state();
  std::vector<u32> numbers;
  for (const Acknowledgements& own : s.acknowledgements)
    for (const u32 k : own.asking)
      if (congestion::agent::asks(control, s.sender_flows[k], s.part.totals.now)) numbers.push_back(k);
  std::ranges::sort(numbers);
  py::array_t<float> rows(shape(numbers.size(), congestion::agent::features.size()));
  for (std::size_t j = 0; j < numbers.size(); j++)
    congestion::agent::observe(control, s.sender_flows[numbers[j]], s.part.totals.now,
                               rows.mutable_data(static_cast<py::ssize_t>(j)));
  return py::make_tuple(copied(numbers), rows);
}

static void decide_windows(Simulation& sim, const py::array_t<u32, py::array::c_style>& numbers,
                           const py::array_t<i64, py::array::c_style>& factors) {
  const Control& control = control_of_agent(sim);
  State& s = sim.state();
  if (factors.size() != numbers.size())
    throw ConfigError("windows: ", factors.size(), " actions for ", numbers.size(), " flows");
  // apply() of the batch refuses actions out of range before it changes a network. Here a wrong one must not read
  // memory.
  for (py::ssize_t k = 0; k < numbers.size(); k++)
    if (numbers.at(k) >= s.sender_flows.size() ||
        static_cast<u64>(factors.at(k)) >= congestion::agent::factors.size() ||
        !congestion::agent::asks(control, s.sender_flows[numbers.at(k)], s.part.totals.now))
      throw CoreError("windows: flow ", numbers.at(k), " does not ask for a decision now");
  for (py::ssize_t k = 0; k < numbers.size(); k++)
    congestion::agent::decide(control, s.sender_flows[numbers.at(k)], s.part.totals.now,
                              static_cast<u32>(factors.at(k)));
  for (Acknowledgements& own : s.acknowledgements)
    std::erase_if(own.asking, [&](u32 k) { return s.sender_flows[k].next == 0; });
}

struct FeedbackRow {
  u32 router, port, row;
  float target;
};

static py::dict feedback_of(Simulation& sim) {
  const Network& net = sim.network();
  std::vector<FeedbackRow> rows;
  for (u32 k = 0; k < net.partitions(); k++)
    for (const FeedbackEvent& e : partition(sim.state(), k).feedback_received)
      rows.push_back({net.router_of_port(e.port), net.local_port(e.port), e.row, e.target});
  return columns(rows);
}

py::dict packet_columns(const State& s, const std::vector<u32>& packets, std::size_t count) {
  const auto column = [&](auto&& field) {
    py::array_t<u32> out(static_cast<py::ssize_t>(count));
    for (std::size_t k = 0; k < count; k++) out.mutable_data()[k] = field(s.packets[packets[k]]);
    return out;
  };
  py::dict d;
  d["source"] = column([](const Packet& p) { return p.source; });
  d["destination"] = column([](const Packet& p) { return p.destination; });
  d["sequence"] = column([](const Packet& p) { return p.sequence; });
  d["hops"] = column([](const Packet& p) { return p.hops; });
  return d;
}

void bind_learning(PySimulation& simulation) {
  PYBIND11_NUMPY_DTYPE(FeedbackRow, router, port, row, target);
  simulation.def("seam", alone(seam_facts))
      .def("decisions", alone(decisions), kDecisionsDoc)
      .def("transitions", alone(transitions), kTransitionsDoc)
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
      .def_property("epsilon", alone([](Simulation& s) { return s.state().part.learning.epsilon; }), alone(set_epsilon))
      .def_property("temperature", alone([](Simulation& s) { return s.state().part.learning.temperature; }),
                    alone(set_temperature))
      .def("set_policy", alone(set_policy), "layers"_a)
      .def("policy_scores", alone(scores), "observation"_a)
      .def_static("_window_seam", window_seam)
      .def("_window_decisions", alone(window_decisions))
      .def("_decide_windows", alone(decide_windows), "numbers"_a, "factors"_a)
      .def("feedback", alone(feedback_of));
}
