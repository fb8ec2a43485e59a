// DCR (SC'19): (x, y, z) to (S-1-z, S-1-y, S-1-x); with L dimensions, k and L-1-k are exchanged and mirrored. The
// destinations of a line of routers in x all lie on one line in z. Dimension order sends all of this traffic over one
// link in between.
#include "traffic/coordinates.hpp"

namespace flitgym::traffic::dimension_complement_reverse {

std::shared_ptr<const ComponentData> setup(const Params&, const Network& net) {
  const Lattice& grid = need_coordinates("dimension_complement_reverse", net);
  for (u32 k = 0; k < grid.dimensions / 2; k++)
    need_equal_widths("dimension_complement_reverse", grid, k, grid.dimensions - 1 - k);
  return make_partners_by_router(net, [&](const std::vector<u32>& at, u32) {
    std::vector<u32> there;
    for (u32 k = 0; k < grid.dimensions; k++) there.push_back(grid.widths[k] - 1 - at[grid.dimensions - 1 - k]);
    return there;
  });
}

const Register<TrafficSpec> entry({
    .name = "dimension_complement_reverse",
    .summary = "coordinates of a HyperX, torus or mesh, mirrored and in reverse order (DCR)",
    .setup = setup,
    .destination = partner,
});

}  // namespace flitgym::traffic::dimension_complement_reverse
