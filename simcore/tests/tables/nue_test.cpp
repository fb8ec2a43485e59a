// Nue never fails and never forms a cycle, on any network and with any number of layers. It also balances its routes.
#include <algorithm>
#include <set>

#include "simcore/tables/walk.hpp"
#include "support/scenes.hpp"
#include "support/tables.hpp"
#include "tables/dependencies.hpp"
#include "test.hpp"

namespace tables_nue_test {

using namespace scenes;

Section torus(const std::vector<double>& widths, i64 terminals) {
  return {"torus", {{"sizes", widths}, {"terminals_per_router", terminals}}};
}

tables::ForwardingTable nue(const tables::ChannelGraph& g, i64 layers, i64 tries = 2,
                            std::shared_ptr<const Demand> demand = nullptr) {
  return tables::make_table("routing.table", {"nue", {{"layers", layers}, {"tries", tries}}, demand}, g);
}

// The load of each channel, weighted by demand.
std::vector<double> loads_of(const tables::ChannelGraph& g, const tables::ForwardingTable& table,
                             const Demand& demand = {}) {
  std::vector<double> load(g.channels, 0), flow;
  tables::Tree tree(g);
  for (u32 d = 0; d < table.destinations(); d++) {
    tree.follow(table, d);
    tables::demand_towards(g, demand, d >> table.lmc, flow);
    for (const u32 s : tree.order)
      if (const u32 c = tree.next[s]; c != kNone) {
        load[c] += flow[s];
        flow[g.to[c]] += flow[s];
      }
  }
  return load;
}
double highest(const std::vector<double>& load) { return *std::max_element(load.begin(), load.end()); }

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
  check_layers(graph_of(torus({5}, 1)), "a ring");
  check_layers(graph_of(torus({4, 4}, 2)), "a torus");
  check_layers(graph_of(torus({3, 3, 3}, 1)), "a torus of three dimensions");
  check_layers(graph_of(hyperx_section({4, 4}, 2)), "a HyperX");
  check_layers(graph_of(small_network()), "a Dragonfly");
}

TEST(nue_routes_around_missing_links) {
  for (i64 seed = 1; seed <= 4; seed++) {
    const std::string name = "seed " + std::to_string(seed);
    check_layers(graph_of(random_regular(40, 6, seed), {{"links", 0.2}, {"seed", seed}}),
                 "damaged random regular, " + name);
    check_layers(graph_of(torus({4, 4}, 1), {{"links", 0.1}, {"seed", seed}}), "damaged torus, " + name);
    check_layers(graph_of(small_network(), {{"links", 0.1}, {"seed", seed}}), "damaged Dragonfly, " + name);
  }
}

// Switches without terminals may be cut off, terminals may not.
TEST(nue_leaves_out_switches_without_terminals) {
  const Section ring = {"torus", {{"sizes", std::vector<double>{6}}}};
  const tables::ChannelGraph g = graph_of(ring, {{"links", std::string("0-1,2-3")}, {"terminals", std::string("1,2")}});
  for (const i64 layers : {1, 2, 4}) CHECK(find_cycle(g, nue(g, layers)).empty());
  CHECK_THROWS(ConfigError, nue(graph_of(ring, {{"links", std::string("0-1,3-4")}}), 1), "terminal 0", "terminal 1");
}

// Where the search gets stuck, for about one destination in thirty here, routes use the spanning tree. The other routes
// of the destination do not.
TEST(nue_escapes_along_its_tree) {
  const tables::ChannelGraph g = graph_of(random_regular(100, 8, 1));
  const tables::ForwardingTable table = nue(g, 1, 1);
  CHECK(find_cycle(g, table).empty());
  CHECK(tables::route_lengths(g, table).longest <= 8);  // routes along the tree alone would have up to twice its depth
  const std::vector<double> load = loads_of(g, table);
  CHECK(std::count(load.begin(), load.end(), 0.0) < g.channels / 50);
}

// On trees every shortest route goes up and then down, so all of them are free of cycles. They are even where the
// numbers allow it.
TEST(nue_is_even_on_trees) {
  const tables::ChannelGraph g = graph_of({"fat_tree", {}});
  const tables::ForwardingTable table = nue(g, 1);
  CHECK(tables::route_lengths(g, table).minimal);
  CHECK_EQ(highest(loads_of(g, table)), 60.0);  // d mod k: the 4 terminals of a leaf to 15 others each
}

// Permutations, with a thousandth of their demand between all other pairs.
TEST(nue_balances_by_demand) {
  const tables::ChannelGraph g = graph_of(hyperx_section({4, 4}, 4));
  double oblivious = 0, aware = 0;
  for (u32 k = 1; k < 20; k += 2) {
    auto demand = std::make_shared<Demand>();
    demand->terminals = g.terminals;
    for (u32 d = 0; d < g.terminals; d++) {
      demand->first.push_back(demand->source.size());
      for (u32 s = 0; s < g.terminals; s++) {
        demand->source.push_back(s);
        demand->weight.push_back((s * k + 5) % g.terminals == d ? 1.0 : 0.001);
      }
    }
    demand->first.push_back(demand->source.size());
    oblivious += highest(loads_of(g, nue(g, 4), *demand));
    aware += highest(loads_of(g, nue(g, 4, 2, demand), *demand));
  }
  CHECK_FOR(aware < 0.9 * oblivious, std::to_string(aware) + " and " + std::to_string(oblivious));
}

}  // namespace tables_nue_test
