// Flits and credits are conserved in every cycle, and after the network has drained.
#include "support/scenes.hpp"
#include "test.hpp"

namespace conservation_test {

using namespace scenes;

void check_network(const Section& network, const std::vector<std::string>& routings, const Values& router,
                   const Section& pattern, Cycle cycles) {
  for (const std::string& routing : routings) {
    Simulation sim(config(network, router, {routing, {}}, {pattern.name, merge(pattern.values, {{"load", 0.9}})}, 7));
    sim.begin_window();
    for (Cycle t = 0; t < cycles; t++) {
      sim.run(1);
      sim.check_conservation();
    }
    CHECK_FOR(sim.state().part.totals.packets_in_network > sim.network().terminals,
              routing + ": the network is loaded");
    CHECK_FOR(sim.drain(400000), routing + ": drains");
    sim.run(2 * sim.network().longest_delay);  // until the last credits have returned
    sim.check_conservation();
    sim.end_window();

    const auto result = statistics(sim.network(), sim.state());
    CHECK_EQ(result.at("packets_delivered"), result.at("packets_injected"));
    CHECK_EQ(sim.state().part.totals.flits_in_network, 0u);
    const Network& net = sim.network();
    if (net.least_packet_flits == net.most_packet_flits)
      CHECK_EQ(result.at("flits_delivered"), result.at("packets_injected") * net.most_packet_flits);
    else
      CHECK(result.at("flits_delivered") > result.at("packets_injected") * net.least_packet_flits &&
            result.at("flits_delivered") < result.at("packets_injected") * net.most_packet_flits);
    for (u32 p = 0; p < net.port_count; p++) {
      if (net.channels[p].peer == kNone || (!net.is_nic(p) && net.channels[p].kind == PortKind::kTerminal)) continue;
      for (u32 vc = 0; vc < net.vcs; vc++)
        CHECK_FOR(sim.state().output_vcs[net.vc_id(p, vc)].credits == net.router.input_depth,
                  routing + ": credits are home");
    }
  }
}

void check_scene(const Values& router, i64 packet_flits, const std::string& traffic, Cycle cycles) {
  check_network(small_network(), kRoutings, router, {traffic, {{"packet_bytes", bytes_of(packet_flits)}}}, cycles);
}
void check_hyperx(const Values& router, const Section& traffic, Cycle cycles) {
  check_network(hyperx_section({4, 3}, 3, {{"links", std::vector<double>{1, 2}}}), kHyperXRoutings, router, traffic,
                cycles);
}

const Values kSizes = {{"packet_bytes_max", bytes_of(16)}};

TEST(conservation_input_queued) { check_scene(input_queued(), 1, "adversarial", 800); }
TEST(conservation_hpdc21) { check_scene(hpdc21(), 1, "adversarial", 1500); }
TEST(conservation_sc22) { check_scene(sc22(), 4, "adversarial", 800); }
TEST(conservation_packet_crossbar) {
  check_scene(packet_crossbar(sc22()), 4, "adversarial", 800);
  check_hyperx(packet_crossbar(merge(input_queued(), {{"input_buffer_flits", 40}, {"arbiter", "age"}})),
               {"uniform", kSizes}, 300);
}
TEST(conservation_wormhole) { check_scene(small_wormhole(), 5, "adversarial", 600); }
TEST(conservation_shallow_cut_through) {
  check_scene(
      merge(input_queued(), {{"input_buffer_flits", 3}, {"output_buffer_flits", 3}, {"link_latency_ns_global", 20.0}}),
      3, "uniform", 600);
}
TEST(conservation_age_arbiter_and_spare_vcs) {
  check_scene(merge(small_wormhole(), {{"arbiter", "age"}}), 3, "uniform", 400);
  check_scene(merge(small_wormhole(), {{"vcs", 12}}), 3, "uniform", 400);
}

TEST(conservation_sc19) { check_hyperx(sc19(), {"tornado", kSizes}, 700); }
TEST(conservation_sc19_shallow) {
  check_hyperx(merge(sc19(), {{"input_buffer_flits", 16}, {"output_buffer_flits", 16}, {"link_latency_ns_local", 9.0}}),
               {"uniform", kSizes}, 400);
}
TEST(conservation_hyperx_wormhole) {
  for (const std::string arbiter : {"age", "round_robin"})
    check_hyperx(merge(small_wormhole(), {{"arbiter", arbiter}, {"nic_buffer_flits", 20}}), {"adversarial", kSizes},
                 300);
}
TEST(conservation_hyperx_input_queued) {
  check_hyperx(merge(input_queued(), {{"input_buffer_flits", 4}}), {"uniform", {}}, 400);
}

// A packet is longer than the buffers and credits count packets, so its tail could not follow its head. The router
// carries the packet or is refused before cycle 0.
TEST(packets_longer_than_the_buffers_with_packet_credits) {
  const Values router = merge(small_wormhole(), {{"credit_granularity", "packet"}});
  const auto carry = [&] {
    Simulation sim(config(small_network(), router, {"minimal", {}}, planned({{0, 10}}, 5)));
    sim.run(1);
    CHECK(sim.drain(100000));
  };
  try {
    carry();
  } catch (const ConfigError& error) {
    CHECK(std::string(error.what()).find("credit_granularity") != std::string::npos);
  }
}

}  // namespace conservation_test
