// Decisions at the source: the paths, the returned delays and marks, and the choices.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "routing/graph/source_rule.hpp"
#include "simcore/graph.hpp"
#include "support/dependencies.hpp"
#include "support/links.hpp"
#include "support/seam.hpp"
#include "support/tables.hpp"
#include "support/torus.hpp"

namespace routing_graph_source_paths_test {

using namespace scenes;
using routing::graph::SourceRule;

const std::vector<Section>& topologies() {
  static const std::vector<Section> all = {
      dragonfly_section(2, 4, 2, 9),
      Section{"slim_fly", {{"q", i64{5}}}},
      hyperx_section({4, 4}, 2),
      Section{"fat_tree", {{"children", std::vector<double>{2, 4, 4}}, {"parents", std::vector<double>{1, 4, 4}}}},
      random_regular(20, 4, 3, 1),
      torus_section({"torus", {5, 4}})};
  return all;
}

Lone lone(const Section& topology, const Values& values = {}) {
  return Lone(build(config(topology, input_queued(), {"source_paths", values}, {"uniform", {}})));
}
const SourceRule& rule_of(const Network& net) { return static_cast<const SourceRule&>(*net.relation); }
u32 path_of(Lone& x) { return *kept<u8>(x.net, x.state, "source_path"); }

// Follows every path of every pair. The paths of a pair leave by different ports, the first one is minimal, and no path
// returns to its source. Packets of a path take the same links.
TEST(source_paths_leave_by_different_ports_and_arrive) {
  for (const Section& topology : topologies()) {
    Lone x = lone(topology, {{"choice", std::string("spray")}});
    u32 detours = 0, most = 0;
    for (u32 source = 0; source < x.net.terminals; source += 3)
      for (u32 t = 0; t < x.net.terminals; t++) {
        const u32 from = x.net.terminal_router[source], to = x.net.terminal_router[t];
        if (from == to) continue;
        const auto list = rule_of(x.net).paths.of(x.net, from, to);
        const std::set<u16> ports(list.port.begin(), list.port.begin() + list.count);
        CHECK_EQ(ports.size(), list.count);
        CHECK(list.count >= 1 && list.middle[0] == kNone);
        most = std::max(most, list.count);
        const u32 direct = distance(x.net, *x.net.graphs[0], from, to);
        std::map<u32, std::vector<u32>> routes;
        for (u32 sequence = 0; sequence < 12; sequence++) {
          std::vector<u32> route;
          const u32 hops = x.walk(source, t, sequence, [&](u32 router, const Step&) { route.push_back(router); });
          const u32 path = path_of(x);
          CHECK(path < list.count);
          CHECK_EQ(std::count(route.begin(), route.end(), from), 1);
          CHECK_EQ(std::count(route.begin(), route.end(), to), 0);
          const bool detour = list.middle[path] != kNone, dragonfly = topology.name == "dragonfly";
          detours += detour;
          // On a Dragonfly, two global hops may be fewer hops than those of a minimal path.
          if (detour) CHECK_FOR(hops > direct || dragonfly, topology.name);
          else CHECK_FOR(dragonfly ? hops <= direct : hops == direct, topology.name);
          if (detour && dragonfly) {
            const auto group = [&](u32 router) { return x.net.router_group[router]; };
            const bool third =
                std::ranges::any_of(route, [&](u32 r) { return group(r) != group(from) && group(r) != group(to); });
            CHECK_EQ(third, group(from) != group(to));
          }
          if (routes.contains(path)) CHECK(routes[path] == route);
          routes[path] = route;
        }
      }
    CHECK_FOR(most > 2, topology.name);
    CHECK_FOR((detours > 0) == (topology.name != "fat_tree"),
              topology.name);  // a leaf has as many minimal paths as ports
  }
}

// The delay of a single packet by two other ways: the cycles between its decision and its delivery in the run, and the
// latency in the statistics. It is known to the source only after the flight back.
TEST(returned_delays_equal_measured_ones) {
  for (const Section& topology : topologies())
    for (const u32 flits : {1u, 3u}) {
      Simulation sim(config(topology, input_queued(), {"source_paths", {{"choice", std::string("spray")}}},
                            planned({{0, 11}}, flits)));
      const Network& net = sim.network();
      State& s = const_cast<State&>(sim.state());  // kept() gives mutable memory
      const u32 to = net.terminal_router[11], from = net.terminal_router[0];
      CHECK(from != to);
      sim.begin_window();
      Cycle decided = 0, delivered = 0;
      const auto phase = [&] { return s.packets.empty() ? u32{kUndecided} : u32{s.packets[0].phase}; };
      while (delivered == 0) {
        const Cycle now = s.part.totals.now;
        const bool undecided = phase() == kUndecided;
        sim.run(1);
        if (undecided && phase() != kUndecided) decided = now;
        if (s.part.window.delivered) delivered = now;
        CHECK(now < 10000);
      }
      const u32 path = *kept<u8>(net, s, "source_path");
      const Packet& p = s.packets[0];
      CHECK_EQ(s.part.window.latency_nic, delivered - p.injected);
      const auto mean = [&] { return rule_of(net).memory.means(net, s, 0, to, path).delay_ns; };
      const auto back = static_cast<Cycle>(flight(net, *net.graphs[0], to, from) / net.cycle_ns);
      CHECK(back > 0);
      // The acknowledgement is read with the next decision, here that of a test.
      State early = s, late = s;
      rule_of(net).hear(net, early, delivered + back - 1);
      CHECK_EQ(rule_of(net).memory.means(net, early, 0, to, path).delay_ns, 0.0f);
      rule_of(net).hear(net, late, delivered + back);
      CHECK_EQ(rule_of(net).memory.means(net, late, 0, to, path).delay_ns, (delivered - decided) * net.cycle_ns);
      CHECK_EQ(mean(), 0.0f);
      // Nothing else was on the way, so the delay is that of an idle path.
      const auto list = rule_of(net).paths.of(net, from, to);
      CHECK_NEAR((delivered - decided) * net.cycle_ns,
                 SourceRule::idle_ns(net, p, from, list.port[path], list.middle[path]), 3.0);
    }
}

// In a loaded run, each delivered packet returns once, and no delay is below that of an idle path of one hop.
TEST(every_delivered_packet_returns_once) {
  Simulation sim(config(hyperx_section({4, 4}, 1), input_queued(), {"source_paths", {{"choice", std::string("spray")}}},
                        {"bit_complement", {{"load", 0.8}}}));
  const Network& net = sim.network();
  State& s = const_cast<State&>(sim.state());
  sim.begin_window();
  u64 returned = 0;
  const auto count = [&](u32 cycles) {
    for (u32 k = 0; k < cycles; k++) {
      sim.run(1);
      // Takes the acknowledgements before the routing does.
      rule_of(net).returns.take(net, s, s.part.totals.now, [&](const routing::graph::Returns::Ack& ack) {
        CHECK(ack.source < net.terminals && ack.to < net.routers && ack.to != net.terminal_router[ack.source]);
        CHECK(ack.delay * net.cycle_ns >= net.graphs[0]->one_hop_ns);
        returned++;
      });
    }
  };
  count(3000);
  sim.stop_sources();
  count(3000);
  CHECK(sim.empty());
  CHECK(returned > 10000);
  CHECK_EQ(returned, s.part.window.delivered);
}

// Weights by hand: delays of 100 and 200 ns, sharpness 3, so the shares are 8 : 1. Then marks make both paths equal.
TEST(learned_choices_follow_the_weights) {
  Lone x = lone(hyperx_section({4, 4}, 1), {{"sharpness", i64{3}}, {"most_paths", i64{2}}, {"minimal_paths", i64{2}}});
  const u32 to = 5;  // another row and column: two minimal paths
  CHECK_EQ(rule_of(x.net).paths.of(x.net, 0, to).count, 2u);
  for (const bool marked : {false, true}) {
    const auto row = rule_of(x.net).memory.open(x.net, x.state, 0, to);
    row.delay[0] = 100, row.delay[1] = 200;
    row.mark[0] = marked ? 1 : 0;
    constexpr u32 kPackets = 9000;
    u32 first = 0;
    for (u32 n = 0; n < kPackets; n++) {
      x.ask(x.send(0, to, n));
      first += path_of(x) == 0;
    }
    const double share = marked ? 0.5 : 8 / 9.0;
    CHECK_NEAR(first, kPackets * share, 5 * std::sqrt(kPackets * share * (1 - share)));
  }
}

// The ring by hand: paths of unmarked packets are used once, the oldest first.
TEST(recycled_paths_are_used_once) {
  Lone x = lone(hyperx_section({4, 4}, 1), {{"choice", std::string("recycle")}});
  const u32 to = 5;
  const auto deliver = [&](u8 path, u8 mark, Cycle now) {
    x.send(0, to);
    *kept<u8>(x.net, x.state, "source_path") = path;
    *kept<u8>(x.net, x.state, "source_marked") = mark;
    x.state.part.totals.now = now;
    x.net.delivered(x.net, x.state, 0);
  };
  const auto next = [&](Cycle now, u32 sequence) {
    const Place at = x.send(0, to, sequence);
    x.batch.now = now;
    x.ask(at);
    return path_of(x);
  };
  const auto back = static_cast<Cycle>(flight(x.net, *x.net.graphs[0], to, 0) / x.net.cycle_ns);
  const u32 fresh = next(100, 7);
  deliver(3, 0, 100), deliver(2, 1, 100), deliver(1, 0, 101);
  CHECK_EQ(next(100 + back - 1, 7), fresh);
  CHECK_EQ(next(101 + back, 1), 3u);
  CHECK_EQ(next(101 + back, 2), 1u);  // path 2 was marked
  CHECK_EQ(next(101 + back, 7), fresh);
  CHECK_NEAR(rule_of(x.net).memory.means(x.net, x.state, 0, to, 2).mark, 1, 1e-6);
  CHECK_EQ(rule_of(x.net).memory.means(x.net, x.state, 0, to, 3).mark, 0.0f);
}

TEST(a_flowlet_keeps_its_path) {
  Lone x = lone(hyperx_section({4, 4}, 1), {{"choice", std::string("spray")}, {"flowlet_gap_ns", 100.0}});
  const u32 gap = 100;
  Cycle now = 0;
  u32 path = 0, changes = 0;
  for (u32 n = 0; n < 2000; n++) {
    const bool short_gap = n % 2 == 1;
    now += short_gap ? gap : gap + 1;
    x.batch.now = now;
    x.ask(x.send(0, 5, n));
    if (short_gap) CHECK_EQ(path_of(x), path);
    changes += path_of(x) != path;
    path = path_of(x);
  }
  const u32 paths = rule_of(x.net).paths.of(x.net, 0, 5).count;
  CHECK_NEAR(changes, 1000 * (1 - 1.0 / paths), 80);
}

// The congested link of the minimal path delays its packets, so the learned shares leave it. All terminals of a group
// send to the next group, which one link serves.
TEST(learned_sources_leave_a_congested_path) {
  const Section pattern{"adversarial", {{"load", 0.5}}};
  std::map<std::string, double> load;
  for (const std::string choice : {"learned", "recycle", "spray", "flow"})
    load[choice] = accepted_output_queued(small_network(), {"source_paths", {{"choice", choice}}}, pattern);
  const double minimal = accepted_output_queued(small_network(), {"minimal", {}}, pattern);
  CHECK_NEAR(minimal, 0.125, 0.01);  // one link for 8 terminals
  for (const auto& [choice, value] : load) CHECK_FOR(value > 2 * minimal, choice + " " + std::to_string(value));
  CHECK_FOR(load["learned"] >= load["spray"] - 0.005, std::to_string(load["learned"]));
}

// The second link of a path fails in the run. Routers then lead the packets of that path another way. The source learns
// it from the longer delay, and uses the path less.
TEST(a_path_with_a_failed_link_is_avoided_after_feedback) {
  const Section topology = hyperx_section({4, 4}, 1);
  const Values values = {{"most_paths", i64{2}}, {"minimal_paths", i64{2}}, {"sharpness", i64{16}}, {"rate", 0.2}};
  Config c =
      config(topology, input_queued(), {"source_paths", values},
             {"flows", {{"sources", std::vector<double>{0}}, {"destinations", std::vector<double>{5}}, {"load", 0.3}}});
  const auto healthy = build(c);
  const auto list = rule_of(*healthy).paths.of(*healthy, 0, 5);
  const u32 broken = healthy->next_router(healthy->port(0, list.port[0]));
  c.failures = {{"events", std::to_string(broken) + "-5@2000"}};
  Simulation sim(c);
  State& s = const_cast<State&>(sim.state());  // kept() gives mutable memory
  const Network& net = sim.network();
  u32 before[2] = {0, 0}, after[2] = {0, 0};
  for (Cycle now = 0; now < 6000; now++) {
    sim.run(1);
    for (u32 id = 0; id < s.packets.size(); id++) {
      const u32 path = kept<u8>(net, s, "source_path")[id];
      if (path > 1 || kept<u32>(net, s, "source_decided")[id] != now || s.packets[id].phase == kUndecided) continue;
      if (now < 2000) before[path]++;
      else if (now > 2500) after[path]++;
    }
  }
  CHECK(before[0] > 50 && after[1] > 50);
  CHECK_FOR(after[0] * 4 < after[1], std::to_string(after[0]) + " of " + std::to_string(after[0] + after[1]));
}

// ---- The seam ----

// With decisions=source a packet has at most one decision, at its first router. With both, later routers choose among
// the ports towards the intermediate router or the destination.
TEST(decisions_arise_at_the_source_or_at_both) {
  for (const Section& topology : topologies())
    for (const std::string where : {"source", "both", "router"}) {
      Values routing = {{"decisions", where}, {"observation", std::string("progress+returned")}};
      if (where == "router") routing["relation"] = std::string("source_paths");
      Simulation sim(config(topology, input_queued(), {"agent", routing}, {"uniform", {{"load", 0.3}}}));
      const State& s = sim.state();
      u32 first = 0, later = 0;
      Edges edges;
      for (u32 cycle = 0; cycle < 600; cycle++)
        advance(sim, [&](u32 j) {
          const Batch& b = sim.batch();
          const u32 i = b.decisions.request[j];
          const Packet& p = s.packets[b.packet[i]];
          (p.hops == 0 ? first : later)++;
          CHECK((p.phase == kUndecided) == (p.hops == 0));
          for (u32 k = b.offsets[i]; k < b.offsets[i + 1]; k++)
            add(edges, sim.network(), b.router[i], b.in_port[i], b.in_vc[i], b.candidate_port[k], b.candidate_class[k]);
          return any_slot(sim, b, j);
        });
      const std::string text = topology.name + " " + where;
      CHECK_FOR((first > 0) == (where != "router"), text);
      const bool several = topology.name != "slim_fly" && topology.name != "dragonfly";  // minimal paths of a pair
      if (where == "source") CHECK_EQ(later, 0u);
      else if (several) CHECK_FOR(later > 0, text);
      CHECK_FOR(acyclic(edges), text);
      drain_at_random(sim);
      sim.check_conservation();
    }
}

// The row at the source holds the means of each path, its hops and its idle time.
TEST(the_block_returned_shows_the_means_of_each_path) {
  Lone x(build(config(small_network(), input_queued(),
                      {"agent", {{"decisions", std::string("source")}, {"observation", std::string("returned")}}},
                      {"uniform", {}})));
  const SourceRule& rule = rule_of(x.net);
  const Place at = x.send(2, 30);
  const u32 from = at.router, to = x.net.terminal_router[30];
  const auto list = rule.paths.of(x.net, from, to);
  const auto row = rule.memory.open(x.net, x.state, 2, to);
  row.delay[1] = 750, row.mark[1] = 0.25;
  const Shown shown = show(x, at);
  CHECK_EQ(shown.count, list.count);
  for (u32 k = 0; k < list.count; k++) {
    CHECK_EQ(shown.slots[k].port, u32{list.port[k]});
    const auto& slot = shown.per_slot[k];
    const float idle = SourceRule::idle_ns(x.net, x.packet(), from, list.port[k], list.middle[k]) * 0.001f;
    CHECK_NEAR(slot.at("idle_time"), idle, 1e-6);
    CHECK_NEAR(slot.at("delay"), k == 1 ? 0.75 : idle, 1e-6);
    CHECK_EQ(slot.at("marked"), k == 1 ? 0.25f : 0.0f);
    CHECK_EQ(slot.at("heard"), k == 1 ? 1.0f : 0.0f);
    const u32 hops = list.middle[k] == kNone ? distance(x.net, *x.net.graphs[0], from, to)
                                             : distance(x.net, *x.net.graphs[0], from, list.middle[k]) +
                                                   distance(x.net, *x.net.graphs[0], list.middle[k], to);
    CHECK_EQ(slot.at("path_hops"), hops * 0.125f);
  }
  // On an idle network the estimate of the delay follows the path over its intermediate router.
  for (u32 k = 0; k < list.count; k++)
    CHECK_NEAR(path_delay(x.net, x.state, x.batch, 0, k), shown.per_slot[k].at("idle_time"), 5e-3);
}

}  // namespace routing_graph_source_paths_test
