// In every configuration of a router, waiting packets are woken and no packet waits without end.
#include "simcore/rng.hpp"
#include "support/scenes.hpp"
#include "test.hpp"

namespace stage_router_waiting_test {

using namespace scenes;

// Random small networks are overloaded and then drained. A packet that was not woken would remain.
TEST(random_routers_run_empty) {
  const auto pick = [](u32 scene, u32 k, u32 n) { return below(draw(77, scene, k), n); };
  std::map<std::string, u32> used;
  for (u32 scene = 0; scene < 400; scene++) {
    const bool dragonfly = pick(scene, 0, 5) == 0;
    const Section topology =
        dragonfly ? dragonfly_section(2, 3, 1, 4)
                  : hyperx_section(std::vector<std::vector<double>>{{3, 3}, {2, 3}, {4}, {2, 2, 2}}[pick(scene, 1, 4)],
                                   2, {{"links", std::vector<double>{1.0 + pick(scene, 2, 2)}}});
    const auto& routings = dragonfly ? kRoutings : kHyperXRoutings;
    const std::string routing = routings[pick(scene, 3, static_cast<u32>(routings.size()))];
    const bool cut_through = pick(scene, 4, 2), buffered = pick(scene, 5, 2), whole_packets = pick(scene, 6, 4) == 0;
    const i64 most = std::vector<i64>{1, 2, 5, 16}[pick(scene, 7, 4)],
              depth = cut_through || whole_packets ? most + pick(scene, 8, 6) : 1 + pick(scene, 8, 6);
    const std::string arbiter =
        std::vector<std::string>{"age", "age", "round_robin", "least_recently_served"}[pick(scene, 9, 4)];
    Values router =
        merge(input_queued(),
              {{"flow_control", cut_through ? "virtual_cut_through" : "wormhole"},
               {"arbiter", arbiter},
               {"input_buffer_flits", depth},
               {"output_buffer_flits", buffered ? (cut_through ? most : 1) + i64{pick(scene, 10, 4)} : i64{0}},
               {"nic_buffer_flits", most + pick(scene, 11, 20)},
               {"link_latency_ns_local", 1.0 + pick(scene, 12, 12)},
               {"link_latency_ns_global", 6.0},
               {"injection_vcs", pick(scene, 13, 2)},
               {"credit_latency", std::string(pick(scene, 14, 2) ? "link" : "hop")},
               {"credit_granularity", whole_packets ? "packet" : "flit"},
               {"link_sharing", std::string(pick(scene, 21, 2) ? "packet" : "flit")},
               {"vc_allocation", std::string(routing == "dal" || pick(scene, 15, 3)                ? "with_switch"
                                             : arbiter == "round_robin" && pick(scene, 22, 2) == 0 ? "parallel"
                                                                                                   : "before_switch")},
               {"pipeline_ns", 1.0 * pick(scene, 16, 3)},
               {"watchdog_ns", 5000.0}});
    if (pick(scene, 17, 3) == 0) router["crossbar_bandwidth_gb_per_s"] = 64.0;
    else if (buffered && arbiter != "round_robin" && pick(scene, 18, 2))
      router["crossbar_ports"] = std::string("per_vc");
    Section chosen{routing, {}};
    if (routing[0] == 'q') chosen.values["epsilon"] = 0.2;
    const auto with = [&](const Values& changes) {
      return config(topology, merge(router, changes), chosen,
                    {"uniform", {{"load", 1.0}, {"packet_bytes_max", bytes_of(most)}}}, scene);
    };
    // The required VCs, or several per class.
    const u32 classes = build(with({{"vcs", 0}}))->routing_facts.classes;
    const Config made = with({{"vcs", classes * (1 + pick(scene, 19, 3)) + pick(scene, 20, 2)}});
    std::string name = "scene " + std::to_string(scene) + " " + routing;
    for (const auto& [key, value] : made.router.values) name += " " + key + "=" + to_string(value);
    Simulation sim(made);
    try {
      for (u32 k = 0; k < 6; k++) {
        sim.run(60);
        sim.check_conservation();
      }
      CHECK_FOR(sim.drain(200000), name);
      sim.run(100);
      sim.check_conservation();
    } catch (const CoreError& error) {
      CHECK_FOR(false, name + ": " + error.what());
    }
    CHECK_FOR(sim.state().part.totals.flits_ejected > 200, name);
    for (const InputVc& in : sim.state().input_vcs) CHECK_FOR(in.count == 0, name);
    for (const u16 next : sim.state().park_next) CHECK_FOR(next == kNotParked, name);
    for (const u32 owner : sim.state().owners) CHECK_FOR(owner == kNone, name);
    for (const OutputVc& out : sim.state().output_vcs) CHECK_FOR(out.parked == kNoVc && out.count == 0, name);
    for (const Port& port : sim.state().ports)
      CHECK_FOR(port.queued == 0 && port.load == 0 && port.waiting_vcs == 0, name);
    used[arbiter]++;
  }
  CHECK(used.size() == 3);
}

// A port is stalled while a packet wants to leave by it and cannot. A head of dal that finds no room takes another
// port, and its first port must stop counting. No port is stalled in an empty network.
TEST(no_port_is_stalled_without_a_waiting_packet) {
  for (const std::string routing : {"omni_war", "dim_war", "dal"}) {
    const Values router = merge(input_queued(), {{"input_buffer_flits", 2}, {"link_latency_ns_local", 8.0}});
    Simulation sim(config(hyperx_section({3, 3}, 2), router, {routing, {}}, {"uniform", {{"load", 1.0}}}));
    sim.begin_window();
    u64 stalled = 0;
    for (u32 k = 0; k < 500; k++) {
      sim.run(1);
      for (const Port& port : sim.state().ports) stalled += port.stalled;
    }
    CHECK(stalled > 0);
    CHECK(sim.drain(10000));
    sim.run(100);
    for (const Port& port : sim.state().ports) CHECK_FOR(!port.stalled, routing);
  }
}

}  // namespace stage_router_waiting_test
