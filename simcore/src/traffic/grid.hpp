// A 3-D grid over the terminals, x fastest. By default x = slot at the router, y = router in the group, z = group.
#pragma once

#include "simcore/error.hpp"
#include "simcore/traffic/draws.hpp"

namespace flitgym::traffic {

struct Grid : ComponentData {
  u32 nx = 0, ny = 0, nz = 0;
  u32 at(u32 x, u32 y, u32 z) const { return x + nx * (y + ny * z); }
};

inline std::vector<ParamSpec> grid_params() {
  return {
      integer("nx", 0, 0, 1 << 20, "", "grid size in x; 0 = terminals per router"),
      integer("ny", 0, 0, 1 << 20, "", "grid size in y; 0 = routers per group"),
      integer("nz", 0, 0, 1 << 20, "", "grid size in z; 0 = groups"),
  };
}

inline std::shared_ptr<const ComponentData> make_grid(const std::string& name, const Params& params,
                                                      const Network& net) {
  auto grid = std::make_shared<Grid>();
  const auto size = [&](const char* key, u32 fallback) { return params.count(key) ? params.count(key) : fallback; };
  grid->nx = size("nx", net.terminals / net.routers);
  grid->ny = size("ny", net.routers / net.groups);
  grid->nz = size("nz", net.groups);
  const u64 cells = u64{grid->nx} * grid->ny * grid->nz;
  if (cells != net.terminals)
    throw ConfigError("traffic." + name + ": a grid of " + std::to_string(grid->nx) + " x " + std::to_string(grid->ny) +
                      " x " + std::to_string(grid->nz) + " = " + std::to_string(cells) + " cells does not cover the " +
                      std::to_string(net.terminals) + " terminals; set nx, ny, nz");
  return grid;
}

}  // namespace flitgym::traffic
