// Up*/down* with ranks counted from the terminals instead of from roots (OpenSM, doc/current-routing.txt, DNUP): the
// farther from the next terminal, the higher. For networks whose terminals hang at different levels. Where that leaves
// ways missing, as between two switches that nothing lies above (with terminals on all switches, say), the centre of
// the highest ones becomes the root that all are ranked below. OpenSM lets channels within a rank go both ways instead,
// which closes cycles there; on trees its tables are these.
#include <algorithm>

#include "simcore/error.hpp"
#include "tables/engine.hpp"
#include "tables/levels.hpp"
#include "tables/up_down.hpp"

namespace flitgym {

namespace {

ForwardingTable make(const Params&, const ChannelGraph& g, const Demand&) {
  std::vector<u32> height = heights(g);
  u32 top = 0;
  for (const u32 h : height)
    if (h != kNone) top = std::max(top, h);
  std::vector<u32> rank(g.switches);
  for (u32 s = 0; s < g.switches; s++) rank[s] = height[s] == kNone ? kNone : top - height[s];
  ForwardingTable table = empty_table(g, "down_up");
  u32 from = 0, to = 0;
  if (up_down_table(g, rank, table, from, to)) return table;
  std::vector<u8> highest(g.switches);
  for (u32 s = 0; s < g.switches; s++) highest[s] = height[s] == top;
  table = empty_table(g, "down_up");
  if (!up_down_table(g, ranks_below(g, {centre(g, highest)}), table, from, to))
    throw ConfigError("engine down_up: there is no way from switch " + g.switch_name(from) + " to switch " +
                      g.switch_name(to));
  return table;
}

const Register<EngineSpec> entry(
    {"down_up", "up away from the terminals, then down; free of deadlock in one layer everywhere", {}, {}, make});

}  // namespace

}  // namespace flitgym
