// The routing graph of the Angara interconnect ("Optimized Graph-Based Routing Algorithm for the Angara Interconnect"):
// which source routes its routers accept on a torus, there of up to four dimensions.
//
// Directions are ordered: +x < +y < +z < +w < -x < -y < -z < -w. A route is
//   [a first step, positive]  directions in ascending order, each for any number of steps  [a last step, negative]
// and in the middle no dimension appears in both directions (a header has one direction bit per dimension). First and
// last step may break that, and each other. Every turn of it ascends, so no packet can wait for another in a circle but
// along the ring of one direction, and there bubble flow control helps. A turn that descends, from a first step or into
// a last one, may be added where no channel of the earlier one's direction is ever reached from the later one (theorem
// 2): not on a torus whose rings are all of three or more, but where a dimension has two nodes or links are missing.
//
// Not in the source in full, and reconstructed: the order of directions, and that only turns of first and last steps
// are added.
#pragma once

#include <vector>

#include "tables/channel_graph.hpp"

namespace flitgym::tables {

// A vertex of the routing graph is a node and how far a route has come in the rule: at its beginning, after a first
// step (n), with a list of directions (3^n - 1), after a last step (n), at its end: 3^n + 2n + 1 per node. Kept is what
// the rule alone says, once for all nodes: as a deterministic automaton, so that every route has one path in it and
// paths can be counted. The end needs no state, for a route may end anywhere.
struct AngaraGraph {
  u32 dimensions = 0, directions = 0, nodes = 0;  // direction k < n: + along dimension k; n + k: -
  u32 vertices_per_node = 0;                      // of the routing graph: 3^n + 2n + 1
  u32 states = 0;                                 // of the automaton; 0: the beginning
  std::vector<u8> came;       // [states] direction of the step before; `directions` at the beginning
  std::vector<u16> next;      // [states, directions] kNoState: the rule forbids it
  std::vector<u32> out;       // [nodes, directions] channel that leaves a node, kNone
  std::vector<u8> direction;  // [channels]
  // [nodes, directions + 1] bit per direction: who came by a direction (last: began here) may leave by it, by the order
  // or because the turn was added. Whether the rule wants it is the automaton's say.
  std::vector<u32> turns;
  u32 added = 0;  // turns against the order

  static constexpr u16 kNoState = 0xffff;
  u32 turns_at(u32 node, u32 from) const { return turns[std::size_t{node} * (directions + 1) + from]; }
  u32 channel(u32 node, u32 d) const { return out[std::size_t{node} * directions + d]; }
};

// Throws ConfigError (`engine` begins it) unless it is a torus or mesh of single links and at most six dimensions.
// Without `augment` no turns are added.
AngaraGraph angara_graph(const std::string& engine, const ChannelGraph& g, bool augment = true);

}  // namespace flitgym::tables
