// The cost of a choice for all packets. Labels do not change the run and do not depend on threads and forks.
// tests/simcore/test_marginal_cost.py compares them with replays by hand.
#include "hindsight/marginal_cost.hpp"
#include "simcore/learning.hpp"
#include "support/scenes.hpp"
#include "test.hpp"

namespace learning_marginal_cost_test {

using namespace scenes;

Config lively(const std::string& routing, double load = 0.5, const Values& more = {}, const Values& router = hpdc21()) {
  return config(small_network(), router, {routing, more}, {"uniform", {{"load", load}}}, 3);
}
Config lively_hyperx(const std::string& routing, double load = 0.5) {
  return config(hyperx_section({4, 3}, 3), sc19(), {routing, {}}, {"uniform", {{"load", load}}}, 3);
}

learning::MarginalCostRule rule(learning::Ahead others) {
  learning::MarginalCostRule r;
  r.horizon = 500;
  r.threads = 2;
  r.forks = 16;
  r.others = others;
  return r;
}

learning::LabelledDecisions labels(Simulation& sim, const learning::MarginalCostRule& r, u32 decisions = 40,
                                   double part = 0.1) {
  return learning::MarginalCost(sim, r).label(sim, decisions, part, 100000);
}

double most(const std::vector<double>& costs) {
  double all = 0;
  for (const double cost : costs) all = std::max(all, std::abs(cost));
  return all;
}

void check_left_alone(const std::string& routing, const Config& made) {
  for (const learning::Ahead others : {learning::Ahead::kRouted, learning::Ahead::kKnown}) {
    Simulation sim(made);
    sim.run(1000);
    Simulation plain(sim);
    const learning::LabelledDecisions d = labels(sim, rule(others), 10);
    CHECK_FOR(d.count >= 10, routing);
    CHECK_FOR(most(d.cost) > 0, routing);
    for (u32 n = 0; n < d.count; n++) {
      CHECK_FOR(d.tried[n] > 1 && d.taken[n] < d.tried[n] && d.tried[n] <= d.candidates[n], routing);
      CHECK_EQ(d.cost[n * d.slots + d.taken[n]], 0.0);
    }
    plain.run(sim.state().part.totals.now - plain.state().part.totals.now);
    CHECK_EQ(sim.hash(), plain.hash());
    sim.check_conservation();
  }
}

TEST(marginal_costs_leave_the_run_alone) {
  for (const std::string routing : {"ugal_group", "par", "q_routing", "q_adaptive", "random"})
    check_left_alone(routing, lively(routing));
}

TEST(marginal_costs_do_not_depend_on_threads_and_forks) {
  for (const learning::Ahead others : {learning::Ahead::kRouted, learning::Ahead::kKnown}) {
    std::vector<learning::LabelledDecisions> all;
    for (const auto& [threads, forks] : {std::pair{1u, 1u}, std::pair{3u, 7u}, std::pair{2u, 64u}}) {
      Simulation sim(lively("par"));
      sim.run(1000);
      learning::MarginalCostRule r = rule(others);
      r.threads = threads;
      r.forks = forks;
      all.push_back(labels(sim, r));
    }
    for (const learning::LabelledDecisions& other : all) {
      CHECK_EQ(other.count, all[0].count);
      CHECK(other.cost == all[0].cost);
      CHECK(other.cycle == all[0].cycle && other.port == all[0].port && other.taken == all[0].taken);
    }
  }
}

// If the other packets keep their paths, only queues differ. If they are routed again, one detour leads to another.
TEST(marginal_costs_are_steadier_if_others_keep_their_paths) {
  const auto spread = [](learning::Ahead others) {
    Simulation sim(lively("par", 0.2));
    sim.run(5000);
    learning::MarginalCostRule r = rule(others);
    r.horizon = 1800;
    const learning::LabelledDecisions d = labels(sim, r, 40, 0.05);
    double sum = 0;
    for (const double cost : d.cost) sum += std::abs(cost);
    return sum;
  };
  CHECK(spread(learning::Ahead::kKnown) < 0.6 * spread(learning::Ahead::kRouted));
}

// The choice has no effect before the fork's routers have moved the packet: costs of one cycle are 0, costs over the
// whole path are not.
TEST(marginal_costs_grow_from_nothing) {
  Simulation sim(lively("par", 0.1));
  sim.run(1000);
  learning::MarginalCostRule r = rule(learning::Ahead::kRouted);
  r.horizon = 1;
  CHECK_EQ(most(labels(sim, r).cost), 0.0);
  r.horizon = 1000;
  CHECK(most(labels(sim, r).cost) > 100);
}

TEST(marginal_costs_show_the_observations_of_the_policy) {
  Simulation sim(lively("policy"));
  sim.run(1000);
  const learning::LabelledDecisions d = labels(sim, rule(learning::Ahead::kKnown));
  const Seam& seam = *sim.network().seam;
  CHECK_EQ(d.width, seam.width);
  CHECK_EQ(d.slots, seam.slots);
  CHECK_EQ(d.observation.size(), std::size_t{d.count} * seam.width);
}

}  // namespace learning_marginal_cost_test
