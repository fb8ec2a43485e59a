#include "simcore/mapping/graph.hpp"

#include <tuple>

#include "simcore/limits.hpp"

namespace flitgym::mapping {

double WeightedGraph::weight_of(u32 v) const {
  return std::accumulate(weight.begin() + static_cast<std::ptrdiff_t>(first[v]),
                         weight.begin() + static_cast<std::ptrdiff_t>(first[v + 1]), 0.0);
}

WeightedGraph undirected(u32 vertices, std::vector<WeightedEdge>&& edges) {
  claim_memory(edges.size() * 56, "workload.mapping", "a graph of ", vertices, " vertices");
  std::vector<std::tuple<u32, u32, double>> ends;  // each edge at both of its vertices
  ends.reserve(2 * edges.size());
  for (const WeightedEdge& e : edges)
    if (e.from != e.to) ends.insert(ends.end(), {{e.from, e.to, e.weight}, {e.to, e.from, e.weight}});
  edges = {};
  worked(16 * ends.size());
  std::sort(ends.begin(), ends.end());
  WeightedGraph graph;
  graph.first.assign(vertices + 1, 0);
  u32 before = kNone, last = kNone;
  for (const auto& [vertex, peer, weight] : ends) {
    if (vertex == before && peer == last) {
      graph.weight.back() += weight;
      continue;
    }
    graph.peer.push_back(peer);
    graph.weight.push_back(weight);
    graph.first[vertex + 1] = graph.peer.size();
    before = vertex, last = peer;
  }
  std::inclusive_scan(graph.first.begin(), graph.first.end(), graph.first.begin(),
                      [](u64 a, u64 b) { return std::max(a, b); });  // vertices without edges
  return graph;
}

WeightedGraph application_graph(const workload::CommunicationMatrix& matrix) {
  std::vector<WeightedEdge> edges;
  edges.reserve(matrix.peer.size());
  for (u32 rank = 0; rank < matrix.ranks; rank++)
    for (u64 k = matrix.first[rank]; k < matrix.first[rank + 1]; k++)
      edges.push_back({rank, matrix.peer[k], matrix.bytes[k]});
  return undirected(matrix.ranks, std::move(edges));
}

WeightedGraph subgraph(const WeightedGraph& graph, std::span<const u32> chosen, std::vector<u32>& number) {
  for (u32 k = 0; k < chosen.size(); k++) number[chosen[k]] = k;
  WeightedGraph part;
  std::vector<std::pair<u32, double>> own;
  for (const u32 v : chosen) {
    own.clear();
    for (u64 e = graph.begin(v); e < graph.end(v); e++)
      if (number[graph.peer[e]] != kNone) own.push_back({number[graph.peer[e]], graph.weight[e]});
    worked(4 + graph.end(v) - graph.begin(v));
    std::sort(own.begin(), own.end());
    for (const auto& [peer, weight] : own) {
      part.peer.push_back(peer);
      part.weight.push_back(weight);
    }
    part.first.push_back(part.peer.size());
  }
  for (const u32 v : chosen) number[v] = kNone;
  return part;
}

WeightedGraph quotient(const WeightedGraph& graph, const std::vector<u32>& part, u32 parts) {
  std::vector<WeightedEdge> edges;
  for (u32 v = 0; v < graph.vertices(); v++)
    for (u64 e = graph.begin(v); e < graph.end(v); e++)
      if (v < graph.peer[e]) edges.push_back({part[v], part[graph.peer[e]], graph.weight[e]});
  return undirected(parts, std::move(edges));
}

}  // namespace flitgym::mapping
