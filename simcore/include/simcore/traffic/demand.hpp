#pragma once

#include "simcore/types.hpp"

namespace flitgym {

// Traffic from every terminal to every other: for traffic=matrix, and for the table engines that balance load. An empty
// demand is uniform.
struct Demand {
  u32 terminals = 0;
  std::vector<u64> first;      // [terminals + 1] entries of a destination: first[t] .. first[t + 1] - 1
  std::vector<u32> source;     // [entries] source terminal
  std::vector<double> weight;  // [entries] 0 or more, in any unit
  std::string name = {};       // name of the file, for messages; empty: the demand was given as an array
  bool empty() const { return first.empty(); }
};
u64 digest(const Demand& demand);
// Throws ConfigError, which begins with `where`, if the demand is for another number of terminals.
void check_size(const std::string& where, const Demand& demand, u32 terminals);

}  // namespace flitgym
