// Splits a graph into two parts with little weight between them.
#pragma once

#include "simcore/mapping/graph.hpp"

namespace flitgym::mapping {

struct Halves {
  std::vector<u8> side;  // [vertices] 0 or 1
  u64 size0 = 0;         // size of the vertices on side 0
};

// Multilevel bisection. The heaviest edges are contracted until the graph is small, and one half of that graph is grown
// from a vertex. On the way back to the full graph, vertices change sides by the method of C. M. Fiduccia and R. M.
// Mattheyses (DAC 1982). The best state of each pass is kept.
//
// The sizes of the vertices on side 0 add up to `target`: exactly if all sizes are 0 or 1, otherwise as closely as the
// search could find. The search minimises the weight of the edges between the sides plus the `bias` of the vertices on
// side 1. A bias may be negative; an empty `bias` means none.
Halves bisect(const WeightedGraph& graph, const std::vector<u32>& size, u64 target, const std::vector<double>& bias,
              u64 seed);

}  // namespace flitgym::mapping
