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

// At an accelerator with coordinate `at`, towards coordinate `to` of the same line. `begin` is the coordinate of the
// packet's source.
static Hop along_line(const HammingMesh& hm, u32 d, u32 begin, u32 at, u32 to, u32 turn) {
  const Axis& axis = hm.axes[d];
  const u32 low = 1 + 2 * d;
  if (axis.uses_tree(at, to)) return {low + nearer_side(axis, at % axis.width, turn), 0};
  return {low + (at < to), axis.uses_tree(begin, to)};
}

static Hop next_hop(const Network& net, const HammingMesh& hm, const Packet& p, u32 router) {
  const u32 to = net.terminal_router[p.destination], turn = p.source + p.sequence;
  if (router == to) return ejection(net, p);
  if (hm.is_switch(router)) {
    const u32 d = hm.axis_of_switch(router);
    return through_tree(hm, d, router, hm.coordinate(to, d), turn);
  }
  const u32 d = hm.coordinate(router, 0) == hm.coordinate(to, 0);
  return along_line(hm, d, hm.coordinate(net.terminal_router[p.source], d), hm.coordinate(router, d),
                    hm.coordinate(to, d), turn);
}

static void route(const Network& net, State& s, Batch& b) {
  const HammingMesh& hm = as_hammingmesh(net);
  for (u32 i = 0; i < b.count; i++) choose(b, i, next_hop(net, hm, s.packets[b.packet[i]], b.router[i]));
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
