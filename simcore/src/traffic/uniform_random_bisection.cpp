// URB(d): across the middle of one dimension, anywhere in the others (SC'19). Coordinate d is mirrored, and the other
// coordinates are uniformly random. Slot t sends to slot T-1-t.
#include "traffic/coordinates.hpp"

namespace flitgym::traffic::uniform_random_bisection {

struct Bisection : ComponentData {
  u32 dimension = 0;
};

std::shared_ptr<const ComponentData> setup(const Params& params, const Network& net) {
  auto data = std::make_shared<Bisection>();
  const Lattice& grid = need_coordinates("uniform_random_bisection", net);
  data->dimension = dimension_of("uniform_random_bisection", params, grid);
  need_even_width("uniform_random_bisection", grid, data->dimension);
  return data;
}

u32 destination(const Network& net, const ComponentData& own, u64 seed, u32 terminal, u32 sequence, u32, u32) {
  const Lattice& grid = lattice(net);
  const u32 k = static_cast<const Bisection&>(own).dimension, from = terminal / grid.terminals;
  // Draws a router among all, then replaces its coordinate k by the mirrored own coordinate.
  const u32 any = below(traffic_draw(seed, terminal, sequence, 0), net.routers),
            mirrored = grid.widths[k] - 1 - grid.coordinate(from, k);
  const u32 router = any - grid.coordinate(any, k) * grid.stride[k] + mirrored * grid.stride[k];
  return router * grid.terminals + grid.terminals - 1 - terminal % grid.terminals;
}

const Register<TrafficSpec> entry({
    .name = "uniform_random_bisection",
    .summary =
        "across the middle of one dimension of a HyperX, torus or mesh, uniform in the others (URBx, URBy, URBz)",
    .params = {choice("dimension", "x", {}, "x, y, z or a number from 0; its width must be even")},
    .setup = setup,
    .destination = destination,
});

}  // namespace flitgym::traffic::uniform_random_bisection
