// Engines that use virtual layers (sssp, dfsssp, lash, nue, parx): the effect of weights, layers without cycles, and
// the number of layers.
#include <numeric>
#include <queue>
#include <set>

#include "support/tables.hpp"
#include "tables/layer_assignment.hpp"
#include "tables/layering.hpp"
#include "test.hpp"

namespace tables_layers_test {

using namespace scenes;

struct Fabric {
  std::string name;
  Section topology;
  Values failures = {};
};

// Regular, random and damaged networks.
std::vector<Fabric> fabrics() {
  std::vector<Fabric> all{
      {"ring of 5", torus({5})},
      {"torus 4x4", torus({4, 4}, 2)},
      {"torus 5x4x3", torus({5, 4, 3})},
      {"mesh 5x5", mesh({5, 5})},
      {"tree", tree({4, 4, 4}, {1, 4, 4})},
      {"leaves and spines", tree({6, 6}, {1, 3}, {1, 2})},
      {"hyperx", hyperx_section({4, 4}, 4)},
      {"dragonfly", small_network()},
      {"slim fly", {"slim_fly", {{"q", 5}, {"terminals_per_router", 1}}}},
      // A hub with three arms and a chord. Some switches have few terminals, some none.
      {"irregular",
       {"graph",
        {{"links", std::vector<double>{0, 1, 1, 2, 2, 3, 0, 4, 4, 5, 5, 6, 6, 0, 0, 7, 7, 8, 8, 3, 2, 5}},
         {"terminals", std::vector<double>{1, 1, 3, 4, 5, 6, 6, 8}}}}},
  };
  for (const i64 seed : {1, 2, 3}) {
    const std::string n = " " + std::to_string(seed);
    all.push_back({"random" + n, random_regular(24, 4, seed)});
    all.push_back({"damaged torus" + n, torus({5, 5}), {{"links", 6}, {"seed", seed}}});
    all.push_back({"damaged tree" + n, tree({4, 4, 4}, {1, 4, 4}), {{"links", 8}, {"seed", seed}}});
    all.push_back({"damaged dragonfly" + n, small_network(), {{"links", 7}, {"seed", seed}}});
  }
  return all;
}

// The number of layers in use.
u32 layers_of_pairs(const tables::ChannelGraph& g, const tables::ForwardingTable& table) {
  u64 seen = 0;
  for (u32 s = 0; s < g.switches; s++)
    for (u32 d = 0; g.terminals_at(s) && d < table.destinations(); d++)
      if (g.terminal_switch[d] != s) seen |= u64{1} << table.layer_of(s, 0, d);
  return static_cast<u32>(__builtin_popcountll(seen));
}

// All switches on a ring of five send two hops to the right. Their five dependencies form a cycle, and one route in a
// second layer breaks it.
TEST(a_shift_by_two_on_a_ring_of_five_needs_two_layers) {
  const tables::ChannelGraph g = graph_of(torus({5}));
  // The shortest routes of this ring are these routes in both directions, and single hops.
  const tables::ForwardingTable sssp = made(g, "sssp");
  CHECK_EQ(find_cycle(g, sssp).size(), 5u);
  for (const char* edge : {"weakest", "heaviest", "first"}) {
    const tables::ForwardingTable table = made(g, "dfsssp", {{"edge", edge}, {"fewest", false}});
    CHECK_EQ(table.layers, 2u);
    u32 moved = 0;
    for (const u8 layer : table.layer) moved += layer;
    CHECK_EQ(moved, 2u);  // one route of each direction
  }
}

TEST(rings_need_two_layers_and_trees_one) {
  for (const double n : {5, 6, 7, 8, 9, 16}) {
    const tables::ChannelGraph g = graph_of(torus({n}));
    CHECK(!find_cycle(g, made(g, "sssp")).empty());
    for (const char* engine : {"dfsssp", "lash"}) CHECK_EQ(made(g, engine).layers, 2u);
  }
  for (const Section& section : {tree({4, 4}, {1, 4}), tree({4, 4, 4}, {1, 4, 4}),
                                 tree({3, 4, 5}, {1, 2, 3}, {1, 2, 1}), tree({2, 2, 2, 2}, {1, 2, 2, 2})}) {
    const tables::ChannelGraph g = graph_of(section);
    for (const char* engine : {"dfsssp", "lash"})
      for (const char* update : {"source", "pair"}) {
        const tables::ForwardingTable table = made(g, engine, {{"update", update}});
        CHECK(table.layers == 1 && table.layer_by == tables::LayerBy::kOne && table.layer.empty());
        CHECK(find_cycle(g, table).empty());
      }
  }
}

TEST(layers_are_acyclic_and_routes_shortest_on_every_fabric) {
  const std::vector<Values> variants{{},
                                     {{"update", "pair"}},
                                     {{"edge", "heaviest"}, {"fewest", false}},
                                     {{"edge", "first"}, {"fewest", false}},
                                     {{"fewest", false}}};
  for (const Fabric& fabric : fabrics()) {
    const tables::ChannelGraph g = graph_of(fabric.topology, fabric.failures);
    std::vector<u32> layers;
    for (const Values& values : variants) {
      Values of_sssp;
      if (values.count("update")) of_sssp["update"] = values.at("update");
      const tables::ForwardingTable sssp = made(g, "sssp", of_sssp), table = made(g, "dfsssp", values);
      CHECK_FOR(table.port == sssp.port, fabric.name);
      CHECK_FOR(find_cycle(g, table).empty(), fabric.name);
      CHECK_FOR(tables::route_lengths(g, table).minimal, fabric.name);
      CHECK_FOR(layers_of_pairs(g, table) == table.layers, fabric.name);
      CHECK_FOR((table.layers == 1) == find_cycle(g, sssp).empty(), fabric.name);
      layers.push_back(table.layers);
    }
    CHECK_FOR(layers[0] <= layers[4], fabric.name);
    for (const Values& values : std::vector<Values>{{}, {{"fewest", false}}, {{"paths", "balanced"}}}) {
      const tables::ForwardingTable table = made(g, "lash", values);
      CHECK_FOR(find_cycle(g, table).empty() && tables::route_lengths(g, table).minimal, fabric.name);
      CHECK_FOR(layers_of_pairs(g, table) == table.layers, fabric.name);
    }
    CHECK_FOR(made(g, "lash").layers <= made(g, "lash", {{"fewest", false}}).layers, fabric.name);
  }
}

// The definition: a Dijkstra search towards each destination, with keys of hops first and then loads so far.
TEST(sssp_takes_the_least_loaded_of_the_shortest_paths) {
  for (const Fabric& fabric : fabrics()) {
    const tables::ChannelGraph g = graph_of(fabric.topology, fabric.failures);
    const tables::ForwardingTable table = made(g, "sssp", {{"order", "by_switch"}});
    std::vector<u32> order(g.terminal_of);
    std::stable_sort(order.begin(), order.end(), [&](u32 a, u32 b) {
      return g.terminals_at(g.terminal_switch[a]) > g.terminals_at(g.terminal_switch[b]);
    });
    std::vector<u64> load(g.channels, 0);
    using Key = std::pair<u32, u64>;
    for (const u32 t : order) {
      std::vector<Key> cost(g.switches, {kNone, 0});
      std::priority_queue<std::pair<Key, u32>, std::vector<std::pair<Key, u32>>, std::greater<>> queue;
      cost[g.terminal_switch[t]] = {0, 0};
      queue.push({{0, 0}, g.terminal_switch[t]});
      while (!queue.empty()) {
        const auto [key, s] = queue.top();
        queue.pop();
        if (key != cost[s]) continue;
        for (u32 c = g.first[s]; c < g.first[s + 1]; c++) {
          const u32 from = g.to[c];
          const Key longer{key.first + 1, key.second + load[g.reverse[c]]};
          if (longer < cost[from]) queue.push({cost[from] = longer, from});
        }
      }
      std::vector<u64> more(g.channels, 0);
      for (u32 s = 0; s < g.switches; s++) {
        if (g.terminals_at(s) == 0) continue;
        Key key{0, 0};
        tables::each_channel(g, table, s, t, [&](u32 c) {
          key.first++;
          key.second += load[c];
          more[c] += g.terminals_at(s);
        });
        CHECK_FOR(key == cost[s], fabric.name);
      }
      for (u32 c = 0; c < g.channels; c++) load[c] += more[c];
    }
  }
}

TEST(balance_has_the_loads_of_closed_forms) {
  // N k / 8 on a torus, T^2 S on a HyperX.
  CHECK_EQ(highest_load(graph_of(torus({5, 5, 5})), made(graph_of(torus({5, 5, 5})), "sssp")), 75);
  CHECK_EQ(highest_load(graph_of(hyperx_section({12, 8}, 7)), made(graph_of(hyperx_section({12, 8}, 7)), "sssp")), 588);
}

// Results of both founding studies, over irregular fabrics together. sssp is more even than min_hop, and by pairs more
// even than by sources. All of them send the same packets over the same channels.
TEST(balance_pays_in_aggregate) {
  double min_hop = 0, source = 0, pair = 0;
  for (const i64 seed : {1, 2, 3, 4, 5}) {
    const Values failures{{"links", 10}, {"seed", seed}};
    const std::vector<std::pair<Section, Values>> irregular{{tree({4, 4, 4}, {1, 4, 4}), failures},
                                                            {tree({6, 3, 4}, {1, 3, 2}, {1, 2, 1}), failures},
                                                            {random_regular(40, 5, seed), {}},
                                                            {small_network(), failures}};
    for (const auto& [section, missing] : irregular) {
      const tables::ChannelGraph g = graph_of(section, missing);
      const auto of = [&](const std::string& engine, const Values& values) {
        const tables::Quality q = quality(g, made(g, engine, values), {});
        CHECK_NEAR(q.load_mean, q.load_mean_minimal, 1e-9);
        return q.edge_forwarding_index / q.load_mean;
      };
      min_hop += of("min_hop", {});
      source += of("sssp", {{"order", "by_switch"}});
      pair += of("sssp", {{"order", "by_switch"}, {"update", "pair"}});
    }
  }
  CHECK(source < min_hop);
  CHECK(pair < source);
}

TEST(balance_depends_on_demand) {
  for (const char* update : {"source", "pair"}) {
    const Values values{{"update", update}};
    double with = 0, without = 0;
    for (const Section& section : {torus({4, 4}, 2), tree({4, 4, 4}, {1, 4, 4}), small_network()}) {
      const tables::ChannelGraph g = graph_of(section);
      // An even demand in any unit gives the same table as no demand.
      const auto alike = demand_of(g.terminals, [](u32 s, u32 d) { return s == d ? 0 : 0.25; });
      CHECK(made(g, "sssp", values, alike).port == made(g, "sssp", values).port);
      // Three of every eight terminals communicate, and the demand keeps their routes apart.
      const auto few = demand_of(g.terminals, [&](u32 s, u32 d) { return s % 8 < 3 && d % 8 < 3 && s != d ? 3 : 0; });
      const tables::ForwardingTable table = made(g, "dfsssp", values, few);
      CHECK(find_cycle(g, table).empty() && tables::route_lengths(g, table).minimal);
      const double blind = highest_load(g, made(g, "dfsssp", values), *few);
      CHECK(highest_load(g, table, *few) <= blind);
      with += highest_load(g, table, *few);
      without += blind;
    }
    CHECK(with < without);
  }
}

TEST(layers_stay_within_their_limit) {
  const tables::ChannelGraph g = graph_of(torus({5, 5}));
  const u32 needs = made(g, "dfsssp").layers;
  CHECK(needs >= 2);
  CHECK_THROWS(ConfigError, made(g, "dfsssp", {{"layers", 1}}), "engine dfsssp needs " + std::to_string(needs),
               "may use 1");
  CHECK_EQ(made(g, "dfsssp", {{"layers", 8}}).layers, needs);
  for (const char* engine : {"dfsssp", "lash"})
    for (const auto& [section, layers] :
         std::vector<std::pair<Section, i64>>{{torus({5, 5}), 8}, {tree({4, 4}, {1, 4}), 3}}) {
      const tables::ChannelGraph f = graph_of(section);
      const tables::ForwardingTable table = made(f, engine, {{"layers", layers}, {"spread", true}});
      CHECK(table.layers == layers && find_cycle(f, table).empty());
      CHECK(table.port == made(f, engine).port);
      std::vector<u32> routes(table.layers);
      for (u32 s = 0; s < f.switches; s++)
        for (u32 d = 0; f.terminals_at(s) && d < table.destinations(); d++)
          if (f.terminal_switch[d] != s) routes[table.layer_of(s, 0, d)]++;
      // The fullest layer is halved in each step, so no layer exceeds twice the mean plus one route.
      const double mean = std::accumulate(routes.begin(), routes.end(), 0.0) / static_cast<double>(layers);
      CHECK(*std::max_element(routes.begin(), routes.end()) <= 2 * mean + 1);
      CHECK(*std::min_element(routes.begin(), routes.end()) > 0);
    }
}

// ---- Nue never fails and never forms a cycle, on any network and with any number of layers ----

tables::ForwardingTable nue(const tables::ChannelGraph& g, i64 layers, i64 tries = 2,
                            std::shared_ptr<const Demand> demand = nullptr) {
  return tables::make_table("routing.table", {"nue", {{"layers", layers}, {"tries", tries}}, demand}, g);
}

// make_table() itself refuses a table with an unconnected pair.
void check_layers(const tables::ChannelGraph& g, const std::string& name) {
  for (const i64 layers : {0, 1, 2, 3, 4, 8}) {
    const tables::ForwardingTable table = nue(g, layers);
    const std::string which = name + ", " + std::to_string(layers) + " layers";
    CHECK_EQ(table.layers, static_cast<u32>(std::max<i64>(layers, 1)));
    const auto cycle = find_cycle(g, table);
    CHECK_FOR(cycle.empty(), which + ": " + tables::cycle_name(g, cycle));
    if (table.layers > 1) {  // the layers are used
      const u32 most = std::min(table.layers, g.switches);
      CHECK_FOR(std::set<u8>(table.layer.begin(), table.layer.end()).size() >= most / 2, which);
    }
    CHECK_FOR(digest(nue(g, layers)) == digest(table), which);
  }
}

TEST(nue_forms_no_cycle_on_any_network_with_any_number_of_layers) {
  for (i64 seed = 1; seed <= 6; seed++)
    for (const i64 degree : {3, 5, 8})
      check_layers(graph_of(random_regular(24, degree, seed)),
                   "random regular " + std::to_string(degree) + " seed " + std::to_string(seed));
  check_layers(graph_of(torus({5})), "a ring");
  check_layers(graph_of(torus({4, 4}, 2)), "a torus");
  check_layers(graph_of(torus({3, 3, 3})), "a torus of three dimensions");
  check_layers(graph_of(hyperx_section({4, 4}, 2)), "a HyperX");
  check_layers(graph_of(small_network()), "a Dragonfly");
}

TEST(nue_routes_around_missing_links) {
  for (i64 seed = 1; seed <= 4; seed++) {
    const std::string name = "seed " + std::to_string(seed);
    check_layers(graph_of(random_regular(40, 6, seed), {{"links", 0.2}, {"seed", seed}}),
                 "damaged random regular, " + name);
    check_layers(graph_of(torus({4, 4}), {{"links", 0.1}, {"seed", seed}}), "damaged torus, " + name);
    check_layers(graph_of(small_network(), {{"links", 0.1}, {"seed", seed}}), "damaged Dragonfly, " + name);
  }
}

// Switches without terminals may be cut off, terminals may not.
TEST(nue_leaves_out_switches_without_terminals) {
  const Section ring = torus({6});
  const tables::ChannelGraph g = graph_of(ring, {{"links", "0-1,2-3"}, {"terminals", "1,2"}});
  for (const i64 layers : {1, 2, 4}) CHECK(find_cycle(g, nue(g, layers)).empty());
  CHECK_THROWS(ConfigError, nue(graph_of(ring, {{"links", "0-1,3-4"}}), 1), "terminal 0", "terminal 1");
}

// Where the search gets stuck, for about one destination in thirty here, routes use the spanning tree. The other routes
// of the destination do not.
TEST(nue_escapes_along_its_tree) {
  const tables::ChannelGraph g = graph_of(random_regular(100, 8, 1));
  const tables::ForwardingTable table = nue(g, 1, 1);
  CHECK(find_cycle(g, table).empty());
  CHECK(tables::route_lengths(g, table).longest <= 8);  // routes along the tree alone would have up to twice its depth
  const std::vector<double> load = loads(g, table, {}).channel;
  CHECK(std::count(load.begin(), load.end(), 0.0) < g.channels / 50);
}

// On trees every shortest route goes up and then down, so all of them are free of cycles. They are even where the
// numbers allow it.
TEST(nue_is_even_on_trees) {
  const tables::ChannelGraph g = graph_of({"fat_tree", {}});
  const tables::ForwardingTable table = nue(g, 1);
  CHECK(tables::route_lengths(g, table).minimal);
  CHECK_EQ(highest_load(g, table), 60.0);  // d mod k: the 4 terminals of a leaf to 15 others each
}

// Permutations, with a thousandth of their demand between all other pairs.
TEST(nue_balances_by_demand) {
  const tables::ChannelGraph g = graph_of(hyperx_section({4, 4}, 4));
  double oblivious = 0, aware = 0;
  for (u32 k = 1; k < 20; k += 2) {
    const auto demand =
        demand_of(g.terminals, [&](u32 s, u32 d) { return (s * k + 5) % g.terminals == d ? 1.0 : 0.001; });
    oblivious += highest_load(g, nue(g, 4), *demand);
    aware += highest_load(g, nue(g, 4, 2, demand), *demand);
  }
  CHECK_FOR(aware < 0.9 * oblivious, std::to_string(aware) + " and " + std::to_string(oblivious));
}

// ---- PARX on a HyperX of even sizes: the links that each address avoids, and the resulting route lengths ----

// True if (x, y) is in the half that the address avoids: 0 left, 1 right, 2 top, 3 bottom.
bool inside(u32 address, u32 x, u32 y, u32 width, u32 height) {
  const bool half[] = {x < width / 2, x >= width / 2, y < height / 2, y >= height / 2};
  return half[address];
}

// Two switches in the avoided half take 2 hops along its dimension and 3 hops otherwise. All other pairs take the
// shortest route.
TEST(parx_makes_the_detours_of_its_halves) {
  const std::vector<std::pair<u32, u32>> sizes = {{4, 4}, {6, 4}, {2, 6}, {12, 8}};
  for (const auto& [width, height] : sizes) {
    const tables::ChannelGraph g = graph_of(hyperx_section({double(width), double(height)}, 1));
    const tables::ForwardingTable table = made(g, "parx");
    CHECK_EQ(table.lmc, 2u);
    const auto cycle = find_cycle(g, table);
    CHECK_FOR(cycle.empty(), tables::cycle_name(g, cycle));
    u32 longest = 0;
    for (u32 s = 0; s < g.switches; s++)
      for (u32 t = 0; t < g.terminals; t++) {
        const u32 x = s % width, y = s / width, to_x = t % width, to_y = t / width,
                  shortest = (x != to_x) + (y != to_y);
        u32 least = kNone, most = 0;
        for (u32 a = 0; a < 4; a++) {
          const bool forced = s != t && inside(a, x, y, width, height) && inside(a, to_x, to_y, width, height);
          const bool along = a < 2 ? y == to_y : x == to_x;
          u32 length = 0;
          tables::each_channel(g, table, s, t << 2 | a, [&](u32 c) {
            length++;
            CHECK(!inside(a, g.from[c] % width, g.from[c] / width, width, height) ||
                  !inside(a, g.to[c] % width, g.to[c] / width, width, height));
          });
          CHECK_EQ(length, forced ? (along ? 2u : 3u) : shortest);
          least = std::min(least, length);
          most = std::max(most, length);
        }
        CHECK_EQ(least, shortest);  // small messages always have a shortest route
        // Switches in a common half have a detour, switches in opposite quadrants have none.
        const bool apart = (x < width / 2) != (to_x < width / 2) && (y < height / 2) != (to_y < height / 2);
        CHECK_EQ(most > shortest, !apart && s != t);
        longest = std::max(longest, most);
      }
    CHECK_EQ(longest, 3u);
  }
}

TEST(parx_spreads_the_traffic_of_two_neighbours) {
  const tables::ChannelGraph g = graph_of(hyperx_section({12, 8}, 7));
  const tables::ForwardingTable table = made(g, "parx");
  CHECK(find_cycle(g, table).empty());
  CHECK(table.layers <= 4);
  // The terminals of switch 0 send to those of switch 1, each to another. All use one link, or they take detours
  // through the other half.
  const auto fullest = [&](u32 a) {
    std::vector<u32> count(g.channels, 0);
    for (u32 k = 0; k < 7; k++) tables::each_channel(g, table, 0, (7 + k) << 2 | a, [&](u32 c) { count[c]++; });
    return *std::max_element(count.begin(), count.end());
  };
  CHECK_EQ(fullest(1), 7u);
  CHECK_EQ(fullest(3), 7u);
  CHECK(fullest(0) <= 3);
  CHECK(fullest(2) <= 3);
}

// Demands that are permutations of the terminals.
TEST(parx_balances_by_demand) {
  const tables::ChannelGraph g = graph_of(hyperx_section({6, 4}, 6));
  double before = 0, after = 0;
  for (const u32 factor : {5, 7, 11, 13}) {
    const auto demand =
        demand_of(g.terminals, [&](u32 s, u32 d) { return s == (d * factor + 3) % g.terminals ? 1e6 : 0; });
    const tables::ForwardingTable aware = made(g, "parx", {}, demand);
    CHECK(find_cycle(g, aware).empty());
    before += highest_load(g, made(g, "parx"), *demand);
    after += highest_load(g, aware, *demand);
  }
  CHECK_FOR(after < before, std::to_string(after) + " and " + std::to_string(before));
}

// make_table() refuses a table that does not connect all pairs.
TEST(parx_routes_around_missing_links) {
  for (i64 seed = 1; seed <= 6; seed++) {
    const tables::ChannelGraph g = graph_of(hyperx_section({4, 4}, 2), {{"links", 0.25}, {"seed", seed}});
    const tables::ForwardingTable table = made(g, "parx");
    CHECK(find_cycle(g, table).empty());
    CHECK(digest(table) == digest(made(g, "parx")));
  }
}

}  // namespace tables_layers_test
