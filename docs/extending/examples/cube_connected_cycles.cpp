// Cube-connected cycles (Preparata & Vuillemin, Comm. ACM 24, 1981): a hypercube whose corners
// are rings. However many dimensions d the cube has, a router has three links: to both
// neighbours in its ring, and along one dimension of the cube. d 2^d routers.
#include "simcore/limits.hpp"
#include "simcore/registry.hpp"

namespace flitgym::topology::cube_connected_cycles {

namespace {

// Router corner * d + k is the k-th of the ring at a corner of the cube, and its link across
// goes along dimension k. Router-local ports: the terminals, to the next router of the ring, to
// the one before, across. A ring is a group: its links are local, the cube's are global.
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
  w.data = std::make_shared<const Topology>();  // distances and minimal ports are counted from
                                                // the links
}

const Register<TopologySpec> entry({
    "cube_connected_cycles",
    "a hypercube with a ring at each corner: three links per router, whatever its size "
    "(Preparata & Vuillemin, 1981)",
    {
        integer("dimensions", 4, 2, 20, "", "d of the cube, and routers in a ring"),
        integer("terminals_per_router", 1, 1, 63, "", "hosts at each"),
    },
    wire,
    {{"dimensions", i64{2}}},
});

}  // namespace

}  // namespace flitgym::topology::cube_connected_cycles
