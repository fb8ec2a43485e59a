// up_down: its candidates and choices, and d-mod-k without contention.

#include "simcore/graph.hpp"
#include "simcore/rng.hpp"
#include "simcore/topology/fat_tree.hpp"
#include "support/crafted.hpp"
#include "support/fat_tree.hpp"

namespace routing_fat_tree_up_down_test {

using namespace scenes;

const std::vector<std::string> kAscents = {"adaptive", "random", "two_random", "d_mod_k"};

Section up_down(const std::string& ascent) { return {"up_down", {{"ascent", ascent}}}; }
Lone lone(const Xgft& tree, const Section& routing) {
  return Lone(build(config(tree.section(), input_queued(), routing, {"uniform", {}})));
}

// Trees whose switches below the top have equally many ports up and down, and whose leaves have one terminal per link
// up.
std::vector<Xgft> full_trees() {
  return {k_ary_tree(2, 4),
          k_ary_tree(3, 2),
          k_ary_tree(4, 3),
          {{4, 6}, {1, 2}, {1, 2}},
          {{6, 3, 5}, {1, 3, 2}, {1, 2, 3}},
          {{4, 2, 4, 2}, {1, 2, 4, 2}, {1, 2, 1, 2}}};
}

// Flits on each channel if every terminal t sends one flit to to(t).
template <class To>
std::vector<u32> loads(Lone& x, To to) {
  std::vector<u32> load(x.net.router_ports, 0);
  for (u32 t = 0; t < x.net.terminals; t++)
    x.walk(t, to(t), 0, [&](u32 router, const Step& step) { load[x.net.port(router, step.port)]++; });
  return load;
}
u32 most(const std::vector<u32>& load) { return *std::ranges::max_element(load); }

// Up: every port, as long as the destination is not below. Down: every cable to the one child above the destination.
TEST(up_down_lists_every_minimal_port) {
  for (const Xgft& tree : {k_ary_tree(3, 3), Xgft{{2, 3, 2}, {1, 2, 3}, {1, 2, 3}}}) {
    Lone x = lone(tree, up_down("adaptive"));
    for (u32 router = 0; router < x.net.routers; router++)
      for (u32 t = 0; t < x.net.terminals; t++) {
        x.send(0, t);
        std::vector<Step> minimal;
        const u32 to = x.net.terminal_router[t];
        each_minimal(x.net, *x.net.graphs[0], router, to, [&](u32 k) { minimal.push_back({k, 0}); });
        if (router == to) minimal = {{x.net.terminal_port[t], kAnyClass}};
        CHECK(std::ranges::is_permutation(x.candidates({router, 0, 0}), minimal));
      }
  }
}

// The class depends on the destination alone, so the network behaves like one tree per class, each free of deadlock.
TEST(classes_by_destination) {
  const Xgft tree = k_ary_tree(3, 3);
  for (const Section& routing :
       {Section{"up_down", {{"vc_classes", 6}}}, {"agent", {{"relation", "up_down_by_destination"}}}}) {
    Lone x = lone(tree, routing);
    CHECK_EQ(x.net.routing_facts.classes, 6u);
    CHECK_EQ(x.net.vcs, 6u);
    for (u32 source = 0; source < x.net.terminals; source++)
      for (u32 to = 0; to < x.net.terminals; to++) {
        const Place at = x.send(source, to);
        for (const Step& step : x.candidates(at))
          if (!x.ejects(at.router, step)) CHECK_EQ(step.vc_class, (to + to / 6) % 6);
        if (routing.name == "agent") continue;
        x.walk(source, to, source * to, [&](u32, const Step& step) { CHECK_EQ(step.vc_class, (to + to / 6) % 6); });
      }
  }
}

// A fat tree without failures has a preferred relation, with the VCs of the widest. Elsewhere both are the same.
TEST(preferred_relation) {
  const auto agent = [](const Section& topology, const std::string& relation, bool damaged) {
    Config wanted = config(topology, hpdc21(), {"agent", {{"relation", relation}}}, {"uniform", {}});
    if (damaged) wanted.failures = {{"events", "0-2@500000"}};
    return build(wanted);
  };
  const Section tree = Xgft{{2, 2}, {1, 2}, {1, 1}}.section();
  const Section ring = torus({4});
  const auto preferred = agent(tree, "preferred", false), widest = agent(tree, "widest", false);
  CHECK(preferred->candidates == agent(tree, "up_down_by_destination", false)->candidates);
  CHECK(preferred->candidates != widest->candidates);
  CHECK_EQ(preferred->vcs, widest->vcs);
  CHECK(agent(tree, "preferred", true)->candidates == widest->candidates);
  CHECK(agent(ring, "preferred", false)->candidates == widest->candidates);
}

// Three sources send to terminal 4, one of them through the only link between the leaves. In one class, the flow from 1
// to 5 waits behind its packets, so both have a third of the rate of a link. In another class, the link never waits,
// and its two VCs take turns.
TEST(an_overloaded_terminal_delays_its_own_class_only) {
  constexpr u32 kFlits = 200, kFlitCycles = 20;
  for (const auto& [classes, per_flit] : {std::pair{1u, 3.0}, {2u, 2.0}}) {
    std::vector<Planned> plan;
    for (const u32 source : {0u, 6u, 7u}) plan.insert(plan.end(), 3 * kFlits, {source, 4});
    plan.insert(plan.end(), kFlits, {1, 5});
    Simulation sim(config(Xgft{{4, 2}, {1, 1}, {1, 1}}.section(), merge(hpdc21(), {{"source_backlog", "kept"}}),
                          {"up_down", {{"vc_classes", classes}}}, planned(std::move(plan))));
    const Network& net = sim.network();
    const Port& last = sim.state().ports[net.port(net.terminal_router[5], net.terminal_port[5])];
    u32 cycles = 0;
    while (last.flits < kFlits && cycles < 20'000) sim.run(1), cycles++;
    CHECK_NEAR(cycles / static_cast<double>(kFlits * kFlitCycles), per_flit, 0.05);
  }
}

// A leaf with 4 ports up of load 0, 1, 2, 3 in any arrangement. Adaptive takes the first and random takes all equally.
// The lesser of two random ports is the n-th of 4 with probability (7 - 2 n) / 16.
TEST(ascents_pick_by_their_rules) {
  const double expected[4][4] = {
      {1, 0, 0, 0}, {.25, .25, .25, .25}, {7 / 16., 5 / 16., 3 / 16., 1 / 16.}, {.25, .25, .25, .25}};
  for (u32 a = 0; a < kAscents.size(); a++) {
    Lone x = lone(k_ary_tree(4, 2), up_down(kAscents[a]));
    u32 picked[4] = {};
    constexpr u32 kPackets = 8000;
    for (u32 n = 0; n < kPackets; n++) {
      const Place at = x.send(n % 4, 4 + n / 4 % 12, n);
      for (u32 k = 0; k < 4; k++) congest(x, 0, 4 + k, 0, 0, (k + n / 48) % 4);
      picked[(x.ask(at).port - 4 + n / 48) % 4]++;
    }
    for (u32 k = 0; k < 4; k++)
      CHECK_NEAR(picked[k] / static_cast<double>(kPackets), expected[a][k],
                 expected[a][k] == 1 || expected[a][k] == 0 ? 0 : 0.02);
  }
}

// All ports of an idle network are equal, so packets take turns. Adaptive must not send all of them by one port.
TEST(adaptive_ascent_spreads_ties) {
  Lone x = lone(k_ary_tree(4, 3), up_down("adaptive"));
  std::vector<u32> load(x.net.router_ports, 0);
  for (u32 n = 0; n < 64; n++)
    x.walk(n % 4, 63 - n % 4, n / 4, [&](u32 router, const Step& step) { load[x.net.port(router, step.port)]++; });
  for (u32 k = 4; k < 8; k++) CHECK_EQ(load[x.net.port(0, k)], 16u);
}

// Zahavi: under d-mod-k no two packets of a shift share a channel, and all-to-all loads every channel of a level and
// direction equally.
TEST(shifts_are_without_contention_under_d_mod_k) {
  for (const Xgft& tree : full_trees()) {
    Lone x = lone(tree, up_down("d_mod_k"));
    const u32 n = x.net.terminals;
    std::vector<u32> all(x.net.router_ports, 0);
    for (u32 shift = 0; shift < n; shift++) {
      const auto load = loads(x, [&](u32 t) { return (t + shift) % n; });
      CHECK_FOR(most(load) == (shift == 0 ? 0u : 1u), tree.name() + " shift " + std::to_string(shift));
      for (u32 p = 0; p < all.size(); p++) all[p] += load[p];
    }
    const FatTree& own = as_fat_tree(x.net);
    u32 below = 1;  // terminals below a switch of the level
    for (u32 l = 1; l < tree.h(); l++) {
      below *= tree.m(l);
      const u32 channels = (own.first[l + 1] - own.first[l]) * tree.w(l + 1) * tree.p(l + 1);
      for (u32 p = 0; p < x.net.router_ports; p++) {
        if (!x.net.is_link(p)) continue;
        const u32 a = own.level[x.net.router_of_port(p)], b = own.level[x.net.next_router(p)];
        if (std::min(a, b) == l) CHECK_EQ(all[p] * channels, n * (n - below));
      }
    }
  }
}

}  // namespace routing_fat_tree_up_down_test
