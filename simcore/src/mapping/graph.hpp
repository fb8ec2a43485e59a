// Graphs with weights, as whoever maps ranks to a network sees both sides: what ranks exchange, and how routers are
// joined.
#pragma once

#include <span>
#include <vector>

#include "simcore/types.hpp"
#include "workload/communication_matrix.hpp"

namespace flitgym::mapping {

// Undirected: an edge stands with both of its vertices, and none leads back to its own.
struct WeightedGraph {
  std::vector<u64> first = {0};  // [vertices + 1]
  std::vector<u32> peer;         // [2 edges] ascending within a vertex
  std::vector<double> weight;    // [2 edges] above 0

  u32 vertices() const { return static_cast<u32>(first.size() - 1); }
  u64 begin(u32 v) const { return first[v]; }
  u64 end(u32 v) const { return first[v + 1]; }
  double weight_of(u32 v) const;  // of all its edges
};

struct WeightedEdge {
  u32 from, to;
  double weight;
};

// Edges in any order; those between the same two vertices become one, those of a vertex to itself are left out.
WeightedGraph undirected(u32 vertices, std::vector<WeightedEdge>&& edges);

// The bytes both ways between two ranks.
WeightedGraph application_graph(const workload::CommunicationMatrix& matrix);

// What some of the vertices have among themselves, numbered as in `chosen`. `number` has room for every vertex of the
// graph, all kNone before and after.
WeightedGraph subgraph(const WeightedGraph& graph, std::span<const u32> chosen, std::vector<u32>& number);

// Every vertex of a part becomes one.
WeightedGraph quotient(const WeightedGraph& graph, const std::vector<u32>& part, u32 parts);

}  // namespace flitgym::mapping
