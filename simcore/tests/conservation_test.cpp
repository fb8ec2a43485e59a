// Nothing is lost and nothing is made: checked at every cycle, and after the network has run empty.
#include "scenes.hpp"
#include "test.hpp"

using namespace scenes;

namespace {

void check_scene(const Values& router, i64 packet_flits, const std::string& traffic, Cycle cycles) {
  for (const std::string& routing : kRoutings) {
    Section pattern{traffic, {{"load", 0.9}, {"packet_flits", packet_flits}}};
    if (traffic == "adversarial") pattern.values["shift"] = i64{1};
    Simulation sim(config(small_network(), router, {routing, {}}, pattern, 7));
    sim.begin_window();
    for (Cycle t = 0; t < cycles; t++) {
      sim.run(1);
      sim.check_conservation();
    }
    CHECK_FOR(sim.state().totals.packets_in_network > 100, routing + ": the network is loaded");
    CHECK_FOR(sim.drain(400000), routing + ": drains");
    sim.run(2 * sim.network().longest_delay);  // the last credits
    sim.check_conservation();
    sim.end_window();

    const auto result = statistics(sim.network(), sim.state());
    CHECK_EQ(result.at("packets_delivered"), result.at("packets_injected"));
    CHECK_EQ(result.at("flits_delivered"), result.at("packets_injected") * static_cast<double>(packet_flits));
    CHECK_EQ(sim.state().totals.flits_in_network, 0u);
    const Network& net = sim.network();
    for (u32 p = 0; p < net.port_count; p++) {
      if (net.channels[p].peer == kNone || (!net.is_nic(p) && net.channels[p].kind == PortKind::kTerminal)) continue;
      for (u32 vc = 0; vc < net.vcs; vc++) CHECK_FOR(sim.state().output_vcs[net.vc_id(p, vc)].credits == net.router.input_depth, routing + ": credits are home");
    }
  }
}

}  // namespace

TEST(conservation_input_queued) { check_scene(input_queued(), 1, "adversarial", 800); }
TEST(conservation_hpdc21) { check_scene(hpdc21(), 1, "adversarial", 1500); }
TEST(conservation_sc22) { check_scene(sc22(), 4, "adversarial", 800); }
TEST(conservation_wormhole) { check_scene(small_wormhole(), 5, "adversarial", 600); }
TEST(conservation_shallow_cut_through) {
  check_scene(merge(input_queued(), {{"input_buffer_flits", i64{3}}, {"output_buffer_flits", i64{3}}, {"link_latency_ns_global", 20.0}}), 3, "uniform", 600);
}
TEST(conservation_age_arbiter_and_spare_vcs) {
  check_scene(merge(small_wormhole(), {{"arbiter", std::string("age")}}), 3, "uniform", 400);
  check_scene(merge(small_wormhole(), {{"vcs", i64{12}}}), 3, "uniform", 400);
}

// A packet longer than the buffers with credits per packet: the tail could never follow the head. Such a router either
// carries it or is refused before cycle 0.
TEST(packets_longer_than_the_buffers_with_packet_credits) {
  const Values router = merge(small_wormhole(), {{"credit_granularity", std::string("packet")}});
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
