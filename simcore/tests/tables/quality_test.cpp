// The quality of tables: loads in closed form, sums of loads against sums of lengths, effective bisection bandwidth by
// ORCS' definition, demands and several addresses. Some tables are written here port by port, so that their routes are
// known.
#include <numeric>

#include "simcore/topology/dragonfly.hpp"
#include "simcore/topology/hyperx.hpp"
#include "simcore/traffic/draws.hpp"
#include "support/tables.hpp"
#include "tables/reroute.hpp"
#include "test.hpp"

namespace tables_quality_test {

using namespace scenes;

// next(switch, last switch) is the port that continues the route.
tables::ForwardingTable written(const tables::ChannelGraph& g, const std::function<u32(u32, u32)>& next) {
  tables::ForwardingTable table = tables::empty_table(g, "test");
  for (u32 s = 0; s < g.switches; s++)
    for (u32 t = 0; t < g.terminals; t++)
      if (g.terminal_switch[t] != s) table.at(s, t) = static_cast<u16>(next(s, g.terminal_switch[t]));
  tables::check_table(g, table);
  return table;
}
tables::ForwardingTable dimension_order(const tables::ChannelGraph& g) {
  const auto& x = dynamic_cast<const HyperX&>(*g.topology);
  return written(g, [&](u32 s, u32 to) { return x.port_towards(s, to, x.first_unaligned(x.difference(s, to)), 0); });
}
tables::ForwardingTable dragonfly_minimal(const tables::ChannelGraph& g) {
  const auto& x = dynamic_cast<const Dragonfly&>(*g.topology);
  return written(
      g, [&](u32 s, u32 to) { return x.group(s) == x.group(to) ? x.local_port(s, to) : x.exit(s, x.group(to), 0); });
}

std::vector<u32> orders(u32 patterns, u32 terminals, u64 seed = 1) {
  std::vector<u32> all(std::size_t{patterns} * terminals);
  for (u32 k = 0; k < patterns; k++) traffic::draw_order(seed, k, terminals, all.data() + std::size_t{k} * terminals);
  return all;
}
double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}
double bandwidth(const tables::ChannelGraph& g, const tables::ForwardingTable& table, u32 patterns) {
  return mean(tables::bisection_bandwidth(g, table, orders(patterns, g.terminals), false));
}

TEST(quality_of_dimension_order_on_hyperx_in_closed_form) {
  // Between switches each channel of dimension k carries (number of switches) / S_k routes, between terminals T^2 times
  // that.
  const tables::ChannelGraph g = graph_of(hyperx_section({12, 8}, 7));
  const tables::Quality q = quality(g, dimension_order(g), {});
  const auto& x = dynamic_cast<const HyperX&>(*g.topology);
  for (u32 c = 0; c < g.channels; c++)
    CHECK_EQ(q.loads.channel[c], x.dimension_of_port[g.port[c]] == 0 ? 49. * 8 : 49. * 12);
  CHECK_EQ(q.edge_forwarding_index, 588.);
  CHECK_EQ(q.load_least, 392.);
  CHECK_EQ(q.terminal_forwarding_index, 671.);
  CHECK_EQ(q.routes, 672. * 671);
  CHECK_EQ(q.channels_unused, 0u);
  CHECK(q.minimal && q.hops_max == 2 && q.cycle.empty() && q.layers == 1);
  CHECK_NEAR(q.load_mean, (528 * 392. + 336 * 588) / 864, 1e-9);
  CHECK_NEAR(q.load_mean_minimal, q.load_mean, 1e-9);
  CHECK_NEAR(q.load_deviation, std::sqrt(528. * 336) / 864 * (588 - 392), 1e-9);
  CHECK_NEAR(q.hops_mean, (11. / 12 + 7. / 8) * 96 / 95 * (95 * 7. / 671), 1e-9);
  // 0.782 +- 0.005: the published value of the 12x8 HyperX over 300 patterns.
  CHECK_NEAR(bandwidth(g, dimension_order(g), 300), 0.782, 0.005);
}

TEST(quality_of_minimal_routes_on_a_dragonfly_in_closed_form) {
  // Between routers: a^2 on global channels, 2 a h + 1 on local ones.
  for (const auto& [a, h] : {std::pair<u32, u32>{4, 2}, {8, 4}}) {
    const tables::ChannelGraph g = graph_of(dragonfly_section(1, a, h, a * h + 1));
    const tables::Quality q = quality(g, dragonfly_minimal(g), {});
    const auto& x = dynamic_cast<const Dragonfly&>(*g.topology);
    for (u32 c = 0; c < g.channels; c++) CHECK_EQ(q.loads.channel[c], x.is_global(g.port[c]) ? a * a : 2. * a * h + 1);
    CHECK_EQ(q.hops_max, 3u);
    CHECK(!q.cycle.empty());  // local, global and local hops share a VC class
    CHECK(!q.minimal);        // two global hops can be shorter than local, global, local
    CHECK(q.load_mean_minimal < q.load_mean);
  }
}

TEST(quality_sums_loads_to_lengths) {
  // For any table the sum of the loads is the sum of the lengths, and every figure is at least its bound.
  const std::vector<Section> topologies = {hyperx_section({4, 3}, 2),
                                           dragonfly_section(2, 4, 2, 9),
                                           dragonfly_section(2, 4, 2, 5),
                                           torus({4, 3, 2}, 2),
                                           {"random_regular", {}}};
  for (const Section& topology : topologies) {
    const tables::ChannelGraph g = graph_of(topology);
    const tables::ForwardingTable table = made(g, "min_hop");
    const tables::Quality q = quality(g, table, {});
    double lengths = 0;
    u32 longest = 0;
    std::vector<u32> hops;
    for (u32 t = 0; t < g.terminals; t++) {
      hops = tables::hops_to(g, g.terminal_switch[t]);
      for (u32 other = 0; other < g.terminals; other++)
        if (other != t) {
          lengths += hops[g.terminal_switch[other]];
          longest = std::max(longest, hops[g.terminal_switch[other]]);
        }
    }
    CHECK_EQ(std::accumulate(q.loads.channel.begin(), q.loads.channel.end(), 0.0), lengths);
    CHECK_NEAR(q.hops_mean, lengths / (g.terminals * (g.terminals - 1.)), 1e-12);
    CHECK_EQ(q.hops_max, longest);
    CHECK(q.minimal);
    CHECK_NEAR(q.load_mean, q.load_mean_minimal, 1e-9);
    CHECK(q.edge_forwarding_index >= std::ceil(q.load_mean_minimal));
    CHECK(loads(g, table, {}).channel == q.loads.channel);
    // Complete routes are summed in another way.
    const tables::Quality again = quality(g, as_routes(g, table), {});
    CHECK(again.loads.channel == q.loads.channel);
    CHECK(again.minimal && again.hops_max == q.hops_max && again.cycle.empty() == q.cycle.empty());
    CHECK(tables::bisection_bandwidth(g, table, orders(20, g.terminals), false) ==
          tables::bisection_bandwidth(g, as_routes(g, table), orders(20, g.terminals), false));
  }
}

TEST(quality_under_a_demand) {
  const tables::ChannelGraph g = graph_of(hyperx_section({4, 4}, 2));
  const tables::ForwardingTable table = dimension_order(g);
  // An even demand is all-to-all. The traffic of a terminal to itself does not count.
  const auto all = demand_of(g.terminals, [](u32 s, u32 d) { return s == d ? 99 : 3; });
  const tables::Quality uniform = quality(g, table, {}), same = quality(g, table, *all);
  for (u32 c = 0; c < g.channels; c++) CHECK_EQ(same.loads.channel[c], 3 * uniform.loads.channel[c]);
  CHECK_EQ(same.terminal_forwarding_index, 3. * 31);
  CHECK_NEAR(same.hops_mean, uniform.hops_mean, 1e-12);
  // One pair: terminal 0 to the last, two hops.
  Demand pair = *demand_of(g.terminals, [&](u32 s, u32 d) { return s == 0 && d + 1 == g.terminals ? 2.5 : 0; });
  const tables::Quality one = quality(g, table, pair);
  CHECK_EQ(one.edge_forwarding_index, 2.5);
  CHECK_EQ(one.channels_unused, g.channels - 2);
  CHECK(one.routes == 2.5 && one.hops_max == 2 && one.hops_mean == 2);
  CHECK_NEAR(one.load_mean_minimal, 5. / g.channels, 1e-12);
  CHECK_EQ(one.loads.from_terminal[0] + one.loads.to_terminal[g.terminals - 1], 5.);
  pair.terminals = 7;
  CHECK_THROWS(ConfigError, quality(g, table, pair), "7 x 7", "32 terminals");
}

TEST(quality_of_several_addresses_gives_each_an_equal_part) {
  // Between two corners of a square, one address takes one direction and the other address the opposite.
  const tables::ChannelGraph g = graph_of(hyperx_section({2, 2}, 1));
  const auto& x = dynamic_cast<const HyperX&>(*g.topology);
  tables::ForwardingTable table = tables::empty_table(g, "test", 1);
  for (u32 s = 0; s < 4; s++)
    for (u32 d = 0; d < 8; d++) {
      const u32 to = d / 2;
      if (s == to) continue;
      const u32 k = (s ^ to) == 3 ? d % 2 : (s ^ to) == 1 ? 0 : 1;
      table.at(s, d) = static_cast<u16>(x.port_towards(s, to, k, 0));
    }
  tables::check_table(g, table);
  const tables::Quality q = quality(g, table, {});
  for (const double load : q.loads.channel) CHECK_EQ(load, 2.);
  CHECK_NEAR(q.hops_mean, 4. / 3, 1e-12);
  // A flow along a diagonal puts one half on four channels. The two diagonals share two channels.
  const tables::FlowLoads alone = tables::flow_loads(g, table, {{0, 3, 1}}),
                          both = tables::flow_loads(g, table, {{0, 3, 1}, {1, 2, 1}});
  CHECK_EQ(std::count(alone.channel.begin(), alone.channel.end(), 0.5), 4);
  CHECK_EQ(std::count(both.channel.begin(), both.channel.end(), 1.0), 2);
  CHECK_EQ(std::count(both.channel.begin(), both.channel.end(), 0.5), 4);
  CHECK(alone.flow == (std::vector<double>{1}) && both.flow == (std::vector<double>{1, 1}));
  CHECK(tables::bisection_bandwidth(g, table, {0, 1, 3, 2}, true) == (std::vector<double>{1}));
}

TEST(effective_bisection_bandwidth_by_hand) {
  // Terminals 0 1 2 at one switch, 3 4 5 at the other, one cable.
  const tables::ChannelGraph g = graph_of(hyperx_section({2}, 3));
  const tables::ForwardingTable table = made(g, "min_hop");
  const std::vector<u32> order = {0, 1, 2, 3, 4, 5,   // three in the same direction: 1/3 each
                                  0, 3, 4, 1, 5, 2,   // 0 to 1 and 3 to 5 stay at their switch, 4 to 2 is alone
                                  0, 1, 3, 4, 5, 2};  // two in one direction, one back
  const std::vector<double> values = tables::bisection_bandwidth(g, table, order, false);
  CHECK_EQ(values.size(), 3u);
  CHECK_NEAR(values[0], 1. / 3, 1e-15);
  CHECK_EQ(values[1], 1.);
  CHECK_NEAR(values[2], (0.5 + 0.5 + 1) / 3, 1e-15);
  CHECK_NEAR(tables::bisection_bandwidth(g, table, {0, 1, 3, 4, 5, 2}, true)[0], 1. / 3,
             1e-15);  // three in each direction
  CHECK_THROWS(ConfigError, tables::bisection_bandwidth(g, table, {0, 1, 2, 3, 4, 4}, false), "orders", "number 0");
  // One of an odd number of terminals is idle.
  const tables::ChannelGraph odd = graph_of(hyperx_section({3}, 1));
  CHECK(tables::bisection_bandwidth(odd, made(odd, "min_hop"), {2, 0, 1}, false) == (std::vector<double>{1}));
}

TEST(orders_are_drawn_evenly) {
  constexpr u32 kTerminals = 5, kPatterns = 24000;
  const std::vector<u32> all = orders(kPatterns, kTerminals);
  u32 at[kTerminals][kTerminals] = {};
  for (u32 k = 0; k < kPatterns; k++)
    for (u32 place = 0; place < kTerminals; place++) at[place][all[k * kTerminals + place]]++;
  for (const auto& place : at)
    for (const u32 n : place) CHECK_NEAR(n, kPatterns / 5., 5 * std::sqrt(kPatterns * 0.16));
}

TEST(random_bisection_sends_the_counted_patterns) {
  constexpr i64 kSeed = 5, kPattern = 7;
  const Values values = {{"bisection_seed", kSeed}, {"pattern", kPattern}, {"load", 1.0}};
  std::vector<u32> order(72);
  traffic::draw_order(kSeed, kPattern, 72, order.data());
  for (const bool both_ways : {false, true}) {
    const Section traffic = {"random_bisection", merge(values, {{"both_ways", both_ways}})};
    const auto net = build(config(small_network(), input_queued(), {"minimal", {}}, traffic));
    for (u32 k = 0; k < 36; k++) {
      CHECK_EQ(net->destination(1, order[k], 0, 0, 0), order[36 + k]);
      CHECK_EQ(net->destination(1, order[36 + k], 0, 0, 0), both_ways ? order[k] : kNone);
    }
  }
  // A single switch carries all that half of the terminals can send.
  const Section star = {"graph", {{"links", std::vector<double>{0, 1}}, {"terminals", std::vector<double>(16, 0)}}};
  Simulation sim(config(star, input_queued(), {"minimal", {}}, {"random_bisection", values}));
  sim.run(1000);
  sim.begin_window();
  sim.run(1000);
  CHECK_NEAR(static_cast<double>(sim.state().part.window.delivered), 8 * 1000, 8);
}

TEST(congestion_of_flows_and_of_their_ends) {
  const tables::ChannelGraph g = graph_of(hyperx_section({2}, 3));
  const tables::ForwardingTable table = made(g, "min_hop");
  const tables::FlowLoads c = tables::flow_loads(g, table, {{0, 3, 1}, {1, 3, 2}, {2, 0, 5}, {4, 5, 1}, {4, 0, 1}});
  // Over the cable: 1 + 2 in one direction and 1 back. The other flows stay at their switch.
  CHECK(c.flow == (std::vector<double>{3, 3, 5, 1, 1}));
  CHECK(c.endpoint == (std::vector<double>{3, 3, 6, 2, 6}));
  CHECK_EQ(c.channel[0] + c.channel[1], 4.);
}

// ---- Local search: never worse than its start, in the same layers and free of cycles ----

const Section kTree = {"fat_tree", {}};

tables::ForwardingTable searched(const tables::ChannelGraph& g, const std::string& start, const Values& values = {},
                                 std::shared_ptr<const Demand> demand = nullptr) {
  return made(g, "local_search", merge({{"start", start}, {"steps", 8000}}, values), demand);
}
struct Named {
  std::string name;
  tables::ChannelGraph graph;
};
std::vector<Named> networks() {
  std::vector<Named> all;
  all.push_back({"a damaged fat tree", graph_of(kTree, {{"links", 3}, {"seed", 4}})});
  all.push_back({"a Dragonfly", graph_of(small_network())});
  all.push_back({"a random regular graph", graph_of(random_regular(30, 5, 3))});
  all.push_back({"a damaged torus", graph_of(torus({5, 4}, 2), {{"links", 0.1}})});
  return all;
}

TEST(local_search_lowers_the_edge_forwarding_index_in_the_same_layers) {
  u32 lower = 0;
  for (const auto& [name, g] : networks())
    for (const i64 layers : {1, 3}) {
      const Values values{{"layers", layers}, {"tries", 1}};
      const tables::ForwardingTable start = made(g, "nue", values), found = searched(g, "nue", values);
      const std::string which = name + ", " + std::to_string(layers) + " layers";
      CHECK_FOR(highest_load(g, found) <= highest_load(g, start), which);
      CHECK_FOR(find_cycle(g, found).empty(), which);
      CHECK_FOR(found.layers == start.layers && found.layer == start.layer && found.layer_by == start.layer_by, which);
      CHECK_FOR(quality(g, found, {}).hops_mean <= quality(g, start, {}).hops_mean, which);  // no route is longer
      CHECK_FOR(digest(searched(g, "nue", values)) == digest(found), which);
      if (highest_load(g, found) > 0.95 * highest_load(g, start)) continue;
      lower++;
      CHECK_FOR(digest(searched(g, "nue", merge(values, {{"search_seed", 2}}))) != digest(found), which);
    }
  CHECK(lower >= 5);  // of 8
}

TEST(local_search_keeps_minimal_routes_unless_it_may_make_detours) {
  const tables::ChannelGraph g = graph_of(random_regular(30, 4, 5));
  const tables::ForwardingTable minimal = searched(g, "min_hop"), longer = searched(g, "min_hop", {{"detours", 1}});
  CHECK(quality(g, minimal, {}).minimal);
  CHECK(!quality(g, longer, {}).minimal);
  CHECK(highest_load(g, longer) < highest_load(g, minimal));
  std::vector<u32> hops;
  for (u32 d = 0; d < g.terminals; d++) {
    hops = tables::hops_to(g, g.terminal_switch[d]);
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
  CHECK(highest_load(g, found) < highest_load(g, start));
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
  const auto demand = demand_of(g.terminals, [](u32 s, u32 d) {  // each group to the group two further
    return s / 8 == (d / 8 + 7) % 9 ? 1 + (d + s) % 3 : 0;
  });
  const tables::ForwardingTable oblivious = searched(g, "nue", {{"detours", 3}}),
                                aware = searched(g, "nue", {{"detours", 3}}, demand);
  const double before = highest_load(g, oblivious, *demand), after = highest_load(g, aware, *demand);
  CHECK_FOR(after < before, std::to_string(after) + " and " + std::to_string(before));
}

}  // namespace tables_quality_test
