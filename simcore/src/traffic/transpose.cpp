// Transpose: x and y are exchanged.
#include "traffic/coordinates.hpp"

namespace flitgym::traffic::transpose {

std::shared_ptr<const ComponentData> setup(const Params&, const Network& net) {
  const Lattice& grid = need_coordinates("transpose", net);
  need_dimensions("transpose", grid, 2);
  need_equal_widths("transpose", grid, 0, 1);
  return make_partners_by_router(net, [](std::vector<u32> at, u32) {
    std::swap(at[0], at[1]);
    return at;
  });
}

const Register<TrafficSpec> entry({
    .name = "transpose",
    .summary = "x and y exchanged, on a HyperX, torus or mesh",
    .setup = setup,
    .destination = partner,
});

}  // namespace flitgym::traffic::transpose
