// Placing one vertex after the other, the one with the most to say to those that are placed, where that costs the
// fewest hops.
#pragma once

#include "mapping/problem.hpp"

namespace flitgym::mapping {

// The site of every vertex. `kind`s, where given, say which vertices may have which sites; there must be room for all.
std::vector<u32> place_greedily(const WeightedGraph& graph, const Sites& sites, std::vector<u32> room,
                                const std::vector<u32>& vertex_kind = {}, const std::vector<u32>& site_kind = {});

// A slot for every vertex at its site, in the order of the vertices.
Mapping slots_at(const Sites& sites, const std::vector<u32>& site_of_vertex);

}  // namespace flitgym::mapping
