// Two parts of a graph with little weight between them.
#pragma once

#include "mapping/graph.hpp"

namespace flitgym::mapping {

struct Halves {
  std::vector<u8> side;  // [vertices] 0 or 1
  u64 size0 = 0;         // of the vertices on side 0
  double cut = 0;        // weight of the edges between the sides
};

// Multilevel bisection: heaviest edges are contracted until the graph is small, its halves are grown from a vertex, and
// on the way back vertices change sides as C. M. Fiduccia and R. M. Mattheyses have it (DAC 1982), the best state of
// each pass being kept.
//
// Side 0 gets vertices whose sizes add up to `target`, exactly where all sizes are 1 (or 0), else as near as it was
// found. `bias`: what a vertex adds to the weight that is made small where it stands on side 1 (may be negative);
// empty: nothing.
Halves bisect(const WeightedGraph& graph, const std::vector<u32>& size, u64 target, const std::vector<double>& bias,
              u64 seed);

}  // namespace flitgym::mapping
