// Dimension order on a HammingMesh: two VC classes are free of deadlock on many shapes, and all paths are minimal.
#include "simcore/topology/hammingmesh.hpp"
#include "support/every_path.hpp"
#include "support/links.hpp"
#include "test.hpp"

namespace routing_hammingmesh_dimension_order_test {

using namespace scenes;

// Boards of odd and even width, a single line, trees of one and two levels, and tapered trees.
TEST(hammingmesh_dimension_order_has_no_cycle_and_is_minimal) {
  struct Shape {
    i64 width, height, x, y, ports, taper;
  };
  for (const Shape& s : {Shape{2, 2, 2, 3, 64, 1}, Shape{4, 1, 3, 1, 64, 1}, Shape{3, 2, 2, 2, 64, 1},
                         Shape{5, 1, 2, 2, 64, 1}, Shape{1, 1, 4, 3, 64, 1}, Shape{2, 1, 8, 2, 8, 1},
                         Shape{4, 1, 9, 1, 8, 1}, Shape{1, 2, 1, 8, 8, 3}, Shape{6, 1, 2, 1, 64, 1}}) {
    const Section topology{"hammingmesh",
                           {{"board_width", s.width},
                            {"board_height", s.height},
                            {"boards_x", s.x},
                            {"boards_y", s.y},
                            {"switch_ports", s.ports},
                            {"taper", s.taper}}};
    const auto net = network_of(topology, "dimension_order");
    const HammingMesh& hm = as_hammingmesh(*net);
    const auto next = neighbors_of(*net);
    std::vector<std::vector<u32>> hops;
    for (u32 r = 0; r < hm.accelerators; r++) hops.push_back(hops_from(next, r));
    const Edges edges = dependencies_of(net, 4, [&](const Lone& x, const Place& at, const Step& step) {
      const Packet& p = x.state.packets[0];
      const u32 from = net->terminal_router[p.source], to = net->terminal_router[p.destination];
      CHECK_EQ(p.hops + hops[to][at.router], hops[from][to]);
      CHECK(step.vc_class == kAnyClass || step.vc_class < 2);
    });
    CHECK(acyclic(edges));
    CHECK(edge_count(edges) > 0);
  }
}

}  // namespace routing_hammingmesh_dimension_order_test
