// Cube-connected cycles (Preparata & Vuillemin, Comm. ACM 24, 1981): a hypercube whose corners
// are rings. With d dimensions it has d 2^d routers. Every router has three links: to both
// neighbours in its ring, and along one dimension of the cube.
#include "simcore/limits.hpp"
#include "simcore/registry.hpp"

namespace flitgym::topology::cube_connected_cycles {

namespace {

// Router corner * d + k is the k-th router of the ring at a corner of the cube. Its link
// across runs along dimension k. Order of a router's ports: terminals, next router of the ring,
// previous router, across. A ring is a group: its links are local, the cube's links are global.
void wire(const Params& params, Wiring& w) {
  const u32 d = params.count("dimensions"), terminals = params.count("terminals_per_router");
  const u32 corners = 1u << d, next = terminals, previous = terminals + 1,
            across = terminals + 2;
  w.resize(corners * d, terminals + 3);
  w.groups = corners;
  for (u32 r = 0; r < w.routers; r++, worked(terminals + 3)) {
    const u32 corner = r / d, k = r % d;
    w.router_group[r] = corner;
    for (u32 t = 0; t < terminals; t++) w.attach_terminal({r, t});
    w.connect({r, next}, {corner * d + (k + 1) % d, previous}, {PortKind::kLocal});
    const u32 opposite = (corner ^ 1u << k) * d + k;
    if (r < opposite) w.connect({r, across}, {opposite, across}, {PortKind::kGlobal});
  }
  w.data = std::make_shared<const Topology>();  // distances and minimal ports by search
}

const Register<TopologySpec> entry({
    "cube_connected_cycles",
    "a hypercube with a ring at each corner: three links per router at any size "
    "(Preparata & Vuillemin, 1981)",
    {
        integer("dimensions", 4, 2, 20, "", "dimensions d of the cube, and routers per ring"),
        integer("terminals_per_router", 1, 1, 63, "", "terminals per router"),
    },
    wire,
    {{"dimensions", i64{2}}},
});

}  // namespace

}  // namespace flitgym::topology::cube_connected_cycles
