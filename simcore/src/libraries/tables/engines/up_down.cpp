// Up*/down* (Schroeder et al., Autonet, IEEE JSAC 9(8), 1991; OpenSM, doc/current-routing.txt, UPDN). Switches are
// ranked by their hops from the roots, and no route goes up after it has gone down. Free of deadlock in one layer on
// every network, but not minimal in general. Among the legal channels each switch takes the one with the fewest
// destinations. OpenSM combines the shortest legal paths of all switches, which on irregular networks may form an
// illegal route. tables/up_down.hpp explains why all routes are legal here.
#include "tables/up_down.hpp"
#include "simcore/tables/engine.hpp"

namespace flitgym::tables::engines::up_down {

ForwardingTable make(const Params& params, const ChannelGraph& g, const Demand&) {
  ForwardingTable table = empty_table(g, "up_down");
  u32 from = 0, to = 0;
  const std::optional<Levels> levels = find_levels("up_down", params, g);
  if (levels && up_down_table(g, levels->rank, table, from, to)) return table;
  if (levels && levels->of_roots)
    throw ConfigError("engine up_down, roots: no path goes up and then down from switch ", g.switch_name(from),
                      " to switch ", g.switch_name(to),
                      ", because no root is above both; give a single root, or none to let the engine find them");
  // With a single root, every switch reaches every other switch.
  std::vector<std::vector<u32>> ranks;
  for (const u32 root : likely_roots(g, std::vector<u8>(g.switches, 1))) ranks.push_back(hops_to(g, root));
  table = empty_table(g, "up_down");
  if (best_up_down_table(g, ranks, table) == kNone)
    throw ConfigError("engine up_down: the network does not connect all terminals");
  return table;
}

const Register<EngineSpec> entry({
    .name = "up_down",
    .summary = "up towards given or found roots, then down; free of deadlock in one layer on every network",
    .params = root_params(),
    .make = make,
});

}  // namespace flitgym::tables::engines::up_down
