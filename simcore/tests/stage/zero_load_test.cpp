// Zero-load latency to the cycle, compared with numbers calculated by hand from the timing of the model:
//   NIC        wake + hop
//   router     pipeline, then (with output buffers) wake, at least 1
//   channel    hop = output + link + input latency, rounded as one sum; the two host channels of a path share a sum
//   tail       (flits - 1) times the slowest flit time after the head
#include "support/links.hpp"

namespace stage_zero_load_test {

using namespace scenes;

// The Dragonfly p2 a4 h2 g9 with the absolute arrangement. Router r of group 0 has the links to groups 2r+1 and 2r+2.
// In every other group, router 0 has the link to group 0. Terminal = router * 2 + place.
struct Path {
  const char* name;
  u32 source, destination, local, global;  // terminals, and the number of channels on the path
};
constexpr Path kPaths[] = {
    {"same router", 0, 1, 0, 0},
    {"local", 0, 2, 1, 0},           // router 0 -> 1
    {"global", 0, 8, 0, 1},          // router 0 of group 0 -> group 1's router 0
    {"local, global", 2, 8, 1, 1},   // router 1 -> 0 -> group 1
    {"global, local", 0, 10, 1, 1},  // router 0 -> group 1's router 0 -> its router 1
    {"local, global, local", 2, 10, 2, 1},
};

u64 latency(const Values& router, const Path& path, i64 flits) {
  const Arrival got = lone_packet(small_network(), {"minimal", {}}, path.source, path.destination, flits, router);
  CHECK_EQ(got.hops, path.local + path.global);
  return static_cast<u64>(std::llround(got.ns / std::get<double>(router.at("cycle_ns"))));
}

// The times in cycles, calculated by hand: NIC, each router, host channel to the terminal, local and global channel,
// flit time.
struct Timing {
  u32 nic, router, host, local, global, flit;
  constexpr u32 of(const Path& path, u32 flits) const {
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

// The last path as literals: 391 cycles of 1.6 ns = 625.6 ns, 395 cycles of 1.28 ns = 505.6 ns.
static_assert(kInputQueued.of(kPaths[5], 1) == 126 && kHpdc21.of(kPaths[5], 1) == 391 && kSc22.of(kPaths[5], 4) == 395);

TEST(zero_load_of_every_router_on_every_path) {
  for (const auto& [preset, timing] : {std::pair{input_queued(), kInputQueued}, {hpdc21(), kHpdc21}, {sc22(), kSc22}})
    for (const Values& router : {preset, packet_crossbar(preset), merge(preset, {{"flow_control", "wormhole"}})})
      for (const Path& path : kPaths)
        for (const u32 flits : {1u, 2u, 4u, 7u}) CHECK_EQ(latency(router, path, flits), timing.of(path, flits));
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
                                                  {"output_buffer_flits", 54}});
  for (const Path& path : kPaths) {
    const u32 n = path.local + path.global + 1, channels = 10 * path.local + 100 * path.global;
    CHECK_EQ(latency(by_default, path, 1), n * 4 + channels + 3);
    CHECK_EQ(latency(speedup_2, path, 1), 2 * (n * 2 + channels + 3));
  }
}

TEST(zero_load_of_router_options) {
  const auto with = [](const Values& changes, const Path& path, i64 flits) {
    return latency(merge(input_queued(), changes), path, flits);
  };
  // A pipeline of 3 cycles at each of 4 routers adds 12 cycles.
  CHECK_EQ(with({{"pipeline_ns", 3.0}}, kPaths[5], 1), 126u + 12u);
  // Output buffers without a wake-up time: a flit leaves at the earliest in the cycle after its grant.
  CHECK_EQ(with({{"output_buffer_flits", 8}}, kPaths[5], 1), 126u + 4u);
  // A global link with a quarter of the rate takes 4 cycles per flit, and the tail cannot catch up.
  CHECK_EQ(with({{"link_bandwidth_gb_per_s_global", 32.0}}, kPaths[5], 5), 126u + 4u * 4u);
  CHECK_EQ(with({{"link_bandwidth_gb_per_s_global", 32.0}}, kPaths[1], 5), 14u + 4u * 1u);
  // Wormhole with 4 places after a local channel of 11 cycles. A credit leaves with the grant and takes 11 cycles, so a
  // place is used again after 22. 9 flits use place 0 three times: the tail leaves 2 * 22 = 44 cycles after the head.
  CHECK_EQ(with({{"flow_control", "wormhole"}, {"input_buffer_flits", 4}}, kPaths[1], 9), 14u + 44u);
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
