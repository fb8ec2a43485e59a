// The loop of a credit limits the stream of a VC: flits in a loop, divided by its time. All loops are calculated by
// hand for BookSim2's router, with a credit per buffer slot. A cycle of BookSim2 is 1 ns.
#include "support/scenes.hpp"
#include "test.hpp"

namespace stage_credit_loop_test {

using namespace scenes;

// Flits of a stream from terminal 0 to terminal 1, through two routers, in 1,100 ns.
double delivered(const Values& router) {
  const std::vector<Planned> plan(3000, {0, 1});
  Simulation sim(config(hyperx_section({2}, 1), router, {"dimension_order", {}}, planned(plan)));
  const u32 ns = static_cast<u32>(1 / sim.network().cycle_ns);
  sim.run(200 * ns);
  sim.begin_window();
  sim.run(1100 * ns);
  sim.check_conservation();
  return statistics(sim.network(), sim.state()).at("flits_delivered");
}

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

// A credit that the link takes is in its loop for a cycle less, the time from the switch to the link.
TEST(credit_charged_at_the_link) {
  for (u32 slots = 1; slots <= 3; slots++)
    CHECK_NEAR(delivered(booksim2(1, slots, {{"credit_charged", "link"}})), 1100 * slots / 6.0, 2);
}

}  // namespace stage_credit_loop_test
