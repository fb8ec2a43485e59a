// Topologies whose routers have coordinates: HyperX, torus, mesh. What patterns written in coordinates ask of them.
#pragma once

#include <vector>

#include "simcore/state.hpp"

namespace flitgym {

// Router x + S_0 (y + S_1 (z + ...)); terminal = router * terminals + slot.
struct Lattice : Topology {
  u32 dimensions = 0, terminals = 0;  // terminals per router
  std::vector<u32> widths;            // [dimensions] routers along each
  std::vector<u32> stride;            // [dimensions] routers from one coordinate to the next
  virtual u32 coordinate(u32 router, u32 k) const { return router / stride[k] % widths[k]; }
};

// Null where routers have no coordinates, or terminals are missing.
inline const Lattice* find_lattice(const Network& net) {
  const auto* lattice = dynamic_cast<const Lattice*>(net.topology.get());
  return lattice && net.terminals == net.routers * lattice->terminals ? lattice : nullptr;
}

}  // namespace flitgym
