// HammingMesh: sizes and diameters of the paper, closed forms against breadth-first search, and dimension order.
#include "simcore/topology/hammingmesh.hpp"

#include "support/exploration.hpp"
#include "support/links.hpp"

namespace topology_hammingmesh_test {

using namespace scenes;

struct Shape {
  u32 width, height, x, y, ports = 64, taper = 1;
  Section section() const {
    return {"hammingmesh",
            {{"board_width", width},
             {"board_height", height},
             {"boards_x", x},
             {"boards_y", y},
             {"switch_ports", ports},
             {"taper", taper}}};
  }
  std::string name() const {
    std::string out;
    for (const auto& [key, value] : section().values) out += key + "=" + to_string(value) + " ";
    return out;
  }
};

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all = {{2, 2, 4, 4},    {2, 2, 3, 2}, {4, 4, 2, 3},       {3, 2, 2, 4},
                                         {5, 1, 3, 2},    {1, 1, 4, 4}, {2, 2, 6, 5, 6},    {4, 2, 5, 1},
                                         {3, 3, 4, 9, 8}, {2, 1, 1, 4}, {2, 2, 8, 3, 8, 3}, {1, 2, 12, 2, 12, 2}};
  return all;
}

// Every line of accelerators has a tree. A board has meshes and 2 (a + b) links off the board.
TEST(hammingmesh_has_the_numbers_of_its_boards) {
  for (const Shape& s : shapes()) {
    const auto net = network_of(s.section());
    const HammingMesh& hm = as_hammingmesh(*net);
    const u32 boards = s.x * s.y, accelerators = boards * s.width * s.height;
    CHECK_FOR(net->terminals == accelerators && net->groups == boards, s.name());
    for (u32 t = 0; t < accelerators; t++) CHECK_EQ(net->terminal_router[t], t);
    u32 links = boards * (s.height * (s.width - 1) + s.width * (s.height - 1)), switches = 0;
    for (u32 d = 0; d < 2; d++) {
      const HammingMesh::Axis& axis = hm.axes[d];
      const u32 lines = d ? s.x * s.width : s.y * s.height, ends = (d ? s.y : s.x) > 1 ? 2 * (d ? s.y : s.x) : 0;
      CHECK_FOR((axis.leaves > 0) == (ends > 0) && (axis.spines > 0) == (ends > s.ports), s.name());
      links += lines * (ends + axis.leaves * axis.up);
      switches += lines * axis.switches();
      for (u32 r = axis.first; r < axis.first + lines * axis.switches(); r++) {
        u32 used = 0;
        for (u32 k = 0; k < net->radix; k++) used += net->is_link(net->port(r, k));
        CHECK_FOR(used <= s.ports && used > 0, s.name());
      }
    }
    CHECK_FOR(net->routers == accelerators + switches, s.name());
    CHECK_EQ(count_links(*net), links);
    const auto next = neighbors_of(*net);
    for (u32 r = 0; r < accelerators && s.x > 1 && s.y > 1; r++) CHECK_FOR(next[r].size() == 4, s.name());
  }
}

// The distance of two accelerators is the sum of the distances along a row and along a column.
TEST(hammingmesh_closed_forms_agree_with_breadth_first_search) {
  for (const Shape& s : shapes()) {
    const auto net = network_of(s.section());
    const HammingMesh& hm = as_hammingmesh(*net);
    const auto next = neighbors_of(*net);
    u32 most = 0;
    for (u32 a = 0; a < hm.accelerators; a++) {
      const auto hops = hops_from(next, a);
      for (u32 b = 0; b < hm.accelerators; b++) {
        u32 sum = 0;
        for (u32 d = 0; d < 2; d++) sum += hm.axes[d].hops(hm.coordinate(a, d), hm.coordinate(b, d));
        CHECK_FOR(hops[b] == sum, s.name() + ": " + std::to_string(a) + " to " + std::to_string(b));
        most = std::max(most, sum);
      }
      CHECK_EQ(hm.accelerator(hm.coordinate(a, 0), hm.coordinate(a, 1)), a);
    }
    CHECK_FOR(most == hm.axes[0].longest() + hm.axes[1].longest(), s.name());
  }
}

// Boards of odd and even width, a single line, trees of one and two levels, and tapered trees: two classes have no
// cycle, and every path is minimal.
TEST(hammingmesh_dimension_order_has_no_cycle_and_is_minimal) {
  for (const Shape& s : {Shape{2, 2, 2, 3}, Shape{4, 1, 3, 1}, Shape{3, 2, 2, 2}, Shape{5, 1, 2, 2}, Shape{1, 1, 4, 3},
                         Shape{2, 1, 8, 2, 8}, Shape{4, 1, 9, 1, 8}, Shape{1, 2, 1, 8, 8, 3}, Shape{6, 1, 2, 1}}) {
    Lone x(network_of(s.section(), "dimension_order"));
    const auto next = neighbors_of(x.net);
    std::vector<std::vector<u32>> hops;
    for (u32 r = 0; r < as_hammingmesh(x.net).accelerators; r++) hops.push_back(hops_from(next, r));
    const auto visit = [&](const Node& node, const std::vector<Option>&) {
      const u32 from = x.net.terminal_router[node.packet.source], to = x.net.terminal_router[node.packet.destination];
      CHECK_EQ(node.packet.hops + hops[to][node.at.router], hops[from][to]);
    };
    const Edges edges = explore(x, listed, visit, 4);
    CHECK_FOR(acyclic(edges) && edge_count(edges) > 0 && x.net.routing_facts.classes <= 2, s.name());
  }
}

// The groups are the boards, so adversarial traffic goes from board to board.
TEST(hammingmesh_groups_are_boards) {
  const auto net = build(config(Shape{3, 2, 2, 2}.section(), input_queued(), {"minimal", {}}, {"adversarial", {}}));
  for (u32 t = 0; t < net->terminals; t++) CHECK_EQ(net->destination(1, t, 0, 0, 0) / 6, (t / 6 + 1) % 4);
}

}  // namespace topology_hammingmesh_test
