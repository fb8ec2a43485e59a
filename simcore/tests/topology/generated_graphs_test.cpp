// Slim Fly, random regular graphs, PolarFly and PolarStar: the properties that their papers claim, checked on the
// wiring.
#include "support/links.hpp"
#include "support/tables.hpp"

namespace topology_generated_graphs_test {

using namespace scenes;

Section slim_fly(i64 q, i64 terminals = 0) { return {"slim_fly", {{"q", q}, {"terminals_per_router", terminals}}}; }

// Hops to the farthest router, over all routers, and the sum of all hops. Checks that there are no loops and no
// parallel links.
struct Spans {
  u32 diameter = 0;
  u64 sum = 0;
};
Spans spans_of(const std::vector<std::multiset<u32>>& next) {
  Spans spans;
  for (u32 r = 0; r < next.size(); r++) {
    CHECK_EQ(std::set<u32>(next[r].begin(), next[r].end()).size(), next[r].size());
    CHECK_EQ(next[r].count(r), 0u);
    for (const u32 hops : hops_from(next, r)) {
      CHECK(hops != kNone);
      spans.diameter = std::max(spans.diameter, hops);
      spans.sum += hops;
    }
  }
  return spans;
}

std::map<std::size_t, u32> degrees_of(const std::vector<std::multiset<u32>>& next) {
  std::map<std::size_t, u32> count;
  for (const auto& all : next) count[all.size()]++;
  return count;
}

// 2 q^2 routers of (3 q - delta) / 2 links, no two of them more than 2 hops apart, for primes and for the powers 4, 8,
// 9, 16 and 25.
TEST(slim_fly_has_diameter_2) {
  for (const auto& [q, links] :
       std::map<u32, u32>{{3, 5}, {4, 6}, {5, 7}, {7, 11}, {8, 12}, {9, 13}, {11, 17}, {13, 19}, {16, 24}, {25, 37}}) {
    const auto net = network_of(slim_fly(q));
    const std::string name = "q = " + std::to_string(q);
    CHECK_FOR(net->routers == 2 * q * q && net->groups == q, name);
    CHECK_FOR(net->terminals == net->routers * ((links + 1) / 2) && net->radix == links + (links + 1) / 2, name);
    const auto next = neighbors_of(*net);
    CHECK_FOR(degrees_of(next) == (std::map<std::size_t, u32>{{links, net->routers}}), name);
    CHECK_FOR(spans_of(next).diameter == 2, name);
    for (u32 r = 0; r < net->routers; r++) CHECK_FOR(net->router_group[r] == r / (2 * q), name);
    for (u32 p = 0; p < net->router_ports; p++)
      if (net->is_link(p)) {
        const bool inside = net->router_group[net->router_of_port(p)] == net->router_group[net->next_router(p)];
        CHECK_FOR((net->channels[p].kind == PortKind::kLocal) == inside, name);
      }
  }
}

TEST(random_graphs_are_regular_and_connected) {
  for (const auto& [routers, degree] :
       {std::pair{4u, 3u}, {5u, 4u}, {6u, 3u}, {10u, 3u}, {20u, 19u}, {20u, 17u}, {32u, 6u}, {101u, 4u}, {200u, 25u}})
    for (i64 seed = 0; seed < 4; seed++) {
      const auto net = network_of(random_regular(routers, degree, seed, 2));
      const std::string name =
          std::to_string(routers) + " routers of degree " + std::to_string(degree) + ", seed " + std::to_string(seed);
      CHECK_FOR(net->routers == routers && net->terminals == 2 * routers && net->radix == degree + 2, name);
      const auto next = neighbors_of(*net);
      CHECK_FOR(degrees_of(next) == (std::map<std::size_t, u32>{{degree, routers}}), name);
      spans_of(next);  // checks that it is connected
    }
}

// Over 600 seeds each pair of routers is joined about equally often.
TEST(random_graphs_join_all_pairs_equally_often) {
  std::map<std::pair<u32, u32>, u32> joined;
  constexpr u32 kGraphs = 600;
  for (i64 seed = 0; seed < kGraphs; seed++) {
    const auto next = neighbors_of(*network_of(random_regular(8, 3, seed, 1)));
    for (u32 a = 0; a < 8; a++)
      for (const u32 b : next[a]) joined[{a, b}]++;
  }
  CHECK_EQ(joined.size(), 56u);
  for (const auto& [pair, times] : joined)
    CHECK_NEAR(times / static_cast<double>(kGraphs), 3 / 7.0, 0.08);  // within 4 standard deviations
}

// ---- PolarFly and PolarStar ----

Section polarfly(i64 q, i64 terminals = 0, const std::string& groups = "racks") {
  return {"polarfly", {{"q", q}, {"terminals_per_router", terminals}, {"groups", groups}}};
}
Section polarstar(i64 q, i64 degree, const std::string& kind = "inductive_quad", i64 terminals = 0) {
  return {"polarstar",
          {{"q", q}, {"supernode_degree", degree}, {"supernode", kind}, {"terminals_per_router", terminals}}};
}

// q^2 + q + 1 routers, of which the q + 1 quadrics have q links and the others q + 1. The
// N q (q + 1) ordered pairs of different routers include q (q + 1)^2 pairs of neighbours. So the mean distance is
// 2 - (q + 1) / N.
TEST(polarfly_has_the_numbers_of_its_paper) {
  for (const u32 q : {2u, 3u, 4u, 5u, 7u, 8u, 9u, 11u, 13u, 16u}) {
    const std::string name = "q = " + std::to_string(q);
    const auto net = network_of(polarfly(q));
    const u32 n = q * q + q + 1;
    CHECK_FOR(net->routers == n && net->terminals == n * ((q + 1) / 2), name);
    const auto next = neighbors_of(*net);
    CHECK_FOR(degrees_of(next) == (std::map<std::size_t, u32>{{q, q + 1}, {q + 1, q * q}}), name);
    CHECK_FOR(count_links(*net) == q * (q + 1) * (q + 1) / 2, name);
    const Spans spans = spans_of(next);
    CHECK_FOR(spans.diameter == 2, name);
    const double pairs = double(n) * (n - 1);
    CHECK_NEAR(static_cast<double>(spans.sum) / pairs, 2 - (q + 1.0) / n, 1e-9);
  }
}

// The layout of the paper for odd q (section V). The quadrics form a rack without links. The other q racks have a
// router that is joined with all q - 1 others. Pairs of these q - 1 are neighbours, so the rack is a fan of triangles.
TEST(polarfly_racks_are_fans_of_triangles) {
  for (const u32 q : {3u, 5u, 7u, 9u, 11u}) {
    const auto net = network_of(polarfly(q));
    const auto next = neighbors_of(*net);
    std::map<u32, u32> size, inside;
    for (u32 r = 0; r < net->routers; r++) {
      CHECK(r == 0 || net->router_group[r] >= net->router_group[r - 1]);
      size[net->router_group[r]]++;
      CHECK_EQ(next[r].size() == q, net->router_group[r] == 0);
      for (const u32 to : next[r]) inside[net->router_group[r]] += net->router_group[to] == net->router_group[r];
    }
    CHECK_EQ(size.size(), q + 1);
    CHECK_EQ(size[0], q + 1);
    CHECK_EQ(inside[0], 0u);
    for (u32 rack = 1; rack <= q; rack++) {
      CHECK_EQ(size[rack], q);
      CHECK_EQ(inside[rack] / 2, q - 1 + (q - 1) / 2);
    }
  }
}

// With groups=routers, all packets of a router go to one other router.
TEST(polarfly_takes_adversarial_traffic_between_routers) {
  const Section adversarial{"adversarial", {{"shift", 5}}};
  const auto net = build(config(polarfly(5, 3, "routers"), input_queued(), {"minimal", {}}, adversarial));
  for (u32 t = 0; t < net->terminals; t++)
    for (u32 n = 0; n < 4; n++) CHECK_EQ(net->terminal_router[net->destination(1, t, n, 0, 0)], (t / 3 + 5) % 31);
  CHECK_THROWS(ConfigError, build(config(polarfly(5, 3), input_queued(), {"minimal", {}}, adversarial)),
               "groups of equal size");
}

// (q^2 + q + 1) (2 d' + 2) routers of q + 1 + d' links. The paper proves a diameter of 3.
TEST(polarstar_of_inductive_quads_has_diameter_3) {
  for (const auto& [q, degree] :
       {std::pair{2u, 0u}, {3u, 0u}, {2u, 3u}, {3u, 3u}, {4u, 3u}, {5u, 4u}, {3u, 7u}, {2u, 8u}, {3u, 11u}}) {
    const std::string name = "q = " + std::to_string(q) + ", d' = " + std::to_string(degree);
    const auto net = network_of(polarstar(q, degree));
    const u32 supernodes = q * q + q + 1, n = 2 * degree + 2, links = q + 1 + degree;
    CHECK_FOR(net->routers == supernodes * n && net->groups == supernodes, name);
    CHECK_FOR(net->terminals == net->routers * std::max(1u, links / 3), name);
    const auto next = neighbors_of(*net);
    CHECK_FOR(degrees_of(next) == (std::map<std::size_t, u32>{{links, net->routers}}), name);
    CHECK_FOR(count_links(*net) == net->routers * links / 2, name);
    CHECK_FOR(spans_of(next).diameter == 3, name);
    for (u32 r = 0; r < net->routers; r++) CHECK_EQ(net->router_group[r], r / n);
  }
}

// (q^2 + q + 1) (2 d' + 1) routers. Routers of the q + 1 quadrics have a link less.
TEST(polarstar_of_paley_graphs_has_diameter_3) {
  for (const auto& [q, degree] : {std::pair{2u, 2u}, {3u, 2u}, {4u, 4u}, {5u, 6u}, {8u, 4u}, {3u, 12u}}) {
    const std::string name = "q = " + std::to_string(q) + ", d' = " + std::to_string(degree);
    const auto net = network_of(polarstar(q, degree, "paley"));
    const u32 n = 2 * degree + 1, links = q + 1 + degree;
    CHECK_FOR(net->routers == (q * q + q + 1) * n, name);
    const auto next = neighbors_of(*net);
    CHECK_FOR(degrees_of(next) == (std::map<std::size_t, u32>{{links - 1, (q + 1) * n}, {links, q * q * n}}), name);
    CHECK_FOR(spans_of(next).diameter == 3, name);
  }
}

}  // namespace topology_generated_graphs_test
