// The candidates that all routings of a Dragonfly+ share: freedom from deadlock on many shapes, and routings that
// choose only among them.
#include <algorithm>

#include "simcore/topology/dragonfly_plus.hpp"
#include "support/every_path.hpp"
#include "support/links.hpp"
#include "test.hpp"

namespace routing_dragonfly_plus_candidates_test {

using namespace scenes;

Section plus(i64 leaves, i64 spines, i64 h, i64 g, i64 p = 1) {
  return {"dragonfly_plus",
          {{"terminals_per_leaf", p},
           {"leaves_per_group", leaves},
           {"spines_per_group", spines},
           {"global_ports", h},
           {"groups", g}}};
}

// The shapes have spines with and without a link to a group, several links between two groups, unused global ports, and
// a single leaf or spine per group.
TEST(dragonfly_plus_candidates_have_no_cycle_on_any_shape) {
  for (const Section& topology : {plus(2, 2, 2, 5), plus(2, 3, 1, 4), plus(2, 2, 3, 4), plus(1, 3, 2, 3),
                                  plus(3, 1, 4, 5), plus(2, 2, 2, 2), plus(2, 4, 1, 4)}) {
    u32 least = 99, most = 0;
    for (const std::string routing : {"minimal", "fpar"}) {
      const Edges edges =
          dependencies_of(network_of(topology, routing), 1, [&](const Lone& x, const Place&, const Step& s) {
            if (s.vc_class == kAnyClass) return;
            least = std::min(least, u32{s.vc_class}), most = std::max(most, u32{s.vc_class});
            CHECK(s.vc_class < x.net.routing_facts.classes);
          });
      CHECK(acyclic(edges));
      CHECK(edge_count(edges) > 0);
    }
    CHECK_EQ(least, 0u);
    CHECK_EQ(most, as_dragonfly_plus(*network_of(topology)).g > 2 ? 1u : 0u);
  }
}

// Followed hop by hop on an idle network, every routing takes one of the candidates of FPAR, in the same class.
TEST(dragonfly_plus_routings_choose_among_the_candidates) {
  for (const std::string routing :
       {"valiant_group", "valiant_router", "ugal_group", "ugal_router", "par", "fpar", "q_adaptive"})
    for (const Section& topology : {plus(2, 2, 2, 5), plus(2, 3, 1, 4), plus(2, 2, 3, 4)}) {
      Lone x(network_of(topology, routing));
      u32 detours = 0;
      for (u32 source = 0; source < x.net.terminals; source++)
        for (u32 destination = 0; destination < x.net.terminals; destination++)
          for (u32 n = 0; n < 12; n++) {
            Place at = x.send(source, destination, n);
            for (;;) {
              const auto candidates = x.candidates(at);
              const Step step = x.ask(at);
              CHECK_FOR(
                  std::ranges::any_of(
                      candidates, [&](const Step& c) { return c.port == step.port && c.vc_class == step.vc_class; }),
                  routing);
              if (x.ejects(at.router, step)) break;
              at = x.behind(at.router, step);
              CHECK_FOR(++x.packet().hops <= 6, routing);
            }
            CHECK_EQ(at.router, x.net.terminal_router[destination]);
            detours += x.packet().nonminimal;
          }
      if (routing != "q_adaptive") CHECK_FOR((detours > 0) == routing.starts_with("valiant"), routing);
    }
}

// A bias below every congestion forces a detour of each packet to another group.
TEST(dragonfly_plus_bias_forces_detours) {
  for (const std::string routing : {"ugal_group", "ugal_router", "par"}) {
    Lone x = lone(plus(2, 2, 2, 5), {routing, {{"bias_flits", -1e6}}});
    for (u32 to = 0; to < x.net.terminals; to++) {
      x.walk(0, to, to, [](u32, const Step&) {});
      CHECK_FOR(x.packet().nonminimal == (x.net.router_group[x.net.terminal_router[to]] != 0), routing);
    }
  }
}

}  // namespace routing_dragonfly_plus_candidates_test
