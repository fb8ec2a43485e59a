// Slim Fly and random regular graphs: the properties that their papers claim, checked on the wiring.
#include <map>
#include <set>

#include "simcore/graph.hpp"
#include "support/scenes.hpp"
#include "test.hpp"

namespace topology_generated_graphs_test {

using namespace scenes;

// q_routing makes the network compute distances.
std::shared_ptr<const Network> network(const Section& topology) {
  return build(config(topology, input_queued(), {"q_routing", {}}, {"uniform", {}}));
}

Section slim_fly(i64 q, i64 terminals = 0) { return {"slim_fly", {{"q", q}, {"terminals_per_router", terminals}}}; }
Section random_regular(i64 routers, i64 degree, i64 seed, i64 terminals = 1) {
  return {"random_regular",
          {{"routers", routers}, {"degree", degree}, {"graph_seed", seed}, {"terminals_per_router", terminals}}};
}

// Neighbours of each router. Checks that the graph has no loops and no parallel links.
std::vector<std::set<u32>> neighbors(const Network& net) {
  std::vector<std::set<u32>> all(net.routers);
  for (u32 p = 0; p < net.router_ports; p++)
    if (net.is_link(p)) {
      const u32 from = net.router_of_port(p), to = net.next_router(p);
      CHECK(from != to);
      CHECK(all[from].insert(to).second);
    }
  return all;
}

u32 diameter(const Network& net) {
  CHECK(!net.graphs[0]->hops.empty());
  return net.graphs[0]->diameter;
}

// 2 q^2 routers of (3 q - delta) / 2 links, no two of them more than 2 hops apart, for primes and for the powers 4, 8,
// 9, 16 and 25.
TEST(slim_fly_has_diameter_2) {
  for (const auto& [q, links] :
       std::map<u32, u32>{{3, 5}, {4, 6}, {5, 7}, {7, 11}, {8, 12}, {9, 13}, {11, 17}, {13, 19}, {16, 24}, {25, 37}}) {
    const auto net = network(slim_fly(q));
    const std::string name = "q = " + std::to_string(q);
    CHECK_FOR(net->routers == 2 * q * q && net->groups == q, name);
    CHECK_FOR(net->terminals == net->routers * ((links + 1) / 2) && net->radix == links + (links + 1) / 2, name);
    for (const auto& next : neighbors(*net)) CHECK_FOR(next.size() == links, name);
    CHECK_FOR(diameter(*net) == 2, name);
    for (u32 r = 0; r < net->routers; r++) CHECK_FOR(net->router_group[r] == r / (2 * q), name);
    for (u32 p = 0; p < net->router_ports; p++)
      if (net->is_link(p)) {
        const bool inside = net->router_group[net->router_of_port(p)] == net->router_group[net->next_router(p)];
        CHECK_FOR((net->channels[p].kind == PortKind::kLocal) == inside, name);
      }
  }
}

// q = 5 is the Hoffman-Singleton graph: 50 routers of 7 links, which meets the Moore bound. So two routers that are not
// neighbours have exactly one common neighbour, and neighbours have none.
TEST(slim_fly_of_5_is_the_hoffman_singleton_graph) {
  const auto net = network(slim_fly(5, 4));
  CHECK_EQ(net->terminals, 200u);
  const auto next = neighbors(*net);
  for (u32 a = 0; a < 50; a++)
    for (u32 b = 0; b < a; b++) {
      u32 common = 0;
      for (const u32 r : next[a]) common += next[b].count(r) > 0;
      CHECK_EQ(common, next[a].count(b) ? 0u : 1u);
    }
}

TEST(random_graphs_are_regular_and_connected) {
  for (const auto& [routers, degree] :
       {std::pair{4u, 3u}, {5u, 4u}, {6u, 3u}, {10u, 3u}, {20u, 19u}, {20u, 17u}, {32u, 6u}, {101u, 4u}, {200u, 25u}})
    for (i64 seed = 0; seed < 4; seed++) {
      const auto net = network(random_regular(routers, degree, seed, 2));
      const std::string name =
          std::to_string(routers) + " routers of degree " + std::to_string(degree) + ", seed " + std::to_string(seed);
      CHECK_FOR(net->routers == routers && net->terminals == 2 * routers && net->radix == degree + 2, name);
      for (const auto& next : neighbors(*net)) CHECK_FOR(next.size() == degree, name);
      CHECK_FOR(diameter(*net) < 255, name);  // build() has checked that it is connected
    }
}

// The seed determines the graph. Over 600 graphs each pair of routers is joined about equally often.
TEST(random_graphs_depend_on_their_seed) {
  const auto graph = [](i64 seed) { return neighbors(*network(random_regular(40, 5, seed))); };
  CHECK(graph(7) == graph(7));
  CHECK(graph(7) != graph(8));
  std::map<std::pair<u32, u32>, u32> joined;
  constexpr u32 kGraphs = 600;
  for (i64 seed = 0; seed < kGraphs; seed++) {
    const auto next = neighbors(*network(random_regular(8, 3, seed)));
    for (u32 a = 0; a < 8; a++)
      for (const u32 b : next[a]) joined[{a, b}]++;
  }
  CHECK_EQ(joined.size(), 56u);
  for (const auto& [pair, times] : joined)
    CHECK_NEAR(times / static_cast<double>(kGraphs), 3 / 7.0, 0.08);  // within 4 standard deviations
}

TEST(impossible_graphs_are_refused) {
  CHECK_THROWS(ConfigError, network(slim_fly(6)), "topology.slim_fly.q", "6", "5 and 7");
  CHECK_THROWS(ConfigError, network(random_regular(6, 6, 1)), "topology.random_regular.degree", "6 links", "6 routers",
               "at most 5");
}

}  // namespace topology_generated_graphs_test
