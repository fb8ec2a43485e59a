// VC allocation, with grants calculated by hand. All packets are generated at cycle 0 and reach their router at
// cycle 1.
#include <map>

#include "support/scenes.hpp"
#include "test.hpp"

namespace stage_vc_allocation_test {

using namespace scenes;

Values with(const std::string& allocation, i64 vcs, const Values& more = {}) {
  return merge(input_queued(), merge({{"vc_allocation", allocation}, {"vcs", vcs}}, more));
}

// The cycles in which the first packets of terminals 0 .. n-1 of a router win the switch.
std::vector<u32> grants(const Values& router, const std::vector<u32>& destinations) {
  std::vector<Planned> plan;
  for (u32 t = 0; t < destinations.size(); t++) plan.push_back({t, destinations[t]});
  std::vector<u32> cycles;
  for (u32 t = 0; t < destinations.size(); t++) {
    Simulation sim(config(hyperx_section({2}, 3), router, {"dimension_order", {}}, planned(plan)));
    sim.watch(t, 0);
    sim.run(50);
    const std::string log = sim.watch_log();
    cycles.push_back(static_cast<u32>(std::stoul(log.substr(log.rfind('\n', log.find("wins the switch")) + 1))));
  }
  return cycles;
}

Section torus(double size) { return {"torus", {{"sizes", std::vector<double>{size, size}}}}; }

using Cycles = std::vector<u32>;

// Two heads choose the same output VC with their routes. With before_switch, the second head waits until the first has
// released the VC at cycle 2. With parallel, it wins the other VC at cycle 1.
TEST(vc_allocation_2x2) {
  CHECK(grants(with("before_switch", 2), {2, 2}) == (Cycles{2, 4}));
  CHECK(grants(with("parallel", 2), {2, 2}) == (Cycles{2, 3}));
  CHECK(grants(with("with_switch", 2), {2, 2}) == (Cycles{1, 2}));
  for (const std::string allocation : {"before_switch", "parallel"})  // different outputs: no conflict
    CHECK(grants(with(allocation, 2), {1, 0}) == (Cycles{2, 2}));
  CHECK(grants(with("parallel", 1), {2, 2}) == (Cycles{2, 4}));  // a single VC is held for two cycles per packet
}

// Three heads for two VCs. The third head wins the VC that the first has released, at cycle 3.
TEST(vc_allocation_3x3) {
  CHECK(grants(with("before_switch", 2), {2, 2, 2}) == (Cycles{2, 4, 6}));
  CHECK(grants(with("parallel", 2), {2, 2, 2}) == (Cycles{2, 3, 4}));
  CHECK(grants(with("parallel", 2), {1, 1, 0}) == (Cycles{2, 3, 2}));
  CHECK(grants(with("with_switch", 2, {{"pipeline_ns", 1.0}}), {2, 2, 2}) == (Cycles{2, 3, 4}));
}

// On a torus with datelines, a packet may change its VC but not its class. Terminals may use every VC.
TEST(parallel_vc_allocation_keeps_the_class) {
  for (const i64 flits : {1, 3}) {
    Simulation sim(config(torus(5), with("parallel", 6, {{"injection_vcs", i64{0}}}),
                          {"dimension_order", {{"deadlock_avoidance", std::string("dateline")}}},
                          {"uniform", {{"load", 0.9}, {"packet_bytes", bytes_of(flits)}}}));
    CHECK_EQ(sim.network().routing_facts.classes, 2u);
    std::map<std::pair<u32, u32>, u32> given;  // class by source and sequence number
    std::vector<Decision> seen;
    for (u32 k = 0; k < 1500; k++) observe(sim, seen);
    u32 checked = 0, vcs = 0;
    for (const Decision& d : seen) {
      const std::pair id{d.packet.source, d.packet.sequence};
      if (d.packet.hops > 0) checked++, CHECK_EQ(d.in_vc % 2, given.at(id));
      vcs |= 1u << d.in_vc;
      given[id] = d.out_class;
    }
    CHECK(checked > 5000);
    CHECK_EQ(vcs, 63u);
    CHECK(sim.drain(20000));
  }
}

}  // namespace stage_vc_allocation_test
