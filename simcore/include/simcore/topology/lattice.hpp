// Topologies whose routers have coordinates (HyperX, torus, mesh), for patterns that are defined by coordinates.
#pragma once

#include <string>
#include <vector>

#include "simcore/error.hpp"
#include "simcore/state.hpp"

namespace flitgym {

// Router x + S_0 (y + S_1 (z + ...)); terminal = router * terminals + slot.
struct Lattice : Topology {
  u32 dimensions = 0, terminals = 0;  // terminals per router
  std::vector<u32> widths;            // [dimensions] routers along each
  std::vector<u32> stride;            // [dimensions] difference of router numbers from one coordinate to the next
  std::string key;                    // parameter that holds the widths, for messages: topology.hyperx.widths
  virtual u32 coordinate(u32 router, u32 k) const { return router / stride[k] % widths[k]; }
};

// Reads a parameter with one entry per dimension; a single entry holds for all dimensions.
inline std::vector<u32> per_dimension(const Lattice& grid, const std::string& parameter, std::vector<u32> given) {
  if (given.size() == 1) given.assign(grid.dimensions, given[0]);
  if (given.size() != grid.dimensions)
    throw ConfigError(parameter + ": " + std::to_string(given.size()) + " numbers for " +
                      std::to_string(grid.dimensions) + " dimensions (" + grid.key + "); valid are " +
                      std::to_string(grid.dimensions) + " numbers, or one for all");
  return given;
}

// Null if routers have no coordinates or terminals are missing.
inline const Lattice* find_lattice(const Network& net) {
  const auto* lattice = dynamic_cast<const Lattice*>(net.topology.get());
  return lattice && net.terminals == net.routers * lattice->terminals ? lattice : nullptr;
}

}  // namespace flitgym
