// Places one vertex after the other. The next vertex is the one with the heaviest connection to the placed vertices. It
// goes where it adds the least weight x hops.
#pragma once

#include "simcore/mapping/problem.hpp"

namespace flitgym::mapping {

// Returns the site of every vertex. If kinds are given, a vertex gets a site of its own kind. There must be room for
// all vertices.
std::vector<u32> place_greedily(const WeightedGraph& graph, const Sites& sites, std::vector<u32> room,
                                const std::vector<u32>& vertex_kind = {}, const std::vector<u32>& site_kind = {});

// A slot for every vertex at its site, in the order of the vertices.
Mapping slots_at(const Sites& sites, const std::vector<u32>& site_of_vertex);

}  // namespace flitgym::mapping
