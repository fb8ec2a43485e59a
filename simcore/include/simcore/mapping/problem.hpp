// Mapping assigns ranks to terminals so that their communication takes few hops. The application is a graph of ranks,
// weighted by bytes. The network is a set of sites, which are routers with terminals for ranks, and the hops between
// the sites.
//
// Formulas: T. Hoefler, M. Snir, "Generic topology mapping strategies for large-scale parallel architectures" (ICS
// 2011).
#pragma once

#include <functional>

#include "simcore/mapping/graph.hpp"
#include "simcore/network.hpp"

namespace flitgym::mapping {

struct Sites {
  u32 count = 0;
  std::vector<u32> router;      // [sites]
  std::vector<u32> site_at;     // [routers] kNone: no site
  std::vector<u32> first_slot;  // [sites + 1] the slots of a site are first_slot[s] .. first_slot[s + 1] - 1
  std::vector<u32> terminal;    // [slots] a slot is a place for one rank
  std::vector<u32> in_order;    // [slots] the slots in the order in which their terminals were given
  std::vector<u32> site_of;     // [slots]
  std::vector<u16> hops;        // [sites, sites] router-to-router hops of a minimal path
  WeightedGraph fabric;         // all routers, weighted by the links between two routers

  u32 slots() const { return static_cast<u32>(terminal.size()); }
  u32 room(u32 site) const { return first_slot[site + 1] - first_slot[site]; }
  const u16* hops_from(u32 site) const { return &hops[std::size_t{site} * count]; }
};

// The sites of the given terminals, in the order of the first terminal of each router.
Sites sites_of(const Network& net, const std::vector<u32>& terminals);

// Whether the network has the hops between its routers. Otherwise hops_towards() finds them by breadth-first search.
bool knows_hops(const Network& net);
// Hops from every router to router `to` over the present links. kNone: no path.
std::vector<u32> hops_towards(const Network& net, u32 to);

// Functions of Python libraries. The Python binding sets them (bindings/mapping.cpp). A function throws if its library
// is missing.
struct MappingLibrary {
  // Loads the library of a mapper beforehand, so that the load time is not counted as the mapper's time.
  std::function<void(const std::string& mapper)> load;
  // The vertices of a graph in reverse Cuthill-McKee order.
  std::function<std::vector<u32>(const WeightedGraph&)> reverse_cuthill_mckee;
  // A part 0 .. sizes.size() - 1 for each vertex. Parts have about the given sizes, with little weight between them.
  std::function<std::vector<u32>(const WeightedGraph&, const std::vector<u32>& sizes, u64 seed)> partition;
};
MappingLibrary& mapping_library();  // empty functions if the core runs without Python

struct MappingProblem {
  WeightedGraph application;
  Sites sites;
  u64 seed = 0;
};

using Mapping = std::vector<u32>;  // [ranks] slot of each rank; slots are distinct

// Each mapper has one file in this folder.
struct MapperSpec {
  std::string name, summary;
  Mapping (*map)(const MappingProblem&);
  std::string plugin = {};  // plugin that registered it; empty: flitgym itself
};

// Bytes x hops of the whole communication, in both directions.
double hop_bytes(const MappingProblem& problem, const Mapping& mapping);

// Threshold accepting (G. Dueck, T. Scheuer, J. Comput. Phys. 90, 1990). Ranks exchange places, or move to free places,
// as long as that costs less than a threshold, which falls to zero. The search ends after `steps` trials. If `seconds`
// is above 0 it ends after that time instead, and two runs may end differently. The result is never worse than the
// start.
struct Refinement {
  u64 steps = 0;
  double seconds = 0;
};
Mapping threshold_accepting(const MappingProblem& problem, const Mapping& start, const Refinement& how);

}  // namespace flitgym::mapping
