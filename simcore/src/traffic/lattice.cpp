// Patterns by the coordinates of routers on a HyperX, a torus or a mesh.
//
// DCR (SC'19): (x, y, z) to (S-1-z, S-1-y, S-1-x); with L dimensions, k and L-1-k are exchanged and mirrored. The
// destinations of a line of routers in x all lie on one line in z. Dimension order sends all of this traffic over one
// link in between.
//
// S2 (SC'19): terminals in even slots send half a width away in x, terminals in odd slots half a width away in y. This
// permutation leaves most links idle under minimal routing.
//
// Tornado: just under half a width ahead, x + floor((S-1)/2), in the given dimensions.
//
// Transpose: x and y are exchanged.
//
// URB(d): across the middle of one dimension, anywhere in the others (SC'19). Coordinate d is mirrored, and the other
// coordinates are uniformly random. Slot t sends to slot T-1-t.
#include <set>

#include "simcore/topology/lattice.hpp"
#include "simcore/traffic/draws.hpp"

namespace flitgym::traffic::lattice {

// Throws if the routers of the network have no coordinates, or fewer than `least` of them.
const Lattice& need_coordinates(const std::string& pattern, const Network& net, u32 least = 1) {
  const std::string where = "traffic." + pattern + ": needs ";
  if (const Lattice* grid = find_lattice(net)) {
    if (grid->dimensions < least)
      throw ConfigError(where, least, " dimensions, but ", grid->key, " has ", grid->dimensions);
    return *grid;
  }
  if (dynamic_cast<const Lattice*>(net.topology.get()))
    throw ConfigError(where, "all terminals of the grid, but failures have removed some from topology '",
                      net.topology_name, "'");
  throw ConfigError(where, "routers with coordinates, which topology '", net.topology_name,
                    "' does not have; hyperx, mesh and torus have them. Patterns without coordinates, such as uniform, "
                    "run on any topology");
}

void need_even_width(const std::string& pattern, const Lattice& grid, u32 k) {
  if (grid.widths[k] % 2)
    throw ConfigError("traffic.", pattern, ": halves dimension ", k, ", whose width must be even; ", grid.key, "[", k,
                      "] is ", grid.widths[k]);
}
void need_equal_widths(const std::string& pattern, const Lattice& grid, u32 a, u32 b) {
  if (grid.widths[a] != grid.widths[b])
    throw ConfigError("traffic.", pattern, ": exchanges dimensions ", a, " and ", b, ", whose widths must be equal; ",
                      grid.key, " has ", grid.widths[a], " and ", grid.widths[b]);
}

// `map` computes the coordinates of the partner's router from those of the own router. The partner has the same slot
// there.
template <class Map>
std::shared_ptr<const ComponentData> partners_by_router(const Network& net, const Lattice& grid, Map map) {
  return make_partners(net, [&](u32 terminal) {
    std::vector<u32> at;
    for (u32 k = 0; k < grid.dimensions; k++) at.push_back(grid.coordinate(terminal / grid.terminals, k));
    const std::vector<u32> there = map(at, terminal % grid.terminals);
    u32 router = 0;
    for (u32 k = 0; k < grid.dimensions; k++) router += there[k] * grid.stride[k];
    return router * grid.terminals + terminal % grid.terminals;
  });
}

const Register<TrafficSpec> dimension_complement_reverse(fixed_partners(
    "dimension_complement_reverse", "coordinates of a HyperX, torus or mesh, mirrored and in reverse order (DCR)",
    [](const Params&, const Network& net) {
      const Lattice& grid = need_coordinates("dimension_complement_reverse", net);
      for (u32 k = 0; k < grid.dimensions / 2; k++)
        need_equal_widths("dimension_complement_reverse", grid, k, grid.dimensions - 1 - k);
      return partners_by_router(net, grid, [&](std::vector<u32> at, u32) {
        for (u32 k = 0; k < grid.dimensions; k++) at[k] = grid.widths[k] - 1 - at[k];
        std::reverse(at.begin(), at.end());
        return at;
      });
    }));

const Register<TrafficSpec> swap2(
    fixed_partners("swap2", "half a width away on a HyperX, torus or mesh: even slots in x, odd slots in y (S2)",
                   [](const Params&, const Network& net) {
                     const Lattice& grid = need_coordinates("swap2", net, 2);
                     for (const u32 k : {0u, 1u}) need_even_width("swap2", grid, k);
                     return partners_by_router(net, grid, [&](std::vector<u32> at, u32 slot) {
                       const u32 k = slot % 2;
                       at[k] = (at[k] + grid.widths[k] / 2) % grid.widths[k];
                       return at;
                     });
                   }));

const Register<TrafficSpec> transpose(fixed_partners("transpose", "x and y exchanged, on a HyperX, torus or mesh",
                                                     [](const Params&, const Network& net) {
                                                       const Lattice& grid = need_coordinates("transpose", net, 2);
                                                       need_equal_widths("transpose", grid, 0, 1);
                                                       return partners_by_router(net, grid,
                                                                                 [](std::vector<u32> at, u32) {
                                                                                   std::swap(at[0], at[1]);
                                                                                   return at;
                                                                                 });
                                                     }));

std::shared_ptr<const ComponentData> set_up_tornado(const Params& params, const Network& net) {
  const Lattice& grid = need_coordinates("tornado", net);
  const std::vector<u32> dimensions = params.counts("dimensions");
  for (const u32 k : dimensions)
    if (k >= grid.dimensions)
      throw ConfigError("traffic.tornado.dimensions: ", k, " is not one of the ", grid.dimensions, " dimensions, 0 .. ",
                        grid.dimensions - 1);
  const std::string given = "traffic.tornado.dimensions: " + to_string(Value{params.reals("dimensions")});
  if (std::set<u32>(dimensions.begin(), dimensions.end()).size() < dimensions.size())
    throw ConfigError(given, " names a dimension twice");
  if (std::ranges::all_of(dimensions, [&](u32 k) { return grid.widths[k] <= 2; }))
    throw ConfigError(given,
                      ": each of them has a width of at most 2, so every terminal would send to itself; name a "
                      "dimension of at least 3 routers (",
                      grid.key, "), or use another pattern");
  return partners_by_router(net, grid, [&](std::vector<u32> at, u32) {
    for (const u32 k : dimensions) at[k] = (at[k] + (grid.widths[k] - 1) / 2) % grid.widths[k];
    return at;
  });
}

const Register<TrafficSpec> tornado({
    .name = "tornado",
    .summary = "just under half a width ahead, in the given dimensions of a HyperX, torus or mesh",
    .params = {integer_list("dimensions", {0}, 0, 25, "", "dimensions to shift, 0 = x")},
    .setup = set_up_tornado,
    .destination = partner,
});

struct Bisection : ComponentData {
  u32 dimension = kNone;
};

std::shared_ptr<const ComponentData> set_up_bisection(const Params& params, const Network& net) {
  auto data = std::make_shared<Bisection>();
  const Lattice& grid = need_coordinates("uniform_random_bisection", net);
  u32& k = data->dimension;
  const std::string& given = params.text("dimension");
  if (const std::size_t letter = std::string("xyzw").find(given); given.size() == 1 && letter != std::string::npos)
    k = static_cast<u32>(letter);
  else if (!given.empty() && given.size() <= 2 && given.find_first_not_of("0123456789") == std::string::npos)
    k = static_cast<u32>(std::stoul(given));
  if (k >= grid.dimensions)
    throw ConfigError("traffic.uniform_random_bisection.dimension: '", given, "' is not one of the ", grid.dimensions,
                      " dimensions of ", grid.key, " (x, y, z, ... or 0 .. ", grid.dimensions - 1, ")");
  need_even_width("uniform_random_bisection", grid, k);
  return data;
}

u32 across_the_middle(const Network& net, const ComponentData& own, u64 seed, u32 terminal, u32 sequence, u32, u32) {
  const auto& grid = static_cast<const Lattice&>(*net.topology);
  const u32 k = static_cast<const Bisection&>(own).dimension, from = terminal / grid.terminals;
  // Draws a router among all, then replaces its coordinate k by the mirrored own coordinate.
  const u32 any = below(traffic_draw(seed, terminal, sequence, 0), net.routers),
            mirrored = grid.widths[k] - 1 - grid.coordinate(from, k);
  const u32 router = any - grid.coordinate(any, k) * grid.stride[k] + mirrored * grid.stride[k];
  return router * grid.terminals + grid.terminals - 1 - terminal % grid.terminals;
}

const Register<TrafficSpec> uniform_random_bisection({
    .name = "uniform_random_bisection",
    .summary =
        "across the middle of one dimension of a HyperX, torus or mesh, uniform in the others (URBx, URBy, URBz)",
    .params = {choice("dimension", "x", {}, "x, y, z or a number from 0; its width must be even")},
    .setup = set_up_bisection,
    .destination = across_the_middle,
});

}  // namespace flitgym::traffic::lattice
