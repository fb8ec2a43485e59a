// The block remote_queues: with relation=ugal_global its least value is the choice of UGAL-G.
#include <algorithm>

#include "simcore/topology/dragonfly.hpp"
#include "support/seam.hpp"

namespace learning_remote_queues_test {

using namespace scenes;

Lone dragonfly(const Section& routing) {
  return Lone(build(config(small_network(), hpdc21(), routing, {"uniform", {}})));
}
const Section kSeam = {
    "agent",
    {{"observation", std::string("remote_queues")}, {"relation", std::string("ugal_global")}, {"slots", i64{2}}}};

// Terminal 2 (router 1) to group 1: 5 flits wait for the global link of router 0. The path has 3 hops.
TEST(remote_queues_by_hand) {
  Lone x = dragonfly(kSeam);
  congest(x, 0, 5, 0, 3, 2);
  congest(x, 1, 2, 0, 7, 0);  // the local link does not count
  const Shown shown = show(x, x.send(2, 10));
  CHECK_EQ(shown.count, 2u);
  CHECK_EQ(shown.per_slot[0].at("congestion"), 15.0f / 64);
}

TEST(least_remote_queue_is_the_choice_of_ugal_g) {
  Lone oracle = dragonfly({"ugal_global", {{"threshold", 1.0}, {"hop_weighted", true}}}), x = dragonfly(kSeam);
  u32 detours = 0, decisions = 0;
  for (u32 n = 0; n < 400; n++) {
    const u32 source = below(draw(1, n, 0), 72), destination = below(draw(1, n, 1), 72);
    const u32 group = as_dragonfly(x.net).group(x.net.terminal_router[source]);
    for (u32 router = 4 * group; router < 4 * group + 4; router++)
      for (u32 port = 5; port < 7; port++)
        for (Lone* lone : {&oracle, &x}) congest(*lone, router, port, 0, below(draw(2, n, 8 * router + port), 6), 0);
    const Shown shown = show(x, x.send(source, destination, n));
    if (shown.count < 2) continue;
    const float minimal = shown.per_slot[0].at("congestion"), detour = shown.per_slot[1].at("congestion");
    CHECK(oracle.ask(oracle.send(source, destination, n)) == shown.slots[detour < minimal]);
    detours += detour < minimal;
    decisions++;
  }
  CHECK(detours > 50 && decisions > detours + 50);
}

}  // namespace learning_remote_queues_test
