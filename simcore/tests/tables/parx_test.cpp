// PARX on a HyperX of even sizes: the links that each address avoids, the resulting route lengths, layers without
// cycles, and refusals.
#include <algorithm>

#include "simcore/tables/walk.hpp"
#include "support/scenes.hpp"
#include "support/tables.hpp"
#include "tables/dependencies.hpp"
#include "tables/quality.hpp"
#include "test.hpp"

namespace tables_parx_test {

using namespace scenes;

tables::ForwardingTable parx(const tables::ChannelGraph& g, std::shared_ptr<const Demand> demand = nullptr,
                             const Values& values = {}) {
  return tables::make_table("routing.table", {"parx", values, demand}, g);
}

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
    const tables::ForwardingTable table = parx(g);
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
  const tables::ForwardingTable table = parx(g);
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
    auto demand = std::make_shared<Demand>();
    demand->terminals = g.terminals;
    for (u32 d = 0; d < g.terminals; d++) {
      demand->first.push_back(demand->source.size());
      demand->source.push_back((d * factor + 3) % g.terminals);
      demand->weight.push_back(1e6);
    }
    demand->first.push_back(demand->source.size());
    const tables::ForwardingTable aware = parx(g, demand);
    CHECK(find_cycle(g, aware).empty());
    before += quality(g, parx(g), *demand).edge_forwarding_index;
    after += quality(g, aware, *demand).edge_forwarding_index;
  }
  CHECK_FOR(after < before, std::to_string(after) + " and " + std::to_string(before));
}

TEST(parx_routes_around_missing_links) {
  for (i64 seed = 1; seed <= 6; seed++) {
    const tables::ChannelGraph g = graph_of(hyperx_section({4, 4}, 2), {{"links", 0.25}, {"seed", seed}});
    const tables::ForwardingTable table = parx(g);  // parx() refuses a table that does not connect all pairs
    CHECK(find_cycle(g, table).empty());
    CHECK(digest(table) == digest(parx(g)));
  }
}

}  // namespace tables_parx_test
