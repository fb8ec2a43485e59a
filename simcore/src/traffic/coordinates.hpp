// Patterns that are written in a HyperX's coordinates.
#pragma once

#include "simcore/error.hpp"
#include "topology/hyperx.hpp"
#include "traffic/draws.hpp"

namespace flitgym {

// A pattern in which every terminal has one partner.
struct Partners : ComponentData {
  std::vector<u32> to;  // [terminals]
};
inline u32 partner(const Network& net, u64, u32 terminal, u32, u32, u32) { return static_cast<const Partners&>(*net.traffic).to[terminal]; }

// partner(terminal) for every terminal of the network.
template <class Partner>
std::shared_ptr<const ComponentData> make_partners(const Network& net, Partner partner_of) {
  auto data = std::make_shared<Partners>();
  for (u32 t = 0; t < net.terminals; t++) data->to.push_back(partner_of(t));
  return data;
}

// The terminal of the same slot at the router that `map` makes of the own router's coordinates.
template <class Map>
std::shared_ptr<const ComponentData> make_partners_by_router(const Network& net, Map map) {
  const HyperX& hx = hyperx(net);
  return make_partners(net, [&](u32 terminal) {
    std::vector<u32> at;
    for (u32 k = 0; k < hx.dimensions; k++) at.push_back(hx.coordinate(terminal / hx.terminals, k));
    const std::vector<u32> there = map(at, terminal % hx.terminals);
    u32 router = 0;
    for (u32 k = 0; k < hx.dimensions; k++) router += there[k] * hx.stride[k];
    return router * hx.terminals + terminal % hx.terminals;
  });
}

// N = 2^b terminals: b. Refuses any other number.
inline u32 bits_of_terminals(const std::string& pattern, const Network& net) {
  if (!std::has_single_bit(net.terminals))
    throw ConfigError("traffic." + pattern + ": permutes the bits of a terminal's number, so it needs a power of two of them; topology '" + net.topology_name + "' has " +
                      std::to_string(net.terminals) + " (between " + std::to_string(std::bit_floor(net.terminals)) + " and " + std::to_string(u64{std::bit_floor(net.terminals)} * 2) + ")");
  return static_cast<u32>(std::countr_zero(net.terminals));
}

inline void need_dimensions(const std::string& pattern, const HyperX& hx, u32 least) {
  if (hx.dimensions < least)
    throw ConfigError("traffic." + pattern + ": needs " + std::to_string(least) + " dimensions, topology.hyperx.widths has " + std::to_string(hx.dimensions));
}
inline void need_even_width(const std::string& pattern, const HyperX& hx, u32 k) {
  if (hx.widths[k] % 2)
    throw ConfigError("traffic." + pattern + ": halves dimension " + std::to_string(k) + ", whose width must be even; topology.hyperx.widths[" + std::to_string(k) + "] is " +
                      std::to_string(hx.widths[k]));
}
inline void need_equal_widths(const std::string& pattern, const HyperX& hx, u32 a, u32 b) {
  if (hx.widths[a] != hx.widths[b])
    throw ConfigError("traffic." + pattern + ": exchanges dimensions " + std::to_string(a) + " and " + std::to_string(b) + ", whose widths must be equal; topology.hyperx.widths has " +
                      std::to_string(hx.widths[a]) + " and " + std::to_string(hx.widths[b]));
}

// A dimension by its letter (x, y, z, w) or its number from 0.
inline u32 dimension_of(const std::string& pattern, const Params& params, const HyperX& hx) {
  const std::string& given = params.text("dimension");
  u32 k = kNone;
  if (const std::size_t letter = std::string("xyzw").find(given); given.size() == 1 && letter != std::string::npos) k = static_cast<u32>(letter);
  else if (!given.empty() && given.size() <= 2 && given.find_first_not_of("0123456789") == std::string::npos) k = static_cast<u32>(std::stoul(given));
  if (k >= hx.dimensions)
    throw ConfigError("traffic." + pattern + ".dimension: '" + given + "' is none of the " + std::to_string(hx.dimensions) + " dimensions of topology.hyperx (x, y, z, ... or 0 .. " +
                      std::to_string(hx.dimensions - 1) + ")");
  return k;
}

}  // namespace flitgym
