// Patterns on a 3-D grid over the terminals, x fastest. By default x = slot at the router, y = router in the group, z =
// group.
//
// Many-to-many: per round, one packet to each other terminal of the same (x, y) column of the grid, in increasing z
// (the all-to-all of a 3-D FFT).
//
// 3-D stencil: per round, one packet to each of the six neighbours in a periodic grid, in the order x-, x+, y-, y+, z-,
// z+.
#include "simcore/traffic/draws.hpp"

namespace flitgym::traffic::grid {

struct Grid : ComponentData {
  u32 size[3], packets = 6;  // in x, y and z; packets of a round
};

std::shared_ptr<Grid> make_grid(const std::string& name, const Params& params, const Network& net) {
  auto grid = std::make_shared<Grid>();
  const u32 fallback[] = {net.terminals / net.routers, net.routers / net.groups, net.groups};
  u64 cells = 1;
  std::string product;
  for (u32 d = 0; d < 3; d++) {
    const u32 given = params.count(std::string("n") + "xyz"[d]);
    grid->size[d] = given ? given : fallback[d];
    cells *= grid->size[d];
    product += (d ? " x " : "") + std::to_string(grid->size[d]);
  }
  if (cells != net.terminals)
    throw ConfigError("traffic.", name, ": a grid of ", product, " = ", cells, " cells does not cover the ",
                      net.terminals, " terminals; set nx, ny, nz");
  return grid;
}

std::shared_ptr<const ComponentData> set_up_columns(const Params& params, const Network& net) {
  auto grid = make_grid("many_to_many", params, net);
  if (grid->size[2] < 2)
    throw ConfigError("traffic.many_to_many.nz: a column of one terminal has no destination; nz must be at least 2");
  grid->packets = grid->size[2] - 1;
  return grid;
}

std::shared_ptr<const ComponentData> set_up_stencil(const Params& params, const Network& net) {
  return make_grid("stencil_3d", params, net);
}

u32 in_column(const Network&, const ComponentData& own, u64, u32 terminal, u32, u32, u32 index) {
  const auto& size = static_cast<const Grid&>(own).size;
  const u32 plane = size[0] * size[1], level = terminal / plane;
  return terminal % plane + plane * (index < level ? index : index + 1);
}

u32 neighbor(const Network&, const ComponentData& own, u64, u32 terminal, u32, u32, u32 index) {
  const auto& size = static_cast<const Grid&>(own).size;
  u32 at[3] = {terminal % size[0], terminal / size[0] % size[1], terminal / size[0] / size[1]};
  const u32 d = index / 2;
  at[d] = (at[d] + (index % 2 ? 1 : size[d] - 1)) % size[d];
  return at[0] + size[0] * (at[1] + size[1] * at[2]);
}

TrafficSpec on_grid(std::string name, std::string summary, decltype(TrafficSpec::setup) setup,
                    decltype(TrafficSpec::destination) destination) {
  return {
      .name = std::move(name),
      .summary = std::move(summary),
      .params = {integer("nx", 0, 0, 1 << 20, "", "grid size in x; 0 = terminals per router"),
                 integer("ny", 0, 0, 1 << 20, "", "grid size in y; 0 = routers per group"),
                 integer("nz", 0, 0, 1 << 20, "", "grid size in z; 0 = groups")},
      .setup = setup,
      .destination = destination,
      .round_size = [](const Network&, const ComponentData& own, u64, u32,
                       u32) { return static_cast<const Grid&>(own).packets; },
      .mean_round_size = [](const Network&, const ComponentData& own) -> double {
        return static_cast<const Grid&>(own).packets;
      },
  };
}

const Register<TrafficSpec> many_to_many(on_grid("many_to_many",
                                                 "per round, all-to-all within each z column of a 3-D grid",
                                                 set_up_columns, in_column));
const Register<TrafficSpec> stencil_3d(on_grid("stencil_3d",
                                               "per round, one packet to each of the six neighbours in a periodic 3-D "
                                               "grid",
                                               set_up_stencil, neighbor));

}  // namespace flitgym::traffic::grid
