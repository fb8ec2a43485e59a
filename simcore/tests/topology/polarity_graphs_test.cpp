// PolarFly and PolarStar: sizes, degrees and distances of their papers, checked on the links by breadth-first search.
#include <map>

#include "simcore/error.hpp"
#include "support/links.hpp"
#include "test.hpp"

namespace topology_polarity_graphs_test {

using namespace scenes;

Section polarfly(i64 q, i64 terminals = 0, const std::string& groups = "racks") {
  return {"polarfly", {{"q", q}, {"terminals_per_router", terminals}, {"groups", groups}}};
}
Section polarstar(i64 q, i64 degree, const std::string& kind = "inductive_quad", i64 terminals = 0) {
  return {"polarstar",
          {{"q", q}, {"supernode_degree", degree}, {"supernode", kind}, {"terminals_per_router", terminals}}};
}

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

// Two routers that are not neighbours have one common neighbour. Two neighbours have one, or none if one is a quadric.
TEST(polarfly_has_one_path_of_two_hops) {
  for (const u32 q : {4u, 5u, 7u, 8u, 9u}) {
    const auto next = neighbors_of(*network_of(polarfly(q)));
    for (u32 a = 0; a < next.size(); a++)
      for (u32 b = 0; b < a; b++) {
        u32 common = 0;
        for (const u32 r : next[a]) common += static_cast<u32>(next[b].count(r));
        CHECK_EQ(common, next[a].count(b) && (next[a].size() == q || next[b].size() == q) ? 0u : 1u);
      }
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
  for (const u32 q : {2u, 4u, 8u, 16u}) {  // our layout for even q
    const auto net = network_of(polarfly(q));
    std::map<u32, u32> size;
    for (u32 r = 0; r < net->routers; r++) size[net->router_group[r]]++;
    CHECK_EQ(size.size(), q + 1);
    for (u32 rack = 0; rack <= q; rack++) CHECK_EQ(size[rack], q + (rack == 0));
  }
}

// Published networks: 993 routers of 32 links and 15,888 terminals (q = 31), 553 routers of 24 links (q = 23).
TEST(polarfly_of_the_paper) {
  const auto net = network_of(polarfly(31));
  CHECK_EQ(net->routers, 993u);
  CHECK_EQ(net->terminals, 15888u);
  CHECK_EQ(net->radix, 32u + 16u);
  CHECK_EQ(network_of(polarfly(23))->routers, 553u);
}

// With groups=routers, all packets of a router go to one other router.
TEST(polarfly_takes_adversarial_traffic_between_routers) {
  const Section adversarial{"adversarial", {{"shift", i64{5}}}};
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

// The networks of radix 15 of the authors' generator (IntelLabs/PolarFly). The largest has 1,064 routers and inductive
// quads (q = 11, d' = 3). With Paley graphs there are 949 routers (q = 8, d' = 6).
TEST(polarstar_of_radix_15) {
  const auto net = network_of(polarstar(11, 3));
  CHECK_EQ(net->routers, 1064u);
  CHECK_EQ(net->terminals, 5320u);
  CHECK_EQ(net->radix, 15u + 5u);
  CHECK_EQ(spans_of(neighbors_of(*net)).diameter, 3u);
  CHECK_EQ(network_of(polarstar(8, 6, "paley"))->routers, 949u);
}

// The zero-load latency on paths of known length: one hop to the first neighbour, two or three to the farthest router.
TEST(polarity_graphs_have_the_zero_load_latency_of_their_hops) {
  for (const auto& [topology, diameter] :
       {std::pair{polarfly(5, 1), 2.0}, {polarstar(3, 3, "inductive_quad", 1), 3.0}}) {
    const auto hops = hops_from(neighbors_of(*network_of(topology)), 0);
    for (u32 to = 1; to < hops.size(); to += 7) {
      const Arrival got = lone_packet(topology, {"minimal", {}}, 0, to, 4);
      CHECK_EQ(got.hops, double(hops[to]));
      CHECK_EQ(got.ns, idle_ns(hops[to], 4));
      CHECK(got.hops <= diameter);
    }
  }
}

// Uniform traffic loads a link by at most p H / d, with p terminals and d links of a router and H hops on average. The
// defaults of p keep it near 1.
DEEP_TEST(polarity_graphs_accept_uniform_traffic) {
  for (const Section& topology : {polarfly(4), polarstar(2, 3), polarstar(2, 2, "paley")})
    for (const std::string routing : {"minimal", "ugal", "q_adaptive"})
      CHECK_NEAR(accepted(topology, {routing, {}}, {"uniform", {{"load", 0.5}}}), 0.5, 0.03);
}

}  // namespace topology_polarity_graphs_test
