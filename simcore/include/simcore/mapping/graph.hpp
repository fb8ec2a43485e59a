// Weighted graphs for the mapping of ranks: the communication between ranks, and the cables between routers.
#pragma once

#include <span>

#include "simcore/mapping/communication_matrix.hpp"

namespace flitgym::mapping {

// An undirected graph without self-loops. Each edge is listed at both of its vertices.
struct WeightedGraph {
  std::vector<u64> first = {0};  // [vertices + 1]
  std::vector<u32> peer;         // [2 edges] ascending within a vertex
  std::vector<double> weight;    // [2 edges] above 0

  u32 vertices() const { return static_cast<u32>(first.size() - 1); }
  u64 begin(u32 v) const { return first[v]; }
  u64 end(u32 v) const { return first[v + 1]; }
  double weight_of(u32 v) const;  // sum over the edges of v
};

struct WeightedEdge {
  u32 from, to;
  double weight;
};

// Takes edges in any order. Edges between the same two vertices are merged, and self-loops are dropped.
WeightedGraph undirected(u32 vertices, std::vector<WeightedEdge>&& edges);

// The ranks; an edge has the bytes that two ranks exchange in both directions.
WeightedGraph application_graph(const workload::CommunicationMatrix& matrix);

// The `chosen` vertices with the edges among them, numbered as in `chosen`. `number` is scratch space with an entry per
// vertex of the graph, all kNone before and after.
WeightedGraph subgraph(const WeightedGraph& graph, std::span<const u32> chosen, std::vector<u32>& number);

// Merges the vertices of each part into one vertex.
WeightedGraph quotient(const WeightedGraph& graph, const std::vector<u32>& part, u32 parts);

}  // namespace flitgym::mapping
