// Up*/down* (Schroeder et al., Autonet, IEEE JSAC 9(8), 1991; OpenSM, doc/current-routing.txt, UPDN): switches are
// ranked by their hops from the roots, and no route goes up after it has gone down. Free of deadlock in one layer on
// every network; not minimal in general. Of several legal channels each switch takes the one by which the fewest
// destinations leave. OpenSM joins the shortest legal ways of all switches, which on irregular networks can give an
// illegal one; tables/up_down.hpp says why these are legal all of them.
#include "tables/up_down.hpp"
#include "simcore/error.hpp"
#include "tables/engine.hpp"
#include "tables/levels.hpp"

namespace flitgym::tables::engines::up_down {

namespace {

ForwardingTable make(const Params& params, const ChannelGraph& g, const Demand&) {
  ForwardingTable table = empty_table(g, "up_down");
  Levels levels;
  u32 from = 0, to = 0;
  const bool found = find_levels("up_down", params, g, levels);
  if (found && up_down_table(g, levels.rank, table, from, to)) return table;
  if (found && levels.from == Levels::From::kRoots)
    throw ConfigError("engine up_down, roots: no way goes up and then down from switch " + g.switch_name(from) +
                      " to switch " + g.switch_name(to) +
                      ", for no root lies above both; give one root alone, or none and the engine looks for them");
  // Below a single root everybody reaches everybody.
  std::vector<std::vector<u32>> ranks;
  for (const u32 root : likely_roots(g, std::vector<u8>(g.switches, 1))) ranks.push_back(ranks_below(g, {root}));
  table = empty_table(g, "up_down");
  if (!best_up_down_table(g, ranks, table)) throw ConfigError("engine up_down: not all terminals are connected");
  return table;
}

const Register<EngineSpec> entry({
    .name = "up_down",
    .summary = "up from roots that are given or found, then down; free of deadlock in one layer everywhere",
    .params = root_params(),
    .make = make,
});

}  // namespace

}  // namespace flitgym::tables::engines::up_down
