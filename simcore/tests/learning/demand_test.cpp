// The accrued delay of generated and undelivered packets, and the path delays under frozen queues.
#include <numeric>

#include "hindsight/marginal_cost.hpp"
#include "simcore/graph.hpp"
#include "simcore/workload.hpp"
#include "support/seam.hpp"

namespace learning_demand_test {

using namespace scenes;

double total(Simulation& sim) {
  const auto& delay = sim.accrued_delay();
  return std::accumulate(delay.begin(), delay.end(), 0.0);
}

// Load 0.9 for 3,000 cycles, which fills NICs and makes sources wait, then no more packets.
Values bursts() {
  return {{"load", 0.9},
          {"load_step_times_ns", std::vector<double>{3000 * 1.6}},
          {"load_step_loads", std::vector<double>{0.0}}};
}

// After all packets have arrived, the accrued delay is the sum of all latencies from generation, wherever the packets
// waited.
TEST(demand_accrues_the_sum_of_all_latencies) {
  for (const char* traffic : {"uniform", "adversarial"}) {
    Simulation sim(
        config(small_network(), merge(hpdc21(), {{"source_backlog", "kept"}}), {"random", {}}, {traffic, bursts()}));
    sim.begin_window();
    double before = 0;
    for (u32 k = 0; k < 60; k++) {
      sim.run(500);
      const double now = total(sim);
      CHECK_FOR(now >= before, traffic);
      before = now;
    }
    for (u32 k = 0; k < 400 && !sim.empty(); k++) sim.run(500);
    CHECK(sim.empty());
    CHECK_EQ(total(sim), static_cast<double>(sim.state().part.window.latency_generation));
    const double settled = total(sim);
    sim.run(1000);
    CHECK_EQ(total(sim), settled);
  }
}

// While no source waits, the accrued delay is the number of packets in the network, summed over the cycles.
TEST(demand_is_the_integral_of_packets_in_flight) {
  Simulation sim(config(small_network(), hpdc21(), {"random", {}}, {"uniform", {{"load", 0.2}}}));
  double sum = 0;
  for (u32 cycle = 0; cycle < 4000; cycle++) {
    CHECK_EQ(total(sim), sum);
    sim.run(1);
    sum += static_cast<double>(sim.state().part.totals.packets_in_network);
  }
}

// With source_backlog=lost a full NIC loses packets. They accrue delay for the rest of the run.
TEST(demand_charges_packets_that_a_full_nic_keeps_out) {
  const auto owed = [](const char* relation) {
    Simulation sim(
        config(small_network(), hpdc21(), {"random", {{"relation", relation}}}, {"adversarial", {{"load", 0.4}}}));
    sim.run(20000);
    const double at = total(sim);
    sim.run(20000);
    return total(sim) - at;
  };
  const double jammed = owed("minimal"), free = owed("widest");
  CHECK(jammed > 5 * free);
}

TEST(demand_does_not_depend_on_when_it_is_read) {
  const Config made = config(small_network(), hpdc21(), {"random", {}}, {"adversarial", {{"load", 0.5}}});
  Simulation often(made), once(made);
  for (u32 k = 0; k < 200; k++) {
    often.run(37);
    total(often);
  }
  once.run(200 * 37);
  CHECK_EQ(total(often), total(once));
  CHECK_EQ(often.hash(), once.hash());
  Simulation fork(once);
  CHECK_EQ(total(fork), total(once));
  // The same after a return to an earlier time.
  Simulation restored(made);
  restored.run(100);
  const double early = total(restored);
  const std::string snapshot = restored.snapshot();
  restored.run(5000);
  total(restored);
  restored.restore(snapshot);
  CHECK_EQ(total(restored), early);
}

// On an empty network the path delay is the time of flight. Queues add to it.
TEST(path_delay_is_the_flight_on_an_empty_network) {
  Simulation sim(config(small_network(), hpdc21(), {"agent", {}}, {"uniform", {{"load", 0.002}}}));
  const Seam& seam = *sim.network().seam;
  u32 alone = 0;
  for (u32 cycle = 0; cycle < 40000; cycle++) {
    const u32 n = sim.collect();
    if (n > 0 && sim.state().part.totals.packets_in_network == 1) {
      const Batch& b = sim.batch();
      const u32 i = b.decisions.request[0],
                to = sim.network().terminal_router[sim.state().packets[b.packet[i]].destination];
      for (u32 k = 0; k < b.decisions.slot_count[0]; k++) {
        const u32 port = sim.network().port(b.router[i], b.decisions.ports[k]);
        const u32 next = seam.next_router[port];
        const float flight_ns = seam.hop_ns[port] + flight(sim.network(), *sim.network().graphs[0], next, to);
        CHECK_NEAR(path_delay(sim.network(), sim.state(), b, 0, k), flight_ns * 1e-3, 0.05);
      }
      alone++;
    }
    const std::vector<u32> minimal(n, 0);
    sim.apply(minimal.data(), n);
  }
  CHECK(alone > 20);
}

TEST(demand_ends_when_the_sources_are_stopped) {
  Simulation sim(config(small_network(), merge(hpdc21(), {{"source_backlog", "kept"}}),
                        {"random", {{"relation", "minimal"}}}, {"adversarial", {{"load", 0.5}}}));
  sim.run(5000);
  sim.stop_sources();
  const double at = total(sim);
  const double in_network = static_cast<double>(sim.state().part.totals.packets_in_network);
  sim.run(1);
  CHECK_EQ(total(sim), at + in_network);
  Simulation fork(sim);
  CHECK_EQ(total(fork), total(sim));
  for (u32 k = 0; k < 400 && !sim.empty(); k++) sim.run(500);
  CHECK(sim.empty());
  const double settled = total(sim);
  sim.run(100);
  CHECK_EQ(total(sim), settled);
}

// ---- The cost of a choice for all packets. tests/simcore/test_marginal_cost.py compares it with replays by hand ----

Config lively(const std::string& routing, double load = 0.5) {
  return config(small_network(), hpdc21(), {routing, {}}, {"uniform", {{"load", load}}}, 3);
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

TEST(marginal_costs_leave_the_run_alone) {
  for (const std::string routing : {"ugal_group", "par", "q_routing", "q_adaptive", "random"})
    for (const learning::Ahead others : {learning::Ahead::kRouted, learning::Ahead::kKnown}) {
      Simulation sim(lively(routing));
      sim.run(1000);
      Simulation plain(sim);
      const learning::LabelledDecisions d = labels(sim, rule(others), 10);
      CHECK_FOR(d.count >= 10 && most(d.cost) > 0, routing);
      for (u32 n = 0; n < d.count; n++) {
        CHECK_FOR(d.tried[n] > 1 && d.taken[n] < d.tried[n] && d.tried[n] <= d.candidates[n], routing);
        CHECK_EQ(d.cost[n * d.slots + d.taken[n]], 0.0);
      }
      plain.run(sim.state().part.totals.now - plain.state().part.totals.now);
      CHECK_EQ(sim.hash(), plain.hash());
      sim.check_conservation();
    }
}

TEST(marginal_costs_do_not_depend_on_threads_and_forks) {
  std::vector<double> before;
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
    CHECK(all[0].cost != before);  // other packets are routed again, or keep their paths
    before = all[0].cost;
  }
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

}  // namespace learning_demand_test
