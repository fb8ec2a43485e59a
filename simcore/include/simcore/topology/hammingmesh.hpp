// The HammingMesh: numbering, ports and minimal paths along a line of accelerators.
#pragma once

#include "simcore/state.hpp"

namespace flitgym {

// Boards of width x height accelerators form a grid. The accelerators of a board form a 2D mesh. A tree of switches
// joins both ends of all boards along each line of accelerators, that is, along each row and each column of the grid.
//
// Accelerator  board by board, (Y boards_x + X) width height + y width + x. Its router forwards packets.
//              Ports: 0 terminal, 1 west, 2 east, 3 south, 4 north.
// Switch       after the accelerators: the trees of all rows, then of all columns. A tree has its leaves, then spines.
//              Ports of a leaf: down, 2 board + side (0 = west or south end), counted from the leaf's first. Then up,
//              link spines + spine. Ports of a spine: leaf (links per leaf) + link.
struct HammingMesh final : Topology {
  // Axis 0 runs along the rows, axis 1 along the columns.
  struct Axis {
    u32 width = 1, boards = 1;        // accelerators of a board, and boards, along the line
    u32 leaves = 0, spines = 0;       // switches of a line's tree; without leaves there is no tree
    u32 down = 0, up = 0, links = 0;  // ports of a leaf down and up, and links between a leaf and a spine
    u32 first = 0;                    // first switch
    u32 switches() const { return leaves + spines; }
    u32 leaf_of(u32 board) const { return 2 * board / down; }
    // Hops between a place on a board and the nearest switch of its line.
    u32 leave(u32 place) const { return std::min(place + 1, width - place); }
    // Hops between two coordinates by way of the tree; kNone: there is no tree.
    u32 by_tree(u32 from, u32 to) const {
      if (leaves == 0) return kNone;
      const u32 climb = leaf_of(from / width) == leaf_of(to / width) ? 0 : 2;
      return leave(from % width) + climb + leave(to % width);
    }
    bool same_board(u32 from, u32 to) const { return from / width == to / width; }
    // A path stays on the board unless the path by way of the tree is shorter.
    bool uses_tree(u32 from, u32 to) const {
      return !same_board(from, to) || by_tree(from, to) < (from > to ? from - to : to - from);
    }
    u32 hops(u32 from, u32 to) const {
      return uses_tree(from, to) ? by_tree(from, to) : from > to ? from - to : to - from;
    }
    u32 longest() const {
      u32 most = 0;
      for (u32 from = 0; from < width; from++)
        for (u32 to = 0; to < width; to++)
          most = std::max({most, hops(from, to), boards > 1 ? hops(from, (boards - 1) * width + to) : 0});
      return most;
    }
  };
  Axis axes[2];
  u32 accelerators = 0;

  u32 on_board() const { return axes[0].width * axes[1].width; }
  u32 coordinate(u32 router, u32 axis) const {
    const u32 board = router / on_board(), place = router % on_board();
    const u32 x = axes[0].width, boards = axes[0].boards;
    return axis == 0 ? board % boards * x + place % x : board / boards * axes[1].width + place / x;
  }
  u32 accelerator(u32 x, u32 y) const {
    const u32 board = y / axes[1].width * axes[0].boards + x / axes[0].width;
    return board * on_board() + y % axes[1].width * axes[0].width + x % axes[0].width;
  }
  bool is_switch(u32 router) const { return router >= accelerators; }
  u32 axis_of_switch(u32 router) const { return router >= axes[1].first; }
};

inline const HammingMesh& as_hammingmesh(const Network& net) { return static_cast<const HammingMesh&>(*net.topology); }

}  // namespace flitgym
