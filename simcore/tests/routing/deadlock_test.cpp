// The search for cycles of channel dependencies, and the watchdog on a routing that deadlocks.

#include "simcore/registry.hpp"
#include "simcore/rng.hpp"
#include "simcore/topology/dragonfly.hpp"
#include "support/dependencies.hpp"
#include "support/scenes.hpp"
#include "test.hpp"

namespace routing_deadlock_test {

using namespace scenes;

TEST(cycle_search_finds_cycles) {
  CHECK(acyclic({{1, {2, 3}}, {2, {3}}}));
  CHECK(!acyclic({{1, {2}}, {2, {3}}, {3, {1}}, {4, {1}}}));
  CHECK(!acyclic({{1, {1}}}));
  CHECK(acyclic({}));
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

// In long and short runs, while the network drains, and in halves of cycles.
TEST(deadlock_is_named) {
  const std::function<void(Simulation&)> ways[] = {[](Simulation& sim) { sim.run(100000); },
                                                   [](Simulation& sim) {
                                                     for (u32 k = 0; k < 1000; k++) sim.run(100);
                                                   },
                                                   [](Simulation& sim) { sim.run(1), sim.drain(100000); },
                                                   [](Simulation& sim) {
                                                     for (u32 k = 0; k < 100000; k++)
                                                       sim.collect(), sim.apply(nullptr, 0);
                                                   }};
  for (const i64 output_buffer : {0, 1})
    for (const auto& way : ways) {
      Simulation sim(locking(output_buffer));
      const std::string report = CHECK_THROWS(CoreError, way(sim), "deadlock", "test_ring", "1 VCs", "flits in flight");
      for (u32 router = 0; router < 4; router++)
        CHECK_FOR(report.find("router " + std::to_string(router) + " port") != std::string::npos, report);
      CHECK(sim.state().part.totals.now < 12000);
    }
}

TEST(silence_is_no_deadlock) {
  Simulation sim(
      config(small_network(), merge(input_queued(), {{"watchdog_ns", 1000.0}}), {"minimal", {}}, planned({{0, 10}})));
  sim.run(50000);
  CHECK(sim.empty());
}

}  // namespace routing_deadlock_test
