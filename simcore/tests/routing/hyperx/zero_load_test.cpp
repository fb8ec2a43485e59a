// Zero-load latency on HyperX, to the cycle, with the SC'19 router (cycle 1 ns). Host links at both ends take 5 ns, a
// router takes 56 ns (a cycle in the crossbar, 55 ns after the output queue), and links take 50 ns:
//   10 + 56 (hops + 1) + 50 hops ns, and 1 ns for each flit after the first.

#include "simcore/registry.hpp"
#include "support/scenes.hpp"
#include "test.hpp"

namespace routing_hyperx_zero_load_test {

using namespace scenes;

struct Result {
  double ns, hops;
};
Result packet(const Section& topology, const Values& router, const Section& routing, u32 destination, i64 flits,
              u64 seed = 1) {
  Simulation sim(config(topology, router, routing, planned({{0, destination}}, flits), seed));
  sim.begin_window();
  sim.run(1);
  CHECK(sim.drain(100000));
  const auto result = statistics(sim.network(), sim.state());
  CHECK_EQ(result.at("packets_delivered"), 1);
  return {result.at("network_latency_mean_ns"), result.at("hops_mean")};
}

Section quiet(const std::string& name) { return {name, name[0] == 'q' ? Values{{"epsilon", 0.0}} : Values{}}; }

// In round n every terminal sends one packet to the terminal whose number differs in the bits of n. All packets of a
// round together use every link at most once, so they never meet.
u32 shifted(const Network& net, const ComponentData&, u64, u32 terminal, u32, u32 round, u32) {
  return terminal ^ (round % net.terminals);
}
const Register<TrafficSpec> shifts({"test_shifts",
                                    "every pair of terminals in turn",
                                    {},
                                    {},
                                    [](const Params&, const Network&) {
                                      return std::make_shared<const ComponentData>();
                                    },
                                    shifted});

// 4x4x4, T=1, from (0, 0, 0) to (0, 0, 0), (1, 0, 0), (1, 0, 2), (1, 3, 2): 66, 172, 278 and 384 ns.
TEST(hyperx_zero_load_of_every_routing) {
  const u32 destinations[] = {0, 1, 33, 45};
  const double literals[] = {66, 172, 278, 384};
  for (const std::string& routing : kHyperXRoutings)
    for (u32 hops = 0; hops < 4; hops++)
      for (const i64 flits : {1, 2, 16}) {
        const Result got = packet(hyperx_section({4, 4, 4}, 1), sc19(), quiet(routing), destinations[hops], flits);
        CHECK_FOR(got.ns == 10 + 56 * (got.hops + 1) + 50 * got.hops + static_cast<double>(flits) - 1,
                  routing + ", " + std::to_string(got.ns) + " ns");
        if (routing == "valiant" && hops > 0) continue;
        CHECK_FOR(got.hops == hops && got.ns == literals[hops] + static_cast<double>(flits) - 1,
                  routing + ", " + std::to_string(got.ns) + " ns");
      }
}

// The study's system, 8x8x8. The mean head latency of UR over all pairs of routers, including the own one, is 10 + 56
// * 3.625 + 50 * 2.625 = 344.25 ns. The longest is 384 ns. One terminal per router suffices, because other terminals
// have the same paths.
TEST(hyperx_zero_load_of_all_pairs) {
  const Section traffic = {"test_shifts", {{"injection", std::string("fixed_interval")}, {"load", 1.0 / 400}}};
  Simulation sim(config(hyperx_section({8, 8, 8}, 1), sc19(), {"dimension_order", {}}, traffic));
  sim.begin_window();
  sim.run(512 * 400);
  const auto result = statistics(sim.network(), sim.state());
  CHECK_EQ(result.at("packets_delivered"), 512 * 512);
  CHECK_EQ(result.at("hops_mean"), 2.625);
  CHECK_NEAR(result.at("packet_latency_mean_ns"), 344.25, 1e-9);
  CHECK_EQ(result.at("packet_latency_max_ns"), 384);
  CHECK_EQ(result.at("nonminimal_fraction"), 0);
}

// The router of input_queued(): NIC 1, a hop 11, host channel 2 cycles (stage/zero_load_test.cpp): 3 + 11 h. The router
// of hpdc21(): 66 + 52 h.
TEST(hyperx_zero_load_with_other_routers) {
  for (const auto& [to, hops] : {std::pair{0u, 0u}, {1u, 1u}, {5u, 2u}})
    for (const std::string routing : {"dimension_order", "dim_war", "omni_war", "q_adaptive"}) {
      CHECK_EQ(packet(hyperx_section({4, 4}, 1), input_queued(), quiet(routing), to, 1).ns, 3 + 11 * hops);
      CHECK_NEAR(packet(hyperx_section({4, 4}, 1), hpdc21(), quiet(routing), to, 1).ns / 1.6, 66 + 52 * hops, 1e-6);
    }
}

// With local_dimensions=1 the links of the second dimension are global, 100 ns instead of 10.
TEST(hyperx_zero_load_of_global_dimensions) {
  const Section topology = hyperx_section({4, 4}, 1, {{"local_dimensions", i64{1}}});
  CHECK_EQ(packet(topology, input_queued(), {"dimension_order", {}}, 1, 1).ns, 3 + 11);
  CHECK_EQ(packet(topology, input_queued(), {"dimension_order", {}}, 4, 1).ns, 3 + 101);
  CHECK_EQ(packet(topology, input_queued(), {"dimension_order", {}}, 5, 1).ns, 3 + 11 + 101);
}

}  // namespace routing_hyperx_zero_load_test
