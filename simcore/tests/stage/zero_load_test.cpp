// Zero-load latency to the cycle, compared with numbers calculated by hand from the timing of the model:
//   NIC        wake + hop
//   router     pipeline, then (with output buffers) wake, at least 1
//   channel    hop = output + link + input latency, rounded as one sum; the two host channels of a path share a sum
//   tail       (flits - 1) times the slowest flit time after the head
#include "support/scenes.hpp"
#include "test.hpp"

namespace stage_zero_load_test {

using namespace scenes;

// The Dragonfly p2 a4 h2 g9 with the absolute arrangement. Router r of group 0 has the links to groups 2r+1 and 2r+2.
// In every other group, router 0 has the link to group 0. Terminal = router * 2 + place.
struct Path {
  const char* name;
  u32 source, destination, local, global;  // terminals, and the number of channels on the path
};
const Path kPaths[] = {
    {"same router", 0, 1, 0, 0},
    {"local", 0, 2, 1, 0},           // router 0 -> 1
    {"global", 0, 8, 0, 1},          // router 0 of group 0 -> group 1's router 0
    {"local, global", 2, 8, 1, 1},   // router 1 -> 0 -> group 1
    {"global, local", 0, 10, 1, 1},  // router 0 -> group 1's router 0 -> its router 1
    {"local, global, local", 2, 10, 2, 1},
};

u64 latency(const Values& router, const Path& path, i64 flits, const std::string& routing = "minimal") {
  Simulation sim(config(small_network(), router, {routing, {}}, planned({{path.source, path.destination}}, flits)));
  sim.begin_window();
  sim.run(1);
  CHECK(sim.drain(100000));
  const auto result = statistics(sim.network(), sim.state());
  CHECK_EQ(result.at("packets_delivered"), 1);
  CHECK_EQ(result.at("hops_mean"), path.local + path.global);
  return static_cast<u64>(std::llround(result.at("network_latency_mean_ns") / sim.network().cycle_ns));
}

// The times in cycles, calculated by hand: NIC, each router, host channel to the terminal, local and global channel,
// flit time.
struct Timing {
  u32 nic, router, host, local, global, flit;
  u32 of(const Path& path, u32 flits) const {
    const u32 routers = path.local + path.global + 1;
    return nic + routers * router + path.local * local + path.global * global + host + (flits - 1) * flit;
  }
};
// input_queued, cycle 1 ns: host channels 2*1 + 0 + 1 = 3 = 1 + 2; local 11, global 101.
constexpr Timing kInputQueued = {1, 0, 2, 11, 101, 1};
// hpdc21, cycle 1.6 ns: flit 32 ns = 20; wake 20; pipeline 1; host channels 40 ns = 25 = 12 + 13; local 50 ns = 31;
// global 320 ns = 200.
constexpr Timing kHpdc21 = {20 + 12, 1 + 20, 13, 31, 200, 20};
// sc22, cycle 1.28 ns: flit 5.12 ns = 4; wake 4; pipeline 1; host channels 40 ns = 31 = 15 + 16; local 39; global 250.
constexpr Timing kSc22 = {4 + 15, 1 + 4, 16, 39, 250, 4};

void check_all(const Values& router, const Timing& timing) {
  for (const Path& path : kPaths)
    for (const i64 flits : {1, 2, 4, 7}) {
      const auto got = latency(router, path, flits);
      CHECK_FOR(got == timing.of(path, static_cast<u32>(flits)),
                std::string(path.name) + ", " + std::to_string(flits) + " flits: " + std::to_string(got) + " cycles");
    }
}

TEST(zero_load_input_queued) { check_all(input_queued(), kInputQueued); }
TEST(zero_load_hpdc21) { check_all(hpdc21(), kHpdc21); }
TEST(zero_load_sc22) { check_all(sc22(), kSc22); }
TEST(zero_load_packet_crossbar) {
  for (const auto& [preset, timing] :
       {std::pair{input_queued(), kInputQueued}, std::pair{hpdc21(), kHpdc21}, std::pair{sc22(), kSc22}})
    check_all(packet_crossbar(preset), timing);
}
TEST(zero_load_wormhole) {
  for (const auto& [preset, timing] :
       {std::pair{input_queued(), kInputQueued}, std::pair{hpdc21(), kHpdc21}, std::pair{sc22(), kSc22}})
    check_all(merge(preset, {{"flow_control", std::string("wormhole")}}), timing);
}

// The same numbers as literals. They would reveal an error in the formula above.
TEST(zero_load_literals) {
  const u64 classic[] = {3, 14, 104, 115, 115, 126}, hpdc[] = {66, 118, 287, 339, 339, 391},
            sc[] = {52, 96, 307, 351, 351, 395};
  for (u32 k = 0; k < 6; k++) {
    CHECK_EQ(latency(input_queued(), kPaths[k], 1), classic[k]);
    CHECK_EQ(latency(hpdc21(), kPaths[k], 1), hpdc[k]);  // 391 cycles of 1.6 ns = 625.6 ns
    CHECK_EQ(latency(sc22(), kPaths[k], 4), sc[k]);      // 395 cycles of 1.28 ns = 505.6 ns
  }
}

// BookSim2's dragonflynew takes n (k + 1) + D + 3 cycles of 1 ns. n is the number of routers, and D is the sum of the
// latencies of the channels between them (local 10, global 100). k is 3 by default, and 1 with lookahead routing at
// internal speedup 2. `by_default` has the latency of k = 3. `speedup_2` has the latency of k = 1, in cycles of 0.5 ns.
TEST(zero_load_as_booksim2) {
  const Values by_default =
      merge(input_queued(), {{"link_latency_ns_host", 1.5}, {"pipeline_ns", 2.0}, {"output_latency_ns", 2.0}});
  const Values speedup_2 = merge(input_queued(), {{"cycle_ns", 0.5},
                                                  {"crossbar_bandwidth_gb_per_s", 256.0},
                                                  {"link_latency_ns_host", 1.5},
                                                  {"pipeline_ns", 0.5},
                                                  {"output_latency_ns", 1.0},
                                                  {"output_buffer_flits", i64{54}}});
  for (const Path& path : kPaths) {
    const u32 n = path.local + path.global + 1, channels = 10 * path.local + 100 * path.global;
    CHECK_EQ(latency(by_default, path, 1), n * 4 + channels + 3);
    CHECK_EQ(latency(speedup_2, path, 1), 2 * (n * 2 + channels + 3));
  }
}

TEST(zero_load_of_every_routing_within_a_group) {
  for (const std::string& routing : kRoutings) {
    CHECK_EQ(latency(hpdc21(), kPaths[0], 1, routing), 66u);
    CHECK_EQ(latency(hpdc21(), kPaths[1], 1, routing), 118u);
  }
}

// A pipeline of 3 cycles at each of 4 routers adds 12 cycles.
TEST(zero_load_pipeline) { CHECK_EQ(latency(merge(input_queued(), {{"pipeline_ns", 3.0}}), kPaths[5], 1), 126u + 12u); }

// Output buffers without a wake-up time: a flit leaves at the earliest in the cycle after its grant.
TEST(zero_load_output_buffers) {
  CHECK_EQ(latency(merge(input_queued(), {{"output_buffer_flits", i64{8}}}), kPaths[5], 1), 126u + 4u);
}

// A global link with a quarter of the rate takes 4 cycles per flit, and the tail cannot catch up.
TEST(zero_load_slow_link) {
  const Values router = merge(input_queued(), {{"link_bandwidth_gb_per_s_global", 32.0}});
  CHECK_EQ(latency(router, kPaths[5], 5), 126u + 4u * 4u);
  CHECK_EQ(latency(router, kPaths[1], 5), 14u + 4u * 1u);
}

// Wormhole with 4 places after a local channel of 11 cycles. A credit leaves with the grant and takes 11 cycles, so a
// place is used again after 22. 9 flits use place 0 three times: the tail leaves 2 * 22 = 44 cycles after the head.
TEST(zero_load_throttled_by_credits) {
  const Values router =
      merge(input_queued(), {{"flow_control", std::string("wormhole")}, {"input_buffer_flits", i64{4}}});
  CHECK_EQ(latency(router, kPaths[1], 9), 14u + 44u);
}

// Five packets of one terminal share the link of its NIC. Each follows the previous one after a flit time.
TEST(serialisation_at_the_nic) {
  Simulation sim(
      config(small_network(), hpdc21(), {"minimal", {}}, planned({{2, 10}, {2, 10}, {2, 10}, {2, 10}, {2, 10}})));
  sim.begin_window();
  sim.run(1);
  CHECK(sim.drain(10000));
  const auto result = statistics(sim.network(), sim.state());
  CHECK_NEAR(result.at("network_latency_max_ns") / 1.6, 391 + 4 * 20, 1e-6);
  CHECK_NEAR(result.at("network_latency_mean_ns") / 1.6, 391 + 2 * 20, 1e-6);
}

}  // namespace stage_zero_load_test
