// The learned table of the learning seam, and the routings that decide instead of an agent.
#include <set>

#include "simcore/graph.hpp"
#include "simcore/routing/congestion.hpp"
#include "simcore/routing/q_table.hpp"
#include "support/seam.hpp"

namespace routing_any_learned_table_test {

using namespace scenes;

// ---- The learned table ----

namespace {

float& lost(Simulation& sim, u32 router, u32 row, u32 column) {
  return sim.network().feedback.row(sim.state(), router, row)[column];
}
float most_lost(Simulation& sim) { return std::ranges::max(all_values(sim.network(), sim.state())); }

}  // namespace

// Packets alone in the network lose no time, on every kind of router and every path.
TEST(an_idle_network_loses_no_time) {
  struct Case {
    const char* name;
    Values router;
    i64 flits;
  };
  for (const Case& c : {Case{"input-queued", input_queued(), 1},
                        {"input-queued that says it wakes", merge(input_queued(), {{"output_wake_flits", 2}}), 1},
                        {"hpdc21", hpdc21(), 1},
                        {"sc22", sc22(), 4},
                        {"sc19", sc19(), 3},
                        {"pipeline", merge(input_queued(), {{"pipeline_ns", 3.0}, {"output_buffer_flits", 8}}), 2},
                        {"VC allocation first", merge(small_wormhole(), {{"vc_allocation", "before_switch"}}), 3}})
    for (const Section& topology : {small_network(), hyperx_section({4, 3}, 6)})
      for (u32 source = 0; source < 20; source += 3) {
        Simulation sim(config(topology, c.router, {"agent", {}}, planned({{source, 67 - source}}, c.flits)));
        u32 decisions = 0;
        for (u32 k = 0; k < 3000 && (k < 2 || !sim.empty() || !sim.state().part.feedback_lines.lines.empty()); k++)
          advance(sim, [&](u32 j) {
            decisions++;
            return any_slot(sim, sim.batch(), j);
          });
        CHECK(sim.empty() && decisions > 0);
        CHECK_FOR(most_lost(sim) < 1e-3f,
                  std::string(c.name) + " on " + topology.name + ": " + std::to_string(most_lost(sim)) + " ns");
      }
}

// A HyperX line of three routers. Both terminals of router 0 send at full load to router 1, so two flits a cycle ask
// for a link that takes one. Router 0's column 0 leads to router 1, column 1 to router 2. The table has one row per
// router.
TEST(a_congested_port_differs_from_an_idle_port) {
  const Section flows = {
      "flows", {{"sources", std::vector<double>{0, 1}}, {"destinations", std::vector<double>{2, 3}}, {"load", 1.0}}};
  Simulation sim(
      config(hyperx_section({3}, 2), merge(input_queued(), {{"input_buffer_flits", 64}}), {"agent", {}}, flows));
  for (u32 k = 0; k < 1500; k++) advance(sim, [](u32) { return 0u; });
  CHECK(lost(sim, 0, 1, 0) > 20);
  for (u32 router = 0; router < 3; router++)
    for (u32 row = 0; row < 3; row++)
      for (u32 column = 0; column < 2; column++)
        if (router != 0 || row != 1 || column != 0) CHECK_EQ(lost(sim, router, row, column), 0.0f);
  // The agent sees the value in us.
  u32 seen = 0;
  const Seam& seam = *sim.network().seam;
  advance(sim, [&](u32) { return 0u; });
  while (seen == 0)
    advance(sim, [&](u32 j) {
      const float* const slot = sim.batch().decisions.observation.data() + j * seam.width + seam.general;
      CHECK_NEAR(slot[seam.per_slot - 1], lost(sim, 0, 1, 0) * 0.001, 1e-6);
      CHECK_EQ(slot[2 * seam.per_slot - 1], 0.0f);
      seen++;
      return 0u;
    });
}

// Routers and links as in routing/q_table_test.cpp: the packet is at router 1 at 32, at router 0 at 84 and leaves it
// at 85. The feedback takes 31 cycles over a local link. Router 0 expects to lose 500 ns to group 1 by every port, so
// the update is 0 + 0.1 * 500.
TEST(feedback_takes_the_time_of_the_link) {
  Simulation sim(config(small_network(), hpdc21(), {"agent", {}}, planned({{2, 10}})));
  for (u32 column = 0; column < 5; column++) lost(sim, 0, 1, column) = 500;
  for (Cycle cycle = 0; cycle < 700; cycle++) {
    advance(sim, [](u32) { return 0u; });
    CHECK_FOR(lost(sim, 1, 1, 0) == (cycle < 85 + 31 ? 0.0f : 50.0f),
              "cycle " + std::to_string(cycle) + ": " + std::to_string(lost(sim, 1, 1, 0)));
  }
  CHECK_EQ(lost(sim, 0, 1, 3), 450.0f);  // the next router reports no loss
  CHECK_EQ(lost(sim, 0, 1, 0), 500.0f);
  // The flight from router 0 to router 5: a global hop of 221 cycles and a local hop of 52.
  CHECK_EQ(flight(sim.network(), *sim.network().graphs[0], 0, 5),
           static_cast<float>(221 * 1.6) + static_cast<float>(52 * 1.6));

  Simulation frozen(config(small_network(), hpdc21(), {"agent", {}}, planned({{2, 10}})));
  for (u32 column = 0; column < 5; column++) lost(frozen, 0, 1, column) = 500;
  frozen.state().part.totals.frozen = 1;
  for (u32 cycle = 0; cycle < 400; cycle++) advance(frozen, [](u32) { return 0u; });
  CHECK_EQ(lost(frozen, 1, 1, 0), 0.0f);
}

// ---- Routings that decide instead of an agent ----

// With bias 0 a candidate's weight is load x hops of its path. The least weight wins, and the first of equal ones.
TEST(biased_without_bias_by_its_rule) {
  for (const Section& topology : {small_network(), hyperx_section({4, 3}, 2)})
    for (const bool by_class : {false, true}) {
      Lone x = lone(topology, {"biased", {{"congestion_scope", by_class ? "vc" : "port"}, {"slots", 16}}}, hpdc21());
      std::set<u32> slots;
      for (u32 n = 0; n < 3000; n++) {
        const u32 source = below(draw(7, n, 0), x.net.terminals), destination = below(draw(7, n, 1), x.net.terminals),
                  router = x.net.terminal_router[source], to = x.net.terminal_router[destination];
        for (u32 port = x.net.first_link[0]; port < x.net.radix; port++)
          for (u32 vc = 0; vc < x.net.vcs; vc++)
            congest(x, router, port, vc, 0, below(draw(n, 2, port * 37 + vc), 4) * 5);
        const Place at = x.send(source, destination, n);
        const auto all = x.candidates(at);
        const Step chosen = x.ask(at);
        double least = 1e30;
        Step best{};
        if (all.size() > 1)
          for (const Step& step : all) {
            const u32 port = x.net.port(router, step.port), next = x.net.router_of_port(x.net.channels[port].peer);
            const double flits = by_class
                                     ? routing::vc_congestion(x.net, x.state, Occupancy::kBoth, port, step.vc_class)
                                     : x.state.ports[port].load;
            const double weight = flits * (1 + x.net.topology->hops_between(x.net, next, to));
            if (weight >= least) continue;
            least = weight;
            best = step;
          }
        else best = all[0];
        CHECK(chosen == best);
        if (all.size() > 1) slots.insert(static_cast<u32>(std::ranges::find(all, chosen) - all.begin()));
        for (u32 port = x.net.first_link[0]; port < x.net.radix; port++)
          for (u32 vc = 0; vc < x.net.vcs; vc++) congest(x, router, port, vc, 0, 0);
      }
      CHECK(slots.size() >= 4);
    }
}

// A large positive bias makes all packets take minimal paths, a large negative bias detours.
TEST(bias_rules_over_queues) {
  for (const Config& c : {seam_on_dragonfly({"biased", {}}), seam_on_hyperx({"biased", {}})})
    for (const float bias : {1e6f, -1e6f}) {
      Simulation sim(c);
      const Network& net = sim.network();
      for (u32 router = 0; router < net.routers; router++)
        for (u32 row = 0; row < learned_table(net).rows; row++)
          learned_table(net).row(sim.state(), router, row)[0] = bias;
      u64 minimal = 0, detours = 0;
      for (u32 k = 0; k < 800; k++) {
        sim.collect();
        sim.apply(nullptr, 0);
        const Batch& b = sim.batch();
        for (u32 j = 0; j < b.decisions.count; j++) {
          const u32 i = b.decisions.request[j], to = net.terminal_router[sim.state().packets[b.packet[i]].destination];
          const auto detour = [&](u32 port) {
            return !net.topology->is_minimal(net, *net.graphs[0], b.router[i], port, to);
          };
          bool any = false;
          for (u32 s = 0; s < b.decisions.slot_count[j]; s++) any |= detour(b.decisions.ports[j * net.seam->slots + s]);
          CHECK(detour(b.out_port[i]) == (bias < 0 && any));
          (detour(b.out_port[i]) ? detours : minimal)++;
        }
      }
      CHECK(bias > 0 ? minimal > 500 && detours == 0 : detours > 500);
    }
}

}  // namespace routing_any_learned_table_test
