// Dimension order on a HammingMesh: along the row to the column of the destination, then along the column. In each
// dimension the path is minimal. It stays on the board, or it takes the nearer end of the board, the tree of the line,
// and the end nearer to the destination. Packets use ends at the same distance, and the links of a tree, in turns.
//
// Two VC classes are enough. In a dimension, packets leave a board and go up the tree in class 0. They go down the
// tree and enter a board in class 1. Along a line, hops within a board and class keep their direction. Channels of rows
// lead to channels of columns, never back.
#include "simcore/routing/relation.hpp"
#include "simcore/topology/hammingmesh.hpp"

namespace flitgym::routing::hammingmesh::dimension_order {

using Axis = HammingMesh::Axis;

// The side of a board with fewer hops to a place on it: 0 = west or south, 1 = east or north.
static u32 nearer_side(const Axis& axis, u32 place, u32 turn) {
  const u32 low = place + 1, high = axis.width - place;
  return low == high ? turn & 1 : high < low;
}

// At a switch of the line towards coordinate `to`.
static Hop through_tree(const HammingMesh& hm, u32 d, u32 router, u32 to, u32 turn) {
  const Axis& axis = hm.axes[d];
  const u32 at = (router - axis.first) % axis.switches(), board = to / axis.width, leaf = axis.leaf_of(board);
  if (at == leaf) return {2 * board - leaf * axis.down + nearer_side(axis, to % axis.width, turn), 1};
  if (at < axis.leaves) return {axis.down + turn % axis.up, 0};
  return {leaf * axis.links + turn % axis.links, 1};
}

static void route(const Network& net, State& s, Batch& b) {
  const HammingMesh& hm = as_hammingmesh(net);
  route_heads(net, s, b, [&](const Head& head) -> Hop {
    const u32 turn = head.packet.source + head.packet.sequence;
    const bool in_tree = hm.is_switch(head.router);
    const u32 d = in_tree ? hm.axis_of_switch(head.router) : hm.coordinate(head.router, 0) == hm.coordinate(head.to, 0);
    const u32 to = hm.coordinate(head.to, d);
    if (in_tree) return through_tree(hm, d, head.router, to, turn);
    const Axis& axis = hm.axes[d];
    const u32 at = hm.coordinate(head.router, d), low = 1 + 2 * d;
    if (axis.uses_tree(at, to)) return {low + nearer_side(axis, at % axis.width, turn), 0};
    return {low + (at < to), axis.uses_tree(hm.coordinate(net.terminal_router[head.packet.source], d), to)};
  });
}

static RoutingFacts setup(const Params&, Network& net, std::shared_ptr<const ComponentData>&) {
  const HammingMesh& hm = as_hammingmesh(net);
  return {.classes = 2, .max_hops = hm.axes[0].longest() + hm.axes[1].longest(), .minimal = true};
}

const Register<RoutingSpec> entry({
    .name = "dimension_order",
    .summary = "along the row, then along the column; in each by the board or by the switches (DOR)",
    .topologies = {"hammingmesh"},
    .setup = setup,
    .route = route,
    .candidates = only_candidate<route>,
});

}  // namespace flitgym::routing::hammingmesh::dimension_order
