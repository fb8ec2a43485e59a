// The engines that follow OpenSM's rules (min_hop, up_down, down_up, dor, ftree, torus_2qos): closed forms and freedom
// from deadlock. tests/simcore/test_opensm_tables.py compares them with OpenSM's own tables.
#include <numeric>
#include <set>

#include "simcore/topology/torus.hpp"
#include "support/fat_tree.hpp"
#include "support/tables.hpp"
#include "test.hpp"

namespace tables_opensm_engines_test {

using namespace scenes;

Section lattice(const std::string& name, const std::vector<double>& sizes, i64 terminals = 1) {
  return {name, {{"sizes", sizes}, {"terminals_per_router", terminals}}};
}

// The routes between terminals that use each channel.
std::vector<double> loads(const tables::ChannelGraph& g, const tables::ForwardingTable& table) {
  return tables::loads(g, table, {}).channel;
}

// True if every route goes up and then down. `place` orders the switches, the top first.
bool up_then_down(const tables::ChannelGraph& g, const tables::ForwardingTable& table, const std::vector<u32>& place) {
  bool legal = true;
  for (u32 t = 0; t < g.terminals; t++)
    for (u32 d = 0; d < g.terminals; d++) {
      bool went_down = false;
      tables::each_channel(g, table, g.terminal_switch[t], d, [&](u32 c) {
        const bool up = place[g.to[c]] < place[g.from[c]];
        legal &= !(up && went_down);
        went_down |= !up;
      });
    }
  return legal;
}

// A random tree of switches 0 .. n - 1 with `more` random links, and terminals at some switches.
Section irregular(u32 n, u32 more, u64 seed) {
  u64 k = 0;
  const auto any = [&](u32 range) { return below(draw(seed, 3, k++), range); };
  std::vector<double> links, terminals;
  for (u32 s = 1; s < n; s++) links.insert(links.end(), {double(any(s)), double(s)});
  for (u32 j = 0; j < more; j++) {
    const u32 a = any(n), b = any(n);
    if (a != b) links.insert(links.end(), {double(a), double(b)});
  }
  for (u32 s = 0; s < n; s++)
    for (u32 j = any(4); j > 1; j--) terminals.push_back(s);
  terminals.insert(terminals.end(), {0.0, double(n - 1)});
  return {"graph", {{"links", links}, {"terminals", terminals}}};
}

// Loads on each channel. All ties up: N/k (k/2)(k/2 + 1)/2 in the direction + and N/k (k/2)(k/2 - 1)/2 in the other.
// Ties by parity: N k / 8 in both. Odd k: N (k^2 - 1) / (8 k). A dimension of two switches: N / 2.
TEST(dor_on_a_torus_has_the_loads_of_the_books) {
  struct Case {
    std::vector<double> sizes;
    const char* ties;
    double most, least;
  };
  for (const Case& c : {Case{{8, 8, 8}, "up", 640, 384},
                        {{8, 8, 8}, "parity", 512, 512},
                        {{5, 5, 5}, "up", 75, 75},
                        {{16, 16}, "parity", 512, 512},
                        {{4, 2, 2, 2}, "parity", 16, 16}}) {
    const tables::ChannelGraph g = graph_of(lattice("torus", c.sizes));
    const tables::ForwardingTable table = made(g, "dor", {{"ties", c.ties}});
    CHECK(tables::route_lengths(g, table).minimal);
    const auto [least, most] = std::ranges::minmax(loads(g, table));
    CHECK(most == c.most && least == c.least);
  }
}

// Parallel cables get equal shares: 4 x 8 routes between neighbours.
TEST(parallel_cables_are_shared_out) {
  const tables::ChannelGraph g = graph_of(
      {"mesh", {{"sizes", std::vector<double>{3}}, {"links", std::vector<double>{2}}, {"terminals_per_router", 4}}});
  for (const std::string engine : {"min_hop", "dor", "up_down", "torus_2qos"})
    for (const double load : loads(g, made(g, engine))) CHECK_EQ(load, 16.0);
}

TEST(torus_2qos_is_free_of_deadlock) {
  const std::vector<std::vector<double>> all = {{3},    {4},    {5},    {6},       {9},       {12},      {5, 6},
                                                {4, 4}, {2, 7}, {8, 3}, {5, 4, 3}, {6, 5, 2}, {5, 5, 5}, {5, 2, 6, 3}};
  for (const auto& sizes : all)
    for (const std::string topology : {"torus", "mesh"}) {
      const tables::ChannelGraph g = graph_of(lattice(topology, sizes));
      const tables::ForwardingTable table = made(g, "torus_2qos");
      const bool long_ring = topology == "torus" && *std::max_element(sizes.begin(), sizes.end()) > 4;
      CHECK_FOR(find_cycle(g, table).empty(), g.fingerprint);
      CHECK_FOR(tables::route_lengths(g, table).minimal, g.fingerprint);
      CHECK_EQ(table.classes(), long_ring ? 2u : 1u);
    }
  CHECK_THROWS(ConfigError, made(graph_of(lattice("torus", std::vector<double>(7, 5))), "torus_2qos"), "7 rings",
               "at most 6");
  CHECK_THROWS(ConfigError, made(graph_of(hyperx_section({4, 4}, 1)), "torus_2qos"), "torus, mesh");
}

// Each missing link, and some pairs: routes take the long direction. A ring with two gaps and a line with one gap are
// refused.
TEST(torus_2qos_takes_the_long_direction) {
  const tables::ChannelGraph whole = graph_of(lattice("torus", {5, 4}));
  std::vector<std::string> links;
  for (u32 c = 0; c < whole.channels; c++)
    if (whole.from[c] < whole.to[c]) links.push_back(std::to_string(whole.from[c]) + "-" + std::to_string(whole.to[c]));
  CHECK_EQ(links.size(), 40u);
  for (const std::string& link : links) {
    const tables::ChannelGraph g = graph_of(lattice("torus", {5, 4}), {{"links", link}});
    const tables::ForwardingTable table = made(g, "torus_2qos");
    CHECK_FOR(find_cycle(g, table).empty(), link);
    CHECK_FOR(tables::route_lengths(g, table).longest >= 4, link);
  }
  const tables::ChannelGraph two =
      graph_of(lattice("torus", {5, 4}), {{"links", "0-1,5-6,0-5,7-12"}});  // links of different rings
  CHECK(find_cycle(two, made(two, "torus_2qos")).empty());
  CHECK_THROWS(ConfigError, made(graph_of(lattice("torus", {5, 4}), {{"links", "0-1,2-3"}}), "torus_2qos"),
               "torus_2qos", "dimension 0", "ring", "up_down");
  CHECK_THROWS(ConfigError, made(graph_of(lattice("mesh", {5, 4}), {{"links", "7-12"}}), "torus_2qos"), "dimension 1",
               "line");
  const tables::ChannelGraph wide = graph_of(
      {"torus", {{"sizes", std::vector<double>{6}}, {"links", std::vector<double>{2}}}}, {{"links", "0-1#2,2-3#1"}});
  CHECK(tables::route_lengths(wide, made(wide, "torus_2qos")).minimal);  // each pair keeps a cable
}

// Zahavi: no shift of the terminals, in the order of the tree, uses a channel twice.
TEST(ftree_takes_shifts_without_contention) {
  const std::vector<Xgft> full = {k_ary_tree(2, 3),         k_ary_tree(3, 2),
                                  k_ary_tree(4, 3),         {{4, 6}, {1, 4}, {1, 1}},
                                  {{4, 6}, {1, 2}, {1, 2}}, {{2, 3, 4}, {1, 2, 3}, {1, 1, 1}}};
  for (const Xgft& tree : full) {
    const tables::ChannelGraph g = graph_of(tree.section());
    const tables::ForwardingTable table = made(g, "ftree");
    CHECK_FOR(find_cycle(g, table).empty() && tables::route_lengths(g, table).minimal, tree.name());
    for (u32 shift = 1; shift < g.terminals; shift++) {
      std::set<u32> used;
      for (u32 t = 0; t < g.terminals; t++)
        tables::each_channel(g, table, g.terminal_switch[t], (t + shift) % g.terminals, [&](u32 c) {
          CHECK_FOR(used.insert(c).second,
                    tree.name() + ": shift by " + std::to_string(shift) + " has two on channel " + g.channel_name(c));
        });
    }
  }
}

TEST(ftree_routes_around_missing_links) {
  for (u64 seed = 1; seed < 9; seed++) {
    const tables::ChannelGraph g =
        graph_of(k_ary_tree(4, 3).section(), {{"links", 6}, {"seed", static_cast<i64>(seed)}});
    const tables::ForwardingTable table = made(g, "ftree");
    CHECK(find_cycle(g, table).empty());
    std::vector<u32> place(g.switches);
    for (u32 s = 0; s < g.switches; s++) place[s] = g.switches - s;  // leaves have the lowest numbers
    CHECK(up_then_down(g, table, place));
    CHECK_EQ(tables::route_lengths(g, table).longest, 4u);
  }
  // Both paths up from leaf 0 no longer reach a switch above leaf 1. Switches below them do.
  CHECK_THROWS(ConfigError, made(graph_of(k_ary_tree(2, 3).section(), {{"links", "0-5,1-4"}}), "ftree"), "ftree",
               "up_down");
  CHECK_THROWS(ConfigError, made(graph_of(k_ary_tree(2, 2).section(), {{"links", "0-2,1-3"}}), "ftree"),
               "terminal 0 (switch 0)", "terminal 2 (switch 1)");
}

// On any network, also a damaged one: one layer without cycles, and routes that go up and then down.
TEST(up_down_is_free_of_deadlock_everywhere) {
  u32 detours = 0, cyclic = 0;
  for (u64 seed = 0; seed < 40; seed++) {
    const u32 n = 4 + static_cast<u32>(seed);
    const Section topology = irregular(n, 3 * n, seed);
    for (const i64 missing : {0, 3}) {
      tables::ChannelGraph g;
      try {
        g = graph_of(topology, {{"links", missing}, {"seed", static_cast<i64>(seed)}});
      } catch (const ConfigError&) {
        continue;  // the network is disconnected
      }
      for (const std::string engine : {"up_down", "down_up"}) {
        const tables::ForwardingTable table = made(g, engine);
        CHECK_FOR(find_cycle(g, table).empty() && table.layers == 1, engine + " " + g.fingerprint);
        detours += !tables::route_lengths(g, table).minimal;
      }
      cyclic += !find_cycle(g, made(g, "min_hop")).empty();
      const u32 root = below(draw(seed, 4, 0), n);
      const tables::ForwardingTable table = made(g, "up_down", {{"roots", std::vector<double>{double(root)}}});
      std::vector<u32> hops, place(n);
      hops = tables::hops_to(g, root);
      for (u32 s = 0; s < n; s++) place[s] = hops[s] * n + s;
      CHECK_FOR(up_then_down(g, table, place), g.fingerprint);
    }
  }
  CHECK(detours > 20 && cyclic > 20);  // there were cycles to avoid
}

// Two leaves have lost all common switches above them. The levels of the tree give no route, so up_down takes another
// root.
TEST(up_down_leaves_the_levels_of_a_torn_tree) {
  const tables::ChannelGraph g = graph_of(k_ary_tree(2, 2).section(), {{"links", "0-2"}});
  const tables::ChannelGraph torn = graph_of(k_ary_tree(2, 3).section(), {{"links", "0-5,1-4"}});
  for (const std::string engine : {"up_down", "down_up"})
    for (const tables::ChannelGraph& at : {g, torn}) CHECK(find_cycle(at, made(at, engine)).empty());
  CHECK(tables::route_lengths(g, made(g, "up_down")).longest == 2u);
  CHECK(tables::route_lengths(torn, made(torn, "up_down")).longest > 4u);  // the route goes down in the middle
  CHECK_THROWS(ConfigError, made(torn, "ftree"), "ftree", "switch 0", "terminal 2");
}

TEST(up_down_finds_roots_or_takes_given_ones) {
  // On a ring of five with any root, only one direction passes the far end: 16 hops for 10 pairs, and at most 4 routes
  // on one channel.
  const tables::ChannelGraph ring = graph_of(lattice("torus", {5}));
  for (u32 root = 0; root < 5; root++) {
    const auto load = loads(ring, made(ring, "up_down", {{"roots", std::vector<double>{double(root)}}}));
    CHECK_EQ(*std::max_element(load.begin(), load.end()), 4.0);
    CHECK_EQ(std::accumulate(load.begin(), load.end(), 0.0), 32.0);
  }
  // Two roots with terminals that have no route between them.
  CHECK_THROWS(ConfigError, made(ring, "up_down", {{"roots", std::vector<double>{0, 2}}}), "up_down", "roots",
               "from switch 2 to switch 0");
  // The top level of a fat tree is found automatically.
  const Xgft tree = k_ary_tree(3, 3);
  const tables::ChannelGraph whole = graph_of(tree.section());
  std::vector<double> top;
  for (u32 s = 18; s < 27; s++) top.push_back(s);
  CHECK_EQ(digest(made(whole, "up_down")), digest(made(whole, "up_down", {{"roots", top}})));
  CHECK(made(whole, "down_up").port == made(whole, "up_down").port);
}

}  // namespace tables_opensm_engines_test
