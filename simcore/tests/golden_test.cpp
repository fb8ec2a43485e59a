// One state hash per scene. Any change of behaviour changes the hash. An intended change updates these numbers, and the
// message of a failed case prints the new values.
#include <cstdio>

#include "support/scenes.hpp"
#include "test.hpp"

namespace golden_test {

using namespace scenes;

struct Scene {
  const char* name;
  Values (*router)();
  const char* routing;
  const char* traffic;
  i64 packet_flits;
  u64 hash;
};

Values islip() { return booksim2(2, 16, {{"vcs", i64{4}}}); }

// 72 terminals, seed 1, load 0.5, measurement window from cycle 500, hash after 3,000 cycles.
const Scene kScenes[] = {
    {"classic", input_queued, "minimal", "uniform", 1, 0x709a7e4754bfaaf3ull},
    {"hpdc21", hpdc21, "q_adaptive", "adversarial", 1, 0x418c766de48a8c71ull},
    {"sc22", sc22, "par", "random_neighbors", 4, 0x722cc4123a4aa713ull},
    {"wormhole", small_wormhole, "ugal_group", "permutation", 5, 0x6da8109b7fb6bc51ull},
    {"islip", islip, "minimal", "uniform", 4, 0xa0dbbaf649b2413bull},
};

TEST(golden_hashes) {
  std::string changed;
  for (const Scene& scene : kScenes) {
    Simulation sim(config(small_network(), scene.router(), {scene.routing, {}},
                          {scene.traffic, {{"load", 0.5}, {"packet_bytes", bytes_of(scene.packet_flits)}}}));
    sim.run(500);
    sim.begin_window();
    sim.run(2500);
    char got[32];
    std::snprintf(got, sizeof got, "0x%016llxull", static_cast<unsigned long long>(sim.hash()));
    if (sim.hash() != scene.hash) changed += std::string("\n  ") + scene.name + ": " + got;
  }
  CHECK_EQ(changed, "");
}

}  // namespace golden_test
