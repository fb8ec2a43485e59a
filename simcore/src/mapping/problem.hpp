// Mapping: which rank runs on which terminal, so that what ranks exchange goes over few hops. The application is a
// graph of ranks, weighted by bytes; the network is its sites, routers with terminals that ranks may have, and the hops
// between them.
//
// Formulas: T. Hoefler, M. Snir, "Generic topology mapping strategies for large-scale parallel architectures" (ICS
// 2011).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "mapping/graph.hpp"
#include "simcore/network.hpp"

namespace flitgym::mapping {

struct Sites {
  u32 count = 0;
  std::vector<u32> router;      // [sites]
  std::vector<u32> first_slot;  // [sites + 1] the slots of a site are first_slot[s] .. first_slot[s + 1] - 1
  std::vector<u32> terminal;    // [slots] a slot is a place for one rank
  std::vector<u32> in_order;    // [slots] the slots in the order in which their terminals were given
  std::vector<u32> site_of;     // [slots]
  std::vector<u16> hops;        // [sites, sites] router-to-router hops of a minimal path
  WeightedGraph fabric;         // routers, weighted by the links between two

  u32 slots() const { return static_cast<u32>(terminal.size()); }
  u32 room(u32 site) const { return first_slot[site + 1] - first_slot[site]; }
  const u16* hops_from(u32 site) const { return &hops[std::size_t{site} * count]; }
};

// The sites of some terminals; routers become sites in the order in which their first terminals come.
Sites sites_of(const Network& net, const std::vector<u32>& terminals);

// What is made outside the core, by libraries that Python has: whoever brings the core to Python fills it in
// (bindings/mapping.cpp). Each throws where its library is missing.
struct MappingLibrary {
  // Makes what a mapper takes from a library ready; its time is not the mapper's.
  std::function<void(const std::string& mapper)> load;
  // The vertices of a graph in reverse Cuthill-McKee order.
  std::function<std::vector<u32>(const WeightedGraph&)> reverse_cuthill_mckee;
  // A part 0 .. sizes.size() - 1 for each vertex, of about those sizes, with little weight between parts.
  std::function<std::vector<u32>(const WeightedGraph&, const std::vector<u32>& sizes, u64 seed)> partition;
};
MappingLibrary& mapping_library();  // empty functions: the core is alone

struct MappingProblem {
  WeightedGraph application;
  Sites sites;
  u64 seed = 0;
};

using Mapping = std::vector<u32>;  // [ranks] slot of each; no two have the same

// One file each in src/mapping/.
struct MapperSpec {
  std::string name, summary;
  Mapping (*map)(const MappingProblem&);
  std::string plugin = {};  // that brought it; empty: flitgym itself
};

// Bytes x hops of all that is exchanged, both ways.
double hop_bytes(const MappingProblem& problem, const Mapping& mapping);

// Threshold accepting (G. Dueck, T. Scheuer, J. Comput. Phys. 90, 1990): ranks change places, or move to free ones, as
// long as that costs less than a threshold, which falls to zero. Ends after `steps` trials, or, where `seconds` are
// more than 0, after that much time: then another run may end elsewhere. What it returns is never worse than what it
// was given.
struct Refinement {
  u64 steps = 0;
  double seconds = 0;
};
Mapping threshold_accepting(const MappingProblem& problem, const Mapping& start, const Refinement& how);

}  // namespace flitgym::mapping
