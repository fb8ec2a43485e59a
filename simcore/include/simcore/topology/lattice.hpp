// Topologies whose routers have coordinates (HyperX, torus, mesh), for patterns that are defined by coordinates.
#pragma once

#include <functional>

#include "simcore/state.hpp"

namespace flitgym {

struct Wiring;

// Router x + S_0 (y + S_1 (z + ...)); terminal = router * terminals + slot.
struct Lattice : Topology {
  u32 dimensions = 0, terminals = 0;  // terminals per router
  std::vector<u32> widths;            // [dimensions] routers along each
  std::vector<u32> stride;            // [dimensions] difference of router numbers from one coordinate to the next
  std::vector<u32> links;             // [dimensions] parallel links between two routers
  std::vector<u32> base;              // [dimensions] first port
  std::vector<u8> dimension_of_port;  // [radix] kNoDimension for terminals
  std::string key;                    // parameter that holds the widths, for messages: topology.hyperx.widths
  static constexpr u8 kNoDimension = 0xff;
  virtual u32 coordinate(u32 router, u32 k) const { return router / stride[k] % widths[k]; }
};

// lattice.cpp: a parameter with one entry per dimension; a single entry holds for all dimensions.
std::vector<u32> per_dimension(const Lattice& grid, const std::string& parameter, std::vector<u32> given);

// Reads the parameters `widths` (the name of the widths), links, terminals_per_router and local_dimensions of
// `section`. Fills the fields above and sets the size of the wiring. ports_of(k): router ports of dimension k. The
// groups are the planes of the last dimension. Throws ConfigError if the grid is too large.
void shape_lattice(Lattice& grid, const std::string& section, const std::string& widths, const Params& params,
                   const std::function<u32(u32 k)>& ports_of, Wiring& w);
// Attaches the terminals, and calls connect(router, k, kind) for each router and dimension.
void wire_lattice(const Lattice& grid, const Params& params, Wiring& w,
                  const std::function<void(u32 router, u32 k, PortKind kind)>& connect);

// Null if routers have no coordinates or terminals are missing.
inline const Lattice* find_lattice(const Network& net) {
  const auto* lattice = dynamic_cast<const Lattice*>(net.topology.get());
  return lattice && net.terminals == net.routers * lattice->terminals ? lattice : nullptr;
}

}  // namespace flitgym
