// Many-to-many: per round, one packet to each other terminal of the same (x, y) column of the grid, in increasing z
// (the all-to-all of a 3-D FFT).
#include "traffic/grid.hpp"

namespace flitgym::traffic::many_to_many {

std::shared_ptr<const ComponentData> setup(const Params& params, const Network& net) {
  auto grid = make_grid("many_to_many", params, net);
  if (static_cast<const Grid&>(*grid).nz < 2)
    throw ConfigError("traffic.many_to_many.nz: a column of one terminal has no destination; nz must be at least 2");
  return grid;
}

u32 destination(const Network&, const ComponentData& own, u64, u32 terminal, u32, u32, u32 index) {
  const auto& grid = static_cast<const Grid&>(own);
  const u32 plane = grid.nx * grid.ny, level = terminal / plane;
  return terminal % plane + plane * (index < level ? index : index + 1);
}

u32 round_size(const Network&, const ComponentData& own, u64, u32, u32) { return static_cast<const Grid&>(own).nz - 1; }
double mean_round_size(const Network&, const ComponentData& own) { return static_cast<const Grid&>(own).nz - 1; }

const Register<TrafficSpec> entry({
    .name = "many_to_many",
    .summary = "per round, all-to-all within each z column of a 3-D grid",
    .params = grid_params(),
    .setup = setup,
    .destination = destination,
    .round_size = round_size,
    .mean_round_size = mean_round_size,
});

}  // namespace flitgym::traffic::many_to_many
