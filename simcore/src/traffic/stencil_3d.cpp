// 3-D stencil: per round, one packet to each of the six neighbours in a periodic grid, in the order x-, x+, y-, y+, z-,
// z+.
#include "traffic/grid.hpp"

namespace flitgym::traffic::stencil_3d {

std::shared_ptr<const ComponentData> setup(const Params& params, const Network& net) {
  return make_grid("stencil_3d", params, net);
}

u32 destination(const Network&, const ComponentData& own, u64, u32 terminal, u32, u32, u32 index) {
  const auto& grid = static_cast<const Grid&>(own);
  u32 at[3] = {terminal % grid.nx, terminal / grid.nx % grid.ny, terminal / grid.nx / grid.ny};
  const u32 size[3] = {grid.nx, grid.ny, grid.nz}, d = index / 2;
  at[d] = (at[d] + (index % 2 ? 1 : size[d] - 1)) % size[d];
  return grid.at(at[0], at[1], at[2]);
}

u32 round_size(const Network&, const ComponentData&, u64, u32, u32) { return 6; }
double mean_round_size(const Network&, const ComponentData&) { return 6; }

const Register<TrafficSpec> entry({
    .name = "stencil_3d",
    .summary = "per round, one packet to each of the six neighbours in a periodic 3-D grid",
    .params = grid_params(),
    .setup = setup,
    .destination = destination,
    .round_size = round_size,
    .mean_round_size = mean_round_size,
});

}  // namespace flitgym::traffic::stencil_3d
