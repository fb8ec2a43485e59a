// The relation of detours on any graph, and Q-adaptive with it: every path up to a bound on hops, without a hop
// straight back.
#include "simcore/graph.hpp"
#include "support/crafted.hpp"
#include "support/tables.hpp"
#include "support/torus.hpp"

namespace routing_graph_detours_test {

using namespace scenes;

constexpr u32 kDeroutes = 2;

// Counts the walks of at most `hops` hops that never take a link straight back, from the wiring alone.
u64 walks(const Network& net, u32 router, u32 from, u32 to, u32 hops) {
  if (router == to) return 1;
  if (hops == 0) return 0;
  u64 count = 0;
  for (u32 k = 0; k < net.radix; k++) {
    const u32 port = net.port(router, k);
    if (!net.is_link(port)) continue;
    const u32 next = net.next_router(port);
    if (next != from) count += walks(net, next, router, to, hops - 1);
  }
  return count;
}

// Counts the paths that the relation offers. The VC class is the number of hops done, and no path is longer than
// `most`.
u64 offered(Lone& x, Place at, u32 from, u32 to, u32 hops, u32 most) {
  x.packet().hops = static_cast<u8>(hops);
  const auto steps = x.candidates(at);
  if (at.router == to) {
    CHECK(steps.size() == 1 && x.ejects(at.router, steps[0]) && hops <= most);
    return 1;
  }
  u64 count = 0;
  for (const Step& step : steps) {
    const Place next = x.behind(at.router, step);
    CHECK(step.vc_class == hops && next.router != from);
    count += offered(x, next, at.router, to, hops + 1, most);
  }
  return count;
}

TEST(detours_are_all_paths_without_a_hop_straight_back) {
  for (const Section& topology :
       {torus_section({"torus", {8}}), torus_section({"torus", {5, 4}, {1, 2}}), torus_section({"torus", {4, 4, 3}}),
        random_regular(16, 3, 1), random_regular(24, 5, 2),
        Section{"fat_tree", {{"children", std::vector<double>{2, 2, 2}}, {"parents", std::vector<double>{1, 2, 2}}}},
        Section{"slim_fly", {{"q", i64{5}}}}})
    for (const Section& routing : {Section{"external", {{"relation", std::string("detours")}}}, {"q_adaptive", {}}}) {
      Lone x(build(config(topology, input_queued(), routing, {"uniform", {}})));
      u64 longer = 0;
      for (u32 destination = 1; destination < x.net.terminals; destination += 3) {
        const u32 from = x.net.terminal_router[0], to = x.net.terminal_router[destination];
        if (from == to) continue;
        const u32 minimal = distance(x.net, *x.net.graphs[0], from, to), most = minimal + kDeroutes;
        const u64 all = walks(x.net, from, kNone, to, most);
        CHECK_EQ(offered(x, x.send(0, destination), kNone, to, 0, most), all);
        longer += all - walks(x.net, from, kNone, to, minimal);
      }
      CHECK_FOR(longer > 0 || x.net.radix == 3, routing.name + " " + x.net.fingerprint);
    }
}

// A packet goes straight back if a link has failed and no other port leads closer.
TEST(detours_go_back_from_a_dead_end) {
  // 0 - 1 - 2 and 0 - 3 - 4 - 2. The link 1 - 2 fails while a packet is on its way to 1.
  Config wanted = config(
      {"graph", {{"links", std::vector<double>{0, 1, 1, 2, 0, 3, 3, 4, 4, 2}}, {"terminals_per_router", i64{1}}}},
      input_queued(), {"q_adaptive", {}}, planned({{0, 2}}));
  wanted.failures = {{"events", std::string("1-2@5")}};
  Simulation sim(wanted);
  sim.begin_window();
  sim.run(2000);
  CHECK_EQ(sim.state().part.window.delivered, 1u);
  CHECK_EQ(sim.state().part.window.hops, 5u);  // to 1 and back, and the other path
}

}  // namespace routing_graph_detours_test
