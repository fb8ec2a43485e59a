// Engines of shortest paths and virtual layers: the effect of weights, layers without cycles, and the number of layers.
#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>

#include "simcore/tables/walk.hpp"
#include "support/scenes.hpp"
#include "support/tables.hpp"
#include "tables/layer_assignment.hpp"
#include "tables/layering.hpp"
#include "tables/quality.hpp"
#include "test.hpp"

namespace tables_layers_test {

using namespace scenes;

Section torus(const std::vector<double>& sizes, i64 terminals = 1) {
  return {"torus", {{"sizes", sizes}, {"terminals_per_router", terminals}}};
}
Section mesh(const std::vector<double>& sizes) { return {"mesh", {{"sizes", sizes}}}; }
Section tree(const std::vector<double>& children, const std::vector<double>& parents,
             const std::vector<double>& links = {1}) {
  return {"fat_tree", {{"children", children}, {"parents", parents}, {"links", links}}};
}
Section random_graph(i64 routers, i64 degree, i64 terminals, i64 seed) {
  return {"random_regular",
          {{"routers", routers}, {"degree", degree}, {"terminals_per_router", terminals}, {"graph_seed", seed}}};
}

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
      {"slim fly", {"slim_fly", {{"q", i64{5}}, {"terminals_per_router", i64{1}}}}},
      // A hub with three arms and a chord. Some switches have few terminals, some none.
      {"irregular",
       {"graph",
        {{"links", std::vector<double>{0, 1, 1, 2, 2, 3, 0, 4, 4, 5, 5, 6, 6, 0, 0, 7, 7, 8, 8, 3, 2, 5}},
         {"terminals", std::vector<double>{1, 1, 3, 4, 5, 6, 6, 8}}}}},
  };
  for (const i64 seed : {1, 2, 3}) {
    const std::string n = " " + std::to_string(seed);
    all.push_back({"random" + n, random_graph(24, 4, 2, seed)});
    all.push_back({"damaged torus" + n, torus({5, 5}), {{"links", i64{6}}, {"seed", seed}}});
    all.push_back({"damaged tree" + n, tree({4, 4, 4}, {1, 4, 4}), {{"links", i64{8}}, {"seed", seed}}});
    all.push_back({"damaged dragonfly" + n, small_network(), {{"links", i64{7}}, {"seed", seed}}});
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

double efi(const tables::ChannelGraph& g, const tables::ForwardingTable& table) {
  const tables::Loads l = loads(g, table, {});
  return *std::max_element(l.channel.begin(), l.channel.end());
}

std::shared_ptr<const Demand> demand_of(u32 terminals, const std::function<double(u32, u32)>& weight) {
  auto demand = std::make_shared<Demand>();
  demand->terminals = terminals;
  demand->first = {0};
  for (u32 d = 0; d < terminals; d++) {
    for (u32 s = 0; s < terminals; s++)
      if (const double w = weight(s, d); w > 0) demand->source.push_back(s), demand->weight.push_back(w);
    demand->first.push_back(demand->source.size());
  }
  return demand;
}

// All switches on a ring of five send two hops to the right. Their five dependencies form a cycle, and one route in a
// second layer breaks it.
TEST(a_shift_by_two_on_a_ring_of_five_needs_two_layers) {
  const tables::ChannelGraph g = graph_of(torus({5}));
  // The shortest routes of this ring are these routes in both directions, and single hops.
  const tables::ForwardingTable sssp = made(g, "sssp");
  CHECK_EQ(find_cycle(g, sssp).size(), 5u);
  for (const char* edge : {"weakest", "heaviest", "first"}) {
    const tables::ForwardingTable table = made(g, "dfsssp", {{"edge", std::string(edge)}, {"fewest", false}});
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
        const tables::ForwardingTable table = made(g, engine, {{"update", std::string(update)}});
        CHECK(table.layers == 1 && table.layer_by == tables::LayerBy::kOne && table.layer.empty());
        CHECK(find_cycle(g, table).empty());
      }
  }
}

TEST(layers_are_acyclic_and_routes_shortest_on_every_fabric) {
  const std::vector<Values> variants{{},
                                     {{"update", std::string("pair")}},
                                     {{"edge", std::string("heaviest")}, {"fewest", false}},
                                     {{"edge", std::string("first")}, {"fewest", false}},
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
    for (const Values& values : std::vector<Values>{{}, {{"fewest", false}}, {{"paths", std::string("balanced")}}}) {
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
    const tables::ForwardingTable table = made(g, "sssp", {{"order", std::string("by_switch")}});
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

// Figures of a real subnet manager (OpenSM 3.3.23) on the same fabrics: edge forwarding index and layers of its sssp
// and dfsssp, layers of its lash.
TEST(balance_and_layers_are_as_good_as_a_subnet_managers) {
  struct Known {
    Section topology;
    double efi;
    u32 dfsssp, lash;
  };
  const std::vector<Known> all{
      {torus({5}), 3, 2, 2},
      {torus({4, 4}, 2), 46, 4, 2},
      {torus({4, 2}), 6, 2, 2},
      {torus({4, 2, 2}), 14, 3, 2},
      {torus({5, 5, 5}), 120, 9, 6},
      {mesh({8, 8}), 149, 5, 1},
      {tree({4, 4}, {1, 4}), 12, 1, 1},
      {tree({4, 4, 4}, {1, 4, 4}), 92, 1, 3},
      {tree({18, 18}, {1, 9}, {1, 2}), 306, 1, 1},
      {hyperx_section({4, 4}, 4), 88, 2, 1},
      {hyperx_section({12, 8}, 7), 826, 2, 1},
      {small_network(), 92, 3, 2},
  };
  for (const Known& known : all) {
    const tables::ChannelGraph g = graph_of(known.topology);
    const tables::ForwardingTable dfsssp = made(g, "dfsssp"), lash = made(g, "lash");
    CHECK(efi(g, dfsssp) <= known.efi);
    CHECK(dfsssp.layers <= known.dfsssp);
    CHECK(lash.layers <= known.lash);
  }
  // Closed forms: N k / 8 on a torus, T^2 S on a HyperX.
  CHECK_EQ(efi(graph_of(torus({5, 5, 5})), made(graph_of(torus({5, 5, 5})), "sssp")), 75);
  CHECK_EQ(efi(graph_of(hyperx_section({12, 8}, 7)), made(graph_of(hyperx_section({12, 8}, 7)), "sssp")), 588);
}

// Results of both founding studies, over irregular fabrics together. sssp is more even than min_hop, and by pairs more
// even than by sources. All of them send the same packets over the same channels.
TEST(balance_pays_in_aggregate) {
  double min_hop = 0, source = 0, pair = 0;
  for (const i64 seed : {1, 2, 3, 4, 5}) {
    const Values failures{{"links", i64{10}}, {"seed", seed}};
    const std::vector<std::pair<Section, Values>> irregular{{tree({4, 4, 4}, {1, 4, 4}), failures},
                                                            {tree({6, 3, 4}, {1, 3, 2}, {1, 2, 1}), failures},
                                                            {random_graph(40, 5, 2, seed), {}},
                                                            {small_network(), failures}};
    for (const auto& [section, missing] : irregular) {
      const tables::ChannelGraph g = graph_of(section, missing);
      const auto of = [&](const std::string& engine, const Values& values) {
        const tables::Quality q = quality(g, made(g, engine, values), {});
        CHECK_NEAR(q.load_mean, q.load_mean_minimal, 1e-9);
        return q.edge_forwarding_index / q.load_mean;
      };
      min_hop += of("min_hop", {});
      source += of("sssp", {{"order", std::string("by_switch")}});
      pair += of("sssp", {{"order", std::string("by_switch")}, {"update", std::string("pair")}});
    }
  }
  CHECK(source < min_hop);
  CHECK(pair < source);
}

TEST(balance_depends_on_demand) {
  for (const char* update : {"source", "pair"}) {
    const Values values{{"update", std::string(update)}};
    double with = 0, without = 0;
    for (const Section& section : {torus({4, 4}, 2), tree({4, 4, 4}, {1, 4, 4}), small_network()}) {
      const tables::ChannelGraph g = graph_of(section);
      // An even demand in any unit gives the same table as no demand.
      const auto alike = demand_of(g.terminals, [](u32 s, u32 d) { return s == d ? 0 : 0.25; });
      CHECK(made(g, "sssp", values, alike).port == made(g, "sssp", values).port);
      // Three of every eight terminals communicate, and the demand keeps their routes apart.
      const auto few = demand_of(g.terminals, [&](u32 s, u32 d) { return s % 8 < 3 && d % 8 < 3 && s != d ? 3 : 0; });
      const auto most = [&](const tables::ForwardingTable& table) {
        const tables::Loads l = loads(g, table, *few);
        return *std::max_element(l.channel.begin(), l.channel.end());
      };
      const tables::ForwardingTable table = made(g, "dfsssp", values, few);
      CHECK(find_cycle(g, table).empty() && tables::route_lengths(g, table).minimal);
      const double blind = most(made(g, "dfsssp", values));
      CHECK(most(table) <= blind);
      with += most(table);
      without += blind;
    }
    CHECK(with < without);
  }
}

TEST(layers_stay_within_their_limit) {
  const tables::ChannelGraph g = graph_of(torus({5, 5}));
  const u32 needs = made(g, "dfsssp").layers;
  CHECK(needs >= 2);
  CHECK_THROWS(ConfigError, made(g, "dfsssp", {{"layers", i64{1}}}), "engine dfsssp needs " + std::to_string(needs),
               "may use 1");
  CHECK_EQ(made(g, "dfsssp", {{"layers", i64{8}}}).layers, needs);
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

// Tables of several addresses, such as tables with detours.
TEST(layers_are_made_for_several_addresses) {
  const tables::ChannelGraph g = graph_of(torus({4, 4}));
  tables::ForwardingTable table = tables::empty_table(g, "test", 1);
  const tables::ForwardingTable a = made(g, "sssp"), b = made(g, "min_hop");
  for (u32 s = 0; s < g.switches; s++)
    for (u32 t = 0; t < g.terminals; t++) table.at(s, 2 * t) = a.at(s, t), table.at(s, 2 * t + 1) = b.at(s, t);
  CHECK(!find_cycle(g, table).empty());
  CHECK(tables::break_cycles(g, tables::BreakEdge::kWeakest, table));
  const u32 broken = table.layers;
  CHECK(broken >= 2 && find_cycle(g, table).empty());
  tables::save_layers(g, table);
  CHECK(table.layers <= broken && find_cycle(g, table).empty());
  for (const tables::RouteOrder order : {tables::RouteOrder::kByDestination, tables::RouteOrder::kBySource,
                                         tables::RouteOrder::kShortFirst, tables::RouteOrder::kLongFirst}) {
    tables::first_fit(g, order, table);
    CHECK(find_cycle(g, table).empty());
  }
}

}  // namespace tables_layers_test
