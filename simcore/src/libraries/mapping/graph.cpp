#include "simcore/mapping/graph.hpp"

#include <algorithm>
#include <numeric>

#include "simcore/limits.hpp"

namespace flitgym::mapping {

double WeightedGraph::weight_of(u32 v) const {
  return std::accumulate(weight.begin() + static_cast<std::ptrdiff_t>(first[v]),
                         weight.begin() + static_cast<std::ptrdiff_t>(first[v + 1]), 0.0);
}

WeightedGraph undirected(u32 vertices, std::vector<WeightedEdge>&& edges) {
  // A counting sort lists each edge at both of its vertices. Then the edges of each vertex are sorted.
  std::vector<u64> begin(vertices + 1, 0);
  for (const WeightedEdge& e : edges)
    if (e.from != e.to) begin[e.from + 1]++, begin[e.to + 1]++;
  for (u32 v = 0; v < vertices; v++) begin[v + 1] += begin[v];
  claim_memory(begin[vertices] * 28, "workload.mapping", "a graph of " + std::to_string(vertices) + " vertices");
  std::vector<std::pair<u32, double>> all(begin[vertices]);
  std::vector<u64> next(begin.begin(), begin.end() - 1);
  for (const WeightedEdge& e : edges)
    if (e.from != e.to) {
      all[next[e.from]++] = {e.to, e.weight};
      all[next[e.to]++] = {e.from, e.weight};
    }
  edges = {};
  WeightedGraph graph;
  for (u32 v = 0; v < vertices; v++) {
    const auto from = all.begin() + static_cast<std::ptrdiff_t>(begin[v]);
    const auto to = all.begin() + static_cast<std::ptrdiff_t>(begin[v + 1]);
    std::sort(from, to);
    worked(4 * static_cast<u64>(to - from));
    for (auto at = from; at != to; ++at) {
      if (at != from && at->first == (at - 1)->first) {
        graph.weight.back() += at->second;
      } else {
        graph.peer.push_back(at->first);
        graph.weight.push_back(at->second);
      }
    }
    graph.first.push_back(graph.peer.size());
  }
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
