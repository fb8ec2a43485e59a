// S2 (SC'19): terminals in even slots send half a width away in x, terminals in odd slots half a width away in y. This
// permutation leaves most links idle under minimal routing.
#include "traffic/coordinates.hpp"

namespace flitgym::traffic::swap2 {

std::shared_ptr<const ComponentData> setup(const Params&, const Network& net) {
  const Lattice& grid = need_coordinates("swap2", net);
  need_dimensions("swap2", grid, 2);
  for (const u32 k : {0u, 1u}) need_even_width("swap2", grid, k);
  return make_partners_by_router(net, [&](std::vector<u32> at, u32 slot) {
    const u32 k = slot % 2;
    at[k] = (at[k] + grid.widths[k] / 2) % grid.widths[k];
    return at;
  });
}

const Register<TrafficSpec> entry({
    .name = "swap2",
    .summary = "half a width away on a HyperX, torus or mesh: even slots in x, odd slots in y (S2)",
    .setup = setup,
    .destination = partner,
});

}  // namespace flitgym::traffic::swap2
