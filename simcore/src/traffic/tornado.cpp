// Tornado: just under half a width ahead, x + floor((S-1)/2), in the given dimensions.
#include <algorithm>
#include <set>

#include "traffic/coordinates.hpp"

namespace flitgym::traffic::tornado {

std::shared_ptr<const ComponentData> setup(const Params& params, const Network& net) {
  const Lattice& grid = need_coordinates("tornado", net);
  const std::vector<u32> dimensions = params.counts("dimensions");
  for (const u32 k : dimensions)
    if (k >= grid.dimensions)
      throw ConfigError("traffic.tornado.dimensions: " + std::to_string(k) + " is not one of the " +
                        std::to_string(grid.dimensions) + " dimensions, 0 .. " + std::to_string(grid.dimensions - 1));
  if (std::set<u32>(dimensions.begin(), dimensions.end()).size() < dimensions.size())
    throw ConfigError("traffic.tornado.dimensions: " + to_string(Value{params.reals("dimensions")}) +
                      " names a dimension twice");
  if (std::ranges::all_of(dimensions, [&](u32 k) { return grid.widths[k] <= 2; }))
    throw ConfigError("traffic.tornado.dimensions: " + to_string(Value{params.reals("dimensions")}) +
                      ": each of them has a width of at most 2, so every terminal would send to itself; name a "
                      "dimension of at least 3 routers (" +
                      grid.key + "), or use another pattern");
  return make_partners_by_router(net, [&](std::vector<u32> at, u32) {
    for (const u32 k : dimensions) at[k] = (at[k] + (grid.widths[k] - 1) / 2) % grid.widths[k];
    return at;
  });
}

const Register<TrafficSpec> entry({
    .name = "tornado",
    .summary = "just under half a width ahead, in the given dimensions of a HyperX, torus or mesh",
    .params = {integer_list("dimensions", {0}, 0, 25, "", "dimensions to shift, 0 = x")},
    .setup = setup,
    .destination = partner,
});

}  // namespace flitgym::traffic::tornado
