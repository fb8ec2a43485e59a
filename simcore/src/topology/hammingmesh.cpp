// HammingMesh (Hoefler, Bonato, De Sensi, Di Girolamo, Li, Heddes, Belk, Goel, Castro, Scott, SC 2022, arXiv
// 2209.01346): boards of accelerators in a grid. An accelerator has four links per plane. It forwards packets of others
// on its board, which is a 2D mesh. Switches join the ends of the boards along each row and each column of
// accelerators. A line has one switch, or a fat tree of two levels if it has more ends than a switch has ports. The
// network models one plane.
//
// Known: boards of a x b accelerators in a grid of x times y boards, the mesh of a board, and the forwarding.
// Assumed: every line of accelerators has a tree, as in the generator of EvalNet (arXiv 2105.12663). In the paper's
// small clusters, lines may share a switch of 64 ports. A spine is joined with all leaves of its tree by equally many
// links.
#include "simcore/topology/hammingmesh.hpp"

#include "simcore/registry.hpp"

namespace flitgym::topology::hammingmesh {

using Axis = HammingMesh::Axis;

// The tree of a line with 2 `boards` ends.
void shape_tree(Axis& axis, u32 ports, u32 taper) {
  const u32 ends = 2 * axis.boards;
  if (axis.boards == 1) return;
  axis.leaves = 1;
  axis.down = ends;
  if (ends <= ports) return;
  axis.up = std::max(1u, ports / (taper + 1));
  axis.down = (ports - axis.up) / 2 * 2;  // both ends of a board share a leaf
  axis.leaves = (ends + axis.down - 1) / axis.down;
  for (axis.spines = 1; axis.up % axis.spines || axis.leaves * (axis.up / axis.spines) > ports; axis.spines++)
    if (axis.spines > axis.up)
      throw ConfigError("topology.hammingmesh.switch_ports: a line of ", ends, " ends of boards needs ", axis.leaves,
                        " leaves with ", axis.up, " links up, more than spines of ", ports,
                        " ports can join; use larger switches or fewer boards");
  axis.links = axis.up / axis.spines;
}

// The cables of one line: the meshes of its boards, and its tree. member(c) is the accelerator at coordinate c.
template <class Member>
void wire_line(Wiring& w, const Axis& axis, u32 d, u32 line, Member member) {
  const u32 low = 1 + 2 * d, high = low + 1, tree = axis.first + line * axis.switches();
  for (u32 c = 0; c + 1 < axis.width * axis.boards; c++)
    if (axis.same_board(c, c + 1)) w.connect({member(c), high}, {member(c + 1), low}, {PortKind::kLocal});
  if (axis.leaves == 0) return;
  for (u32 board = 0; board < axis.boards; board++) {
    const u32 leaf = axis.leaf_of(board), port = 2 * board - leaf * axis.down;
    w.connect({member(board * axis.width), low}, {tree + leaf, port}, {PortKind::kGlobal});
    w.connect({member((board + 1) * axis.width - 1), high}, {tree + leaf, port + 1}, {PortKind::kGlobal});
  }
  for (u32 leaf = 0; leaf < axis.leaves; leaf++)
    for (u32 spine = 0; spine < axis.spines; spine++)
      for (u32 link = 0; link < axis.links; link++)
        w.connect({tree + leaf, axis.down + link * axis.spines + spine},
                  {tree + axis.leaves + spine, leaf * axis.links + link}, {PortKind::kGlobal});
}

void wire(const Params& params, Wiring& w) {
  auto hm = std::make_shared<HammingMesh>();
  const u32 ports = params.count("switch_ports"), taper = params.count("taper");
  for (u32 d = 0; d < 2; d++) {
    hm->axes[d].width = params.count(d ? "board_height" : "board_width");
    hm->axes[d].boards = params.count(d ? "boards_y" : "boards_x");
    shape_tree(hm->axes[d], ports, taper);
  }
  Axis &rows = hm->axes[0], &columns = hm->axes[1];
  if (rows.boards * columns.boards < 2)
    throw ConfigError(
        "topology.hammingmesh.boards_x: a single board has no switches; boards_x or boards_y must be 2 "
        "or more (topology=mesh is a single board)");
  const u32 row_lines = columns.width * columns.boards, column_lines = rows.width * rows.boards;
  if (const u64 all = u64{row_lines} * column_lines; all >= u64{1} << 23)
    throw ConfigError("topology.hammingmesh: ", all,
                      " accelerators; the core supports fewer than 2^23 routers of 5 ports");
  hm->accelerators = row_lines * column_lines;
  rows.first = hm->accelerators;
  columns.first = rows.first + row_lines * rows.switches();

  std::vector<u32> radix(hm->accelerators, 5);
  for (u32 d = 0; d < 2; d++)
    for (u32 line = 0; line < (d ? column_lines : row_lines); line++) {
      radix.insert(radix.end(), hm->axes[d].leaves, hm->axes[d].down + hm->axes[d].up);
      radix.insert(radix.end(), hm->axes[d].spines, hm->axes[d].leaves * hm->axes[d].links);
    }
  w.resize(radix);
  for (u32 r = 0; r < hm->accelerators; r++, worked()) w.attach_terminal({r, 0});
  for (u32 y = 0; y < row_lines; y++, worked(8 * column_lines))
    wire_line(w, rows, 0, y, [&](u32 c) { return hm->accelerator(c, y); });
  for (u32 x = 0; x < column_lines; x++, worked(8 * row_lines))
    wire_line(w, columns, 1, x, [&](u32 c) { return hm->accelerator(x, c); });

  // A group is a board. The switches are divided among the groups.
  w.groups = rows.boards * columns.boards;
  const u32 switches = w.routers - hm->accelerators;
  for (u32 r = 0; r < w.routers; r++)
    w.router_group[r] =
        r < hm->accelerators ? r / hm->on_board() : static_cast<u32>(u64{r - hm->accelerators} * w.groups / switches);
  w.data = hm;
}

const Register<TopologySpec> entry({
    .name = "hammingmesh",
    .summary = "boards of accelerators that forward packets; switches join the boards of each row and column (Hoefler "
               "et al., SC 2022)",
    .params =
        {
            integer("board_width", 2, 1, 64, "accelerators", "a, accelerators in a row of a board"),
            integer("board_height", 2, 1, 64, "accelerators", "b, accelerators in a column of a board"),
            integer("boards_x", 4, 1, 4096, "boards", "x, boards in a row of the grid"),
            integer("boards_y", 4, 1, 4096, "boards", "y, boards in a column of the grid"),
            integer("switch_ports", 64, 4, kMaxRadix, "",
                    "ports of a switch; a line with more ends of boards has a tree of two levels"),
            integer("taper", 1, 1, 16, "",
                    "ports down for each port up of a leaf, in a tree of two levels; 1 = full bandwidth"),
        },
    .wire = wire,
    .small = {{"board_width", 2}, {"board_height", 1}, {"boards_x", 2}, {"boards_y", 2}},
});

}  // namespace flitgym::topology::hammingmesh
