// Local search: never worse than its start, in the same layers and free of cycles. Its incremental loads and
// dependencies agree with a full count.

#include "simcore/rng.hpp"
#include "simcore/tables/walk.hpp"
#include "simcore/traffic/draws.hpp"
#include "support/scenes.hpp"
#include "support/tables.hpp"
#include "tables/dependencies.hpp"
#include "tables/quality.hpp"
#include "tables/reroute.hpp"
#include "test.hpp"

namespace tables_local_search_test {

using namespace scenes;

const Section kTree = {"fat_tree", {}};

tables::ForwardingTable searched(const tables::ChannelGraph& g, const std::string& start, const Values& values = {},
                                 std::shared_ptr<const Demand> demand = nullptr) {
  return made(g, "local_search", merge({{"start", start}, {"steps", i64{8000}}}, values), demand);
}
double index_of(const tables::ChannelGraph& g, const tables::ForwardingTable& table, const Demand& demand = {}) {
  return quality(g, table, demand).edge_forwarding_index;
}

double bandwidth(const tables::ChannelGraph& g, const tables::ForwardingTable& table, u64 seed, u32 patterns = 400) {
  std::vector<u32> orders(std::size_t{patterns} * g.terminals);
  for (u32 k = 0; k < patterns; k++)
    traffic::draw_order(seed, k, g.terminals, orders.data() + std::size_t{k} * g.terminals);
  double sum = 0;
  for (const double x : tables::bisection_bandwidth(g, table, orders, false)) sum += x;
  return sum / patterns;
}

struct Named {
  std::string name;
  tables::ChannelGraph graph;
};
std::vector<Named> networks() {
  std::vector<Named> all;
  all.push_back({"a damaged fat tree", graph_of(kTree, {{"links", i64{3}}, {"seed", i64{4}}})});
  all.push_back({"a Dragonfly", graph_of(small_network())});
  all.push_back({"a random regular graph", graph_of(random_regular(30, 5, 3))});
  all.push_back(
      {"a damaged torus", graph_of({"torus", {{"sizes", std::vector<double>{5, 4}}, {"terminals_per_router", i64{2}}}},
                                   {{"links", 0.1}})});
  return all;
}

TEST(local_search_lowers_the_edge_forwarding_index_in_the_same_layers) {
  u32 lower = 0;
  for (const auto& [name, g] : networks())
    for (const i64 layers : {1, 3}) {
      const Values values{{"layers", layers}, {"tries", i64{1}}};
      const tables::ForwardingTable start = made(g, "nue", values), found = searched(g, "nue", values);
      const std::string which = name + ", " + std::to_string(layers) + " layers";
      CHECK_FOR(index_of(g, found) <= index_of(g, start), which);
      CHECK_FOR(find_cycle(g, found).empty(), which);
      CHECK_FOR(found.layers == start.layers && found.layer == start.layer && found.layer_by == start.layer_by, which);
      CHECK_FOR(quality(g, found, {}).hops_mean <= quality(g, start, {}).hops_mean, which);  // no route is longer
      CHECK_FOR(digest(searched(g, "nue", values)) == digest(found), which);
      if (index_of(g, found) > 0.95 * index_of(g, start)) continue;
      lower++;
      CHECK_FOR(digest(searched(g, "nue", merge(values, {{"search_seed", i64{2}}}))) != digest(found), which);
    }
  CHECK(lower >= 5);  // of 8
}

TEST(local_search_raises_the_bisection_bandwidth) {
  for (const auto& [name, g] : networks()) {
    const tables::ForwardingTable start = made(g, "nue", {{"tries", i64{1}}}),
                                  found = searched(g, "nue", {{"tries", i64{1}}, {"goal", std::string("bisection")}});
    CHECK_FOR(bandwidth(g, found, 77) > bandwidth(g, start, 77),
              name);  // under other patterns than the search may have used
    CHECK_FOR(find_cycle(g, found).empty(), name);
  }
}

TEST(local_search_is_never_worse_than_its_start) {
  const tables::ChannelGraph even = graph_of(kTree);  // 60 is the least for nue on this tree
  for (const std::string goal : {"edge_forwarding_index", "bisection"})
    for (const i64 steps : {0, 1, 17, 400}) {
      const tables::ForwardingTable found = searched(even, "nue", {{"steps", steps}, {"goal", goal}});
      CHECK(index_of(even, found) <= index_of(even, made(even, "nue")) || goal == "bisection");
      if (steps == 0) CHECK_EQ(digest(found) == digest(made(even, "nue")), true);
    }
  // On a HyperX dimension order is optimal: every load is 16 * 16 / 4.
  const tables::ChannelGraph box = graph_of(hyperx_section({4, 4}, 4));
  CHECK_EQ(index_of(box, searched(box, "min_hop", {{"steps", i64{200000}}})), 64.0);
}

TEST(local_search_keeps_minimal_routes_unless_it_may_make_detours) {
  const tables::ChannelGraph g = graph_of(random_regular(30, 4, 5));
  const tables::ForwardingTable minimal = searched(g, "min_hop"),
                                longer = searched(g, "min_hop", {{"detours", i64{1}}});
  CHECK(quality(g, minimal, {}).minimal);
  CHECK(!quality(g, longer, {}).minimal);
  CHECK(index_of(g, longer) < index_of(g, minimal));
  std::vector<u32> hops;
  for (u32 d = 0; d < g.terminals; d++) {
    tables::hops_to(g, g.terminal_switch[d], hops);
    for (u32 s = 0; s < g.switches; s++) {
      u32 length = 0;
      tables::each_channel(g, longer, s, d, [&](u32) { length++; });
      CHECK(length <= hops[s] + 1);
    }
  }
}

// PARX makes detours on purpose, so they stay.
TEST(local_search_keeps_the_lengths_of_several_addresses) {
  const tables::ChannelGraph g = graph_of(hyperx_section({6, 4}, 3));
  const tables::ForwardingTable start = made(g, "parx"), found = searched(g, "parx");
  CHECK_EQ(found.lmc, 2u);
  CHECK(find_cycle(g, found).empty());
  CHECK(index_of(g, found) < index_of(g, start));
  const auto length = [&](const tables::ForwardingTable& table, u32 s, u32 d) {
    u32 hops = 0;
    tables::each_channel(g, table, s, d, [&](u32) { hops++; });
    return hops;
  };
  for (u32 s = 0; s < g.switches; s++)
    for (u32 d = 0; d < found.destinations(); d++) CHECK_EQ(length(found, s, d), length(start, s, d));
}

TEST(local_search_under_a_demand_lowers_its_load) {
  const tables::ChannelGraph g = graph_of(small_network());
  auto demand = std::make_shared<Demand>();  // each group to the group two further, with different weights
  demand->terminals = g.terminals;
  for (u32 d = 0; d < g.terminals; d++) {
    demand->first.push_back(demand->source.size());
    for (u32 k = 0; k < 8; k++) {
      demand->source.push_back((d / 8 + 7) % 9 * 8 + k);
      demand->weight.push_back(1 + (d + k) % 3);
    }
  }
  demand->first.push_back(demand->source.size());
  const tables::ForwardingTable oblivious = searched(g, "nue", {{"detours", i64{3}}}),
                                aware = searched(g, "nue", {{"detours", i64{3}}}, demand);
  const double before = index_of(g, oblivious, *demand), after = index_of(g, aware, *demand);
  CHECK_FOR(after < before, std::to_string(after) + " and " + std::to_string(before));
}

// Random changes, of which all acyclic ones are taken, against a full count.
TEST(rerouting_keeps_loads_and_layers_right) {
  for (const i64 layers : {1, 4}) {
    const tables::ChannelGraph g = graph_of(random_regular(20, 5, 9), {{"links", 0.1}});
    tables::Rerouting routes(g, made(g, "nue", {{"layers", layers}}), {});
    CHECK(routes.acyclic());
    tables::Rerouting::Change change;
    u32 taken = 0, refused = 0;
    for (u64 k = 0; k < 6000; k++) {
      const u32 s = below(draw(1, 0, k), g.switches), d = below(draw(1, 1, k), g.terminals);
      const u32 c = g.first[s] + below(draw(1, 2, k), g.first[s + 1] - g.first[s]);
      if (!routes.plan(s, d, c, change)) continue;
      (routes.apply(change) ? taken : refused)++;
      if (k % 500) continue;
      tables::check_table(g, routes.table());
      CHECK(find_cycle(g, routes.table()).empty());
      const std::vector<double> counted = loads(g, routes.table(), {}).channel;
      for (u32 at = 0; at < g.channels; at++) CHECK_NEAR(routes.load(at), counted[at], 1e-9);
      for (u32 v = 0; v < g.switches; v++)
        for (u32 t = 0; t < g.terminals; t++)
          if (routes.next(v, t) != kNone) CHECK_NEAR(routes.own(v, t), 2, 1e-9);
    }
    CHECK(taken > 100 && refused > 100);
  }
}

}  // namespace tables_local_search_test
