// Python bindings of marginal costs (src/libraries/hindsight/marginal_cost.hpp). The docstrings are in
// simcore/_marginal_cost.py.
#include "hindsight/marginal_cost.hpp"

#include "exclusive.hpp"

struct MarginalCosts {
  std::shared_ptr<Simulation> simulation;
  learning::MarginalCost costs;
  bool busy = false;
};

static py::dict label(MarginalCosts& own, u32 decisions, double part, u64 most_cycles) {
  const Busy busy(own.busy, "this MarginalCost");
  const Exclusive held(*own.simulation);
  learning::LabelledDecisions d;
  {
    const py::gil_scoped_release released;
    d = own.costs.label(*own.simulation, decisions, part, most_cycles, interruptible());
  }
  py::dict out;
  out["cycle"] = copied(d.cycle);
  out["router"] = copied(d.router);
  out["source"] = copied(d.source);
  out["destination"] = copied(d.destination);
  out["sequence"] = copied(d.sequence);
  out["hops"] = copied(d.hops);
  out["came_by"] = copied(d.came_by);
  out["candidates"] = copied(d.candidates);
  out["tried"] = copied(d.tried);
  out["taken"] = copied(d.taken);
  out["port"] = copied(d.port, d.count, d.slots);
  out["vc_class"] = copied(d.vc_class, d.count, d.slots);
  out["cost"] = copied(d.cost, d.count, d.slots);
  out["observation"] = copied(d.observation, d.count, d.width);
  return out;
}

static std::unique_ptr<MarginalCosts> marginal_costs(const std::shared_ptr<Simulation>& simulation, u32 horizon,
                                                     u32 slots, u32 threads, u32 forks, u64 seed, bool reroute) {
  const Exclusive held(*simulation);
  const auto ahead = reroute ? learning::Ahead::kRouted : learning::Ahead::kKnown;
  const learning::MarginalCostRule rule{horizon, slots, threads, forks, seed, ahead};
  return std::unique_ptr<MarginalCosts>(new MarginalCosts{simulation, {*simulation, rule}});
}

void bind_marginal_cost(py::module_& m) {
  py::class_<MarginalCosts>(m, "MarginalCost")
      .def(py::init(&marginal_costs), "simulation"_a, "horizon_cycles"_a, "slots"_a, "threads"_a, "forks"_a, "seed"_a,
           "reroute"_a)
      .def("_label", &label, "decisions"_a, "part"_a, "max_cycles"_a);
}
