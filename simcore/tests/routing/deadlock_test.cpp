// Freedom from deadlock: the channel dependencies that occur in a run have no cycle. The watchdog is tested on a
// routing that deadlocks.
#include <algorithm>

#include "simcore/registry.hpp"
#include "simcore/rng.hpp"
#include "support/dependencies.hpp"
#include "support/scenes.hpp"
#include "test.hpp"
#include "topology/dragonfly.hpp"

namespace routing_deadlock_test {

using namespace scenes;

Values tight() {
  return merge(input_queued(),
               {{"input_buffer_flits", i64{4}}, {"link_latency_ns_global", 8.0}, {"link_latency_ns_local", 2.0}});
}

TEST(cycle_search_finds_cycles) {
  CHECK(acyclic({{1, {2, 3}}, {2, {3}}}));
  CHECK(!acyclic({{1, {2}}, {2, {3}}, {3, {1}}, {4, {1}}}));
  CHECK(!acyclic({{1, {1}}}));
  CHECK(acyclic({}));
}

TEST(channel_dependencies_have_no_cycle) {
  struct Network {
    Section topology;
    std::vector<std::string> routings, patterns;
  };
  for (const Network& network : {Network{dragonfly_section(2, 3, 2, 7), kRoutings, {"uniform", "adversarial"}},
                                 {hyperx_section({3, 4, 2}, 3, {{"links", std::vector<double>{1, 1, 2}}}),
                                  kHyperXRoutings,
                                  {"uniform", "adversarial", "tornado"}}})
    for (const std::string& routing : network.routings) {
      Section section{routing, {}};
      if (routing[0] == 'q') section.values["epsilon"] = 0.3;
      if (routing == "q_routing") section.values["max_hops"] = i64{3};
      Edges edges;
      for (const std::string& pattern : network.patterns) {
        Simulation sim(config(network.topology, tight(), section, {pattern, {{"load", 1.0}}}, 3));
        const u32 classes = sim.network().routing_facts.classes;
        std::vector<Decision> seen;
        for (u32 k = 0; k < 1500; k++) {
          seen.clear();
          observe(sim, seen);
          for (const Decision& d : seen) {
            // Only dal's escape class is acyclic. Its adaptive class may have cycles
            // (routing/hyperx/dependency_test.cpp).
            if (routing == "dal" && d.in_vc != 1) continue;
            CHECK_FOR(d.out_class < classes || d.router == sim.network().terminal_router[d.packet.destination],
                      routing);
            add(edges, sim.network(), d.router, d.in_port, d.in_vc, d.out_port, d.out_class);
          }
        }
      }
      CHECK_FOR(edges.size() > (routing == "dal" ? 0 : 50), routing);
      CHECK_FOR(acyclic(edges), routing);
    }
}

// Every candidate of every request adds a dependency. The choices are random.
TEST(candidates_of_the_seam_have_no_cycle_and_end) {
  for (const std::string relation : {"five_hop", "minimal"}) {
    Simulation sim(config(dragonfly_section(2, 3, 2, 7), tight(), {"external", {{"relation", relation}}},
                          {"uniform", {{"load", 1.0}}}, 3));
    const Network& net = sim.network();
    const u32 bound = relation == "five_hop" ? 5 : 3;
    CHECK_EQ(net.routing_facts.max_hops, bound);
    Edges edges;
    u32 longest = 0;
    u64 requests = 0;
    std::vector<u32> choices;
    for (u32 cycle = 0; cycle < 4000; cycle++) {
      if (cycle == 2000) sim.stop_sources();
      const u32 n = sim.collect();
      const Batch& b = sim.batch();
      choices.resize(n);
      for (u32 i = 0; i < n; i++, requests++) {
        const u32 count = b.offsets[i + 1] - b.offsets[i];
        CHECK(count >= 1);
        choices[i] = below(draw(1, 1, requests), count);
        longest = std::max(longest, u32{sim.state().packets[b.packet[i]].hops});
        for (u32 k = b.offsets[i]; k < b.offsets[i + 1]; k++)
          add(edges, net, b.router[i], b.in_port[i], b.in_vc[i], b.candidate_port[k], b.candidate_class[k]);
      }
      sim.apply(choices.data(), choices.size());
      if (cycle % 50 == 0) sim.check_conservation();
    }
    CHECK(acyclic(edges));
    CHECK_EQ(longest, bound);
    CHECK(sim.empty());
  }
}

TEST(choices_outside_the_candidates_are_refused) {
  Simulation sim(config(small_network(), input_queued(), {"external", {}}, planned({{0, 10}})));
  CHECK_THROWS(CoreError, sim.run(10), "external");
  Simulation other(config(small_network(), input_queued(), {"external", {}}, planned({{0, 10}})));
  while (other.collect() == 0) other.apply(nullptr, 0);
  const u32 too_far = other.batch().offsets[1], none = 0;
  CHECK_EQ(too_far, 5u);  // every non-terminal port of the source router
  CHECK_THROWS(ConfigError, other.apply(&too_far, 1), "choice 5", "5 candidates");
  CHECK_THROWS(ConfigError, other.apply(nullptr, 0), "0 choices for 1 requests");
  other.apply(&none, 1);
}

// ---- The watchdog ----

namespace {

// Sends a packet around the routers of its group on one VC until it reaches its destination.
void around(const Network& net, State& s, Batch& b) {
  const Dragonfly& df = as_dragonfly(net);
  for (u32 i = 0; i < b.count; i++) {
    const u32 router = b.router[i], to = net.terminal_router[s.packets[b.packet[i]].destination],
              first = df.group(router) * df.a;
    const u32 next = first + (router - first + 1) % df.a;
    b.out_port[i] = static_cast<u8>(router == to ? net.terminal_port[s.packets[b.packet[i]].destination]
                                                 : df.local_port(router, next));
    b.out_class[i] = 0;
  }
}
const Register<RoutingSpec> ring({"test_ring",
                                  "round the group on one VC",
                                  {"dragonfly"},
                                  {},
                                  [](const Params&, Network&, std::shared_ptr<const ComponentData>&) {
                                    return RoutingFacts{1, 8};
                                  },
                                  around});

// Every terminal of group 0 sends packets to the third next router, so each router's output waits for the next router's
// output.
Config locking(i64 output_buffer) {
  std::vector<Planned> plan;
  for (u32 t = 0; t < 8; t++)
    for (u32 k = 0; k < 30; k++) plan.push_back({t, (t + 6) % 8});
  const Values router = merge(input_queued(), {{"input_buffer_flits", i64{1}},
                                               {"output_buffer_flits", output_buffer},
                                               {"link_latency_ns_local", 2.0},
                                               {"watchdog_ns", 3000.0}});
  return config(small_network(), router, {"test_ring", {}}, planned(plan));
}

}  // namespace

TEST(deadlock_is_named) {
  for (const i64 output_buffer : {0, 1}) {
    Simulation sim(locking(output_buffer));
    const std::string report =
        CHECK_THROWS(CoreError, sim.run(100000), "deadlock", "test_ring", "1 VCs", "flits in flight", "back to router");
    for (u32 router = 0; router < 4; router++)
      CHECK_FOR(report.find("router " + std::to_string(router) + " port") != std::string::npos, report);
    CHECK(sim.state().part.totals.now < 12000);
  }
}

TEST(deadlock_is_found_in_short_runs) {
  Simulation sim(locking(0));
  const auto steps = [&] {
    for (u32 k = 0; k < 1000; k++) sim.run(100);
  };
  CHECK_THROWS(CoreError, steps(), "deadlock");
}

TEST(deadlock_is_found_while_draining) {
  Simulation sim(locking(0));
  sim.run(1);
  CHECK_THROWS(CoreError, sim.drain(100000), "deadlock");
}

TEST(deadlock_is_found_in_halves_of_cycles) {
  Simulation sim(locking(0));
  const auto steps = [&] {
    for (u32 k = 0; k < 100000; k++) {
      sim.collect();
      sim.apply(nullptr, 0);
    }
  };
  CHECK_THROWS(CoreError, steps(), "deadlock", "test_ring");
  CHECK(sim.state().part.totals.now < 12000);
}

TEST(silence_is_no_deadlock) {
  Simulation sim(
      config(small_network(), merge(input_queued(), {{"watchdog_ns", 1000.0}}), {"minimal", {}}, planned({{0, 10}})));
  sim.run(50000);
  CHECK(sim.empty());
  const auto hasty = [] {
    Simulation refused(
        config(small_network(), merge(input_queued(), {{"watchdog_ns", 50.0}}), {"minimal", {}}, planned({{0, 10}})));
  };
  CHECK_THROWS(ConfigError, hasty(), "watchdog_ns", "50");
}

}  // namespace routing_deadlock_test
