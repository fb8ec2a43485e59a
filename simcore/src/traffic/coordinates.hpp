// Patterns that are defined by the coordinates of routers on a HyperX, a torus or a mesh.
#pragma once

#include <bit>

#include "simcore/error.hpp"
#include "simcore/topology/lattice.hpp"
#include "simcore/traffic/draws.hpp"

namespace flitgym::traffic {

// Throws if the routers of the network have no coordinates.
inline const Lattice& need_coordinates(const std::string& pattern, const Network& net) {
  if (const Lattice* grid = find_lattice(net)) return *grid;
  if (dynamic_cast<const Lattice*>(net.topology.get()))
    throw ConfigError("traffic." + pattern +
                      ": needs all terminals of the grid, but failures have removed some from topology '" +
                      net.topology_name + "'");
  throw ConfigError("traffic." + pattern + ": needs routers with coordinates, which topology '" + net.topology_name +
                    "' does not have; hyperx, mesh and torus have them. Patterns without coordinates, such as uniform, "
                    "run on any topology");
}
inline const Lattice& lattice(const Network& net) { return static_cast<const Lattice&>(*net.topology); }

// Partners by router: `map` computes the coordinates of the partner's router from those of the own router. The partner
// has the same slot there.
template <class Map>
std::shared_ptr<const ComponentData> make_partners_by_router(const Network& net, Map map) {
  const Lattice& grid = lattice(net);
  return make_partners(net, [&](u32 terminal) {
    std::vector<u32> at;
    for (u32 k = 0; k < grid.dimensions; k++) at.push_back(grid.coordinate(terminal / grid.terminals, k));
    const std::vector<u32> there = map(at, terminal % grid.terminals);
    u32 router = 0;
    for (u32 k = 0; k < grid.dimensions; k++) router += there[k] * grid.stride[k];
    return router * grid.terminals + terminal % grid.terminals;
  });
}

// Returns b for a network of N = 2^b terminals, and throws for any other N.
inline u32 bits_of_terminals(const std::string& pattern, const Network& net) {
  if (!std::has_single_bit(net.terminals))
    throw ConfigError(
        "traffic." + pattern +
        ": permutes the bits of a terminal's number, so the number of terminals must be a power of two; topology '" +
        net.topology_name + "' has " + std::to_string(net.terminals) + " terminals (between " +
        std::to_string(std::bit_floor(net.terminals)) + " and " +
        std::to_string(u64{std::bit_floor(net.terminals)} * 2) + ")");
  return static_cast<u32>(std::countr_zero(net.terminals));
}

inline void need_dimensions(const std::string& pattern, const Lattice& grid, u32 least) {
  if (grid.dimensions < least)
    throw ConfigError("traffic." + pattern + ": needs " + std::to_string(least) + " dimensions, but " + grid.key +
                      " has " + std::to_string(grid.dimensions));
}
inline void need_even_width(const std::string& pattern, const Lattice& grid, u32 k) {
  if (grid.widths[k] % 2)
    throw ConfigError("traffic." + pattern + ": halves dimension " + std::to_string(k) +
                      ", whose width must be even; " + grid.key + "[" + std::to_string(k) + "] is " +
                      std::to_string(grid.widths[k]));
}
inline void need_equal_widths(const std::string& pattern, const Lattice& grid, u32 a, u32 b) {
  if (grid.widths[a] != grid.widths[b])
    throw ConfigError("traffic." + pattern + ": exchanges dimensions " + std::to_string(a) + " and " +
                      std::to_string(b) + ", whose widths must be equal; " + grid.key + " has " +
                      std::to_string(grid.widths[a]) + " and " + std::to_string(grid.widths[b]));
}

// A dimension by its letter (x, y, z, w) or its number from 0.
inline u32 dimension_of(const std::string& pattern, const Params& params, const Lattice& grid) {
  const std::string& given = params.text("dimension");
  u32 k = kNone;
  if (const std::size_t letter = std::string("xyzw").find(given); given.size() == 1 && letter != std::string::npos)
    k = static_cast<u32>(letter);
  else if (!given.empty() && given.size() <= 2 && given.find_first_not_of("0123456789") == std::string::npos)
    k = static_cast<u32>(std::stoul(given));
  if (k >= grid.dimensions)
    throw ConfigError("traffic." + pattern + ".dimension: '" + given + "' is not one of the " +
                      std::to_string(grid.dimensions) + " dimensions of " + grid.key + " (x, y, z, ... or 0 .. " +
                      std::to_string(grid.dimensions - 1) + ")");
  return k;
}

}  // namespace flitgym::traffic
