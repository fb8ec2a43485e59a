// The loop of a credit limits the stream of a VC: flits in a loop, divided by its time. All loops are calculated by
// hand for BookSim2's router, with a credit per buffer slot. A cycle of BookSim2 is 1 ns.
#include "support/scenes.hpp"
#include "test.hpp"

using namespace scenes;

namespace {

// configs/router/booksim2.yaml with one VC, for steps of 1 / speedup ns.
Values booksim2(i64 speedup, i64 slots, const Values& more = {}) {
  const double step = 1.0 / static_cast<double>(speedup);
  return merge(input_queued(), merge({{"cycle_ns", step},
                                      {"crossbar_bandwidth_gb_per_s", 128.0 * static_cast<double>(speedup)},
                                      {"link_latency_ns_host", 1 + step / 2},
                                      {"link_latency_ns_local", 1.0},
                                      {"input_latency_ns", step / 2},
                                      {"output_latency_ns", step / 2},
                                      {"input_buffer_flits", slots},
                                      {"output_buffer_flits", i64{256}},
                                      {"nic_buffer_flits", i64{0}},
                                      {"flow_control", std::string("wormhole")},
                                      {"vc_allocation", std::string("parallel")},
                                      {"arbiter", std::string("islip")},
                                      {"link_clock", std::string("flit")},
                                      {"credit_charged", std::string("switch")},
                                      {"credit_delay_ns", 1.0},
                                      {"terminal_buffers", std::string("input_buffer_flits")}},
                                     more));
}

// Flits of a stream from terminal 0 to terminal 1, through two routers, in 1,100 ns.
double delivered(const Values& router, u32 flits = 1) {
  std::vector<Planned> plan(3000, {0, 1});
  Simulation sim(config(hyperx_section({2}, 1), router, {"dimension_order", {}}, planned(plan, flits)));
  const u32 ns = static_cast<u32>(1 / sim.network().cycle_ns);
  sim.run(200 * ns);
  sim.begin_window();
  sim.run(1100 * ns);
  check_conservation(sim.network(), sim.state());
  return statistics(sim.network(), sim.state()).at("flits_delivered");
}

}  // namespace

// Single flits: of two slots that follow each other, the first waits 5 ns and the second 6 ns for its credit, because a
// head wins its VC half a cycle before the switch, and the credit of the terminal counts at the next cycle. BookSim2
// accepts 0.182, 0.364, 0.545, 0.727, 0.909 and 1 with 1 to 6 slots.
TEST(credit_loop_of_single_flits) {
  for (u32 slots = 1; slots <= 6; slots++)
    CHECK_NEAR(delivered(booksim2(2, slots)), std::min(1100.0, 1100 * slots / 5.5), 2);
}

// Without speedup the loop takes 7 ns, and a VC carries a packet every 2 ns, for its allocation and the switch.
TEST(credit_loop_without_speedup) {
  for (u32 slots = 1; slots <= 6; slots++)
    CHECK_NEAR(delivered(booksim2(1, slots)), std::min(550.0, 1100 * slots / 7.0), 2);
}

// A flit in the output queue holds a slot downstream if the switch takes its credit, so the queue adds no storage. If
// the link takes it, the switch fills the queue, and the loop is shorter by the time from the switch to the link.
TEST(credit_charged_at_the_switch) {
  const Values link = {{"credit_charged", std::string("link")}};
  CHECK(delivered(booksim2(1, 2, link)) > delivered(booksim2(1, 2)) * 1.05);
}
