// Up*/down* with ranks counted from the terminals instead of from roots (OpenSM, doc/current-routing.txt, DNUP). A
// switch is higher the farther it is from the nearest terminal. At equal height, the switch nearer to a root among the
// highest switches is higher. This suits networks whose terminals are attached at different levels.
//
// Some paths may be missing, e.g. between two switches without a common switch above them. Then all switches are ranked
// by their hops from the root instead. OpenSM instead uses channels between switches of equal height in both
// directions, which closes cycles if all switches have terminals. On trees the tables are equal to those of OpenSM.
#include "simcore/tables/engine.hpp"
#include "tables/up_down.hpp"

namespace flitgym::tables::engines::down_up {

ForwardingTable make(const Params&, const ChannelGraph& g, const Demand&) {
  const std::vector<u32> height = heights(g);
  const u32 top = farthest(height);
  std::vector<u8> highest(g.switches);
  for (u32 s = 0; s < g.switches; s++) highest[s] = height[s] == top;
  std::vector<std::vector<u32>> by_height, by_root;
  for (const u32 root : likely_roots(g, highest)) {
    by_root.push_back(hops_to(g, root));
    std::vector<u32> rank = by_root.back();
    const u32 deepest = farthest(rank);
    for (u32 s = 0; s < g.switches; s++)
      if (height[s] != kNone) rank[s] += (top - height[s]) * (deepest + 1);
    by_height.push_back(std::move(rank));
  }
  ForwardingTable table = empty_table(g, "down_up");
  if (best_up_down_table(g, by_height, table) == kNone && best_up_down_table(g, by_root, table) == kNone)
    throw ConfigError("engine down_up: the network does not connect all terminals");
  return table;
}

const Register<EngineSpec> entry({
    .name = "down_up",
    .summary = "up, away from the terminals, then down; free of deadlock in one layer on every network",
    .make = make,
});

}  // namespace flitgym::tables::engines::down_up
