// Routing graph of the Angara interconnect ("Optimized Graph-Based Routing Algorithm for the Angara Interconnect"). It
// describes the source routes that Angara routers accept on a torus of up to four dimensions.
//
// Directions are ordered: +x < +y < +z < +w < -x < -y < -z < -w. A route has this form:
//   [a first step, positive]  directions in ascending order, each for any number of steps  [a last step, negative]
// In the middle part no dimension appears in both directions, because a header has one direction bit per dimension. The
// first and the last step may break this rule and the order. All other turns ascend, so a cycle of waiting packets can
// only run along the ring of one direction. Bubble flow control prevents this deadlock.
//
// Theorem 2 of the source adds descending turns, which leave a first step or enter a last step. An added turn is safe
// if no channel of its earlier direction can be reached from its later channel. On a torus whose rings all have three
// or more nodes, no turn can be added. If a dimension has two nodes or links are missing, some can be added.
//
// The source does not give two details. The order of directions, and the restriction of added turns to first and last
// steps, are reconstructed.
#pragma once

#include "simcore/tables/channel_graph.hpp"

namespace flitgym::tables {

// Each node has 3^n + 2n + 1 vertices in the routing graph, one for each stage of a route. The stages are: beginning,
// first step (n), list of directions (3^n - 1), last step (n), end. The rule is the same at every node, so it is stored
// once, as a deterministic automaton. A route is then exactly one path through the automaton, so routes can be counted.
// A route may end at any node, so the end needs no state.
struct AngaraGraph {
  u32 dimensions = 0, directions = 0, nodes = 0;  // direction k < n is + along dimension k, n + k is -
  u32 states = 0;                                 // of the automaton; state 0 is the beginning of a route
  std::vector<u8> came;       // [states] direction of the previous step; `directions` at the beginning
  std::vector<u16> next;      // [states, directions] kNoState: the rule forbids the step
  std::vector<u32> out;       // [nodes, directions] channel that leaves the node; kNone: there is none
  std::vector<u8> direction;  // [channels]
  // [nodes, directions + 1] One bit per direction in which a packet may leave. The second index is the direction in
  // which the packet arrived, or the last entry if the packet starts here. A bit is set if the order or an added turn
  // allows the turn. The automaton must allow the step, too.
  std::vector<u32> turns;
  u32 added = 0;  // turns that break the order

  static constexpr u16 kNoState = 0xffff;
  u32 turns_at(u32 node, u32 from) const { return turns[std::size_t{node} * (directions + 1) + from]; }
  u32 channel(u32 node, u32 d) const { return out[std::size_t{node} * directions + d]; }
};

// Throws ConfigError, which begins with `engine`, unless the network is a torus or mesh of single links with at most
// six dimensions. With augment = false no turns are added.
AngaraGraph angara_graph(const std::string& engine, const ChannelGraph& g, bool augment = true);

}  // namespace flitgym::tables
