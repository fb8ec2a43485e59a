#include "simcore/topology/lattice.hpp"

#include "simcore/registry.hpp"

namespace flitgym {

std::vector<u32> per_dimension(const Lattice& grid, const std::string& parameter, std::vector<u32> given) {
  if (given.size() == 1) given.assign(grid.dimensions, given[0]);
  if (given.size() != grid.dimensions)
    throw ConfigError(parameter, ": ", given.size(), " numbers for ", grid.dimensions, " dimensions (", grid.key,
                      "); valid are ", grid.dimensions, " numbers, or one for all");
  return given;
}

void shape_lattice(Lattice& grid, const std::string& section, const std::string& widths, const Params& params,
                   const std::function<u32(u32 k)>& ports_of, Wiring& w) {
  grid.key = section + "." + widths;
  grid.widths = params.counts(widths);
  grid.dimensions = static_cast<u32>(grid.widths.size());
  grid.terminals = params.count("terminals_per_router");
  if (grid.dimensions == 0)
    throw ConfigError(grid.key, ": empty; give the routers along each dimension, such as [8, 8, 8]");
  grid.links = per_dimension(grid, section + ".links", params.counts("links"));
  if (const i64 local = params.integer("local_dimensions"); local > i64{grid.dimensions})
    throw ConfigError(section, ".local_dimensions: ", local, " is more than the ", grid.dimensions,
                      " dimensions; -1 = all");
  u64 routers = 1, ports = grid.terminals;
  for (u32 k = 0; k < grid.dimensions; k++) {
    grid.stride.push_back(static_cast<u32>(routers));
    grid.base.push_back(static_cast<u32>(ports));
    routers *= grid.widths[k];
    ports += ports_of(k);
    if (routers >= (u64{1} << 26))
      throw ConfigError(grid.key, ": ", routers, " routers or more, but the core supports fewer than 67108864");
  }
  if (ports > kMaxRadix)
    throw ConfigError(section, ": a router would have ", ports, " ports (", grid.terminals,
                      " terminals_per_router, the rest links), but the core supports at most ", kMaxRadix);
  w.resize(static_cast<u32>(routers), static_cast<u32>(ports));
  grid.dimension_of_port.assign(ports, Lattice::kNoDimension);
  for (u32 k = 0; k < grid.dimensions; k++)
    std::fill_n(grid.dimension_of_port.begin() + grid.base[k], ports_of(k), static_cast<u8>(k));
  w.groups = grid.widths.back();
}

void wire_lattice(const Lattice& grid, const Params& params, Wiring& w,
                  const std::function<void(u32 router, u32 k, PortKind kind)>& connect) {
  const i64 local = params.integer("local_dimensions");
  for (u32 r = 0; r < w.routers; r++) {
    worked(grid.dimension_of_port.size());
    w.router_group[r] = grid.coordinate(r, grid.dimensions - 1);
    for (u32 t = 0; t < grid.terminals; t++) w.attach_terminal({r, t});
    for (u32 k = 0; k < grid.dimensions; k++)
      connect(r, k, local < 0 || k < local ? PortKind::kLocal : PortKind::kGlobal);
  }
}

}  // namespace flitgym
