// Random destinations, with one random stream per packet.
#pragma once

#include <numeric>
#include <utility>

#include "simcore/error.hpp"
#include "simcore/registry.hpp"
#include "simcore/rng.hpp"

namespace flitgym::traffic {

inline u64 traffic_draw(u64 seed, u32 terminal, u32 sequence, u32 k) {
  return draw(seed, u64{terminal} << 32 | sequence, kDrawDestination + k);
}

// Random order number `pattern` of a seed, [terminals].
inline void draw_order(u64 seed, u64 pattern, u32 terminals, u32* order) {
  std::iota(order, order + terminals, 0u);
  for (u32 k = terminals; k > 1; k--) std::swap(order[k - 1], order[below(draw(seed, pattern, k), k)]);
}

// Terminals per group if all groups have the same size and consecutive terminals, else 0. Without groups, each router
// counts as a group.
inline u32 terminals_per_group(const Network& net, u32 groups) {
  if (groups < 2 || net.terminals % groups != 0) return 0;
  const u32 size = net.terminals / groups;
  for (u32 t = 0; t < net.terminals; t++) {
    const u32 router = net.terminal_router[t];
    if ((groups == net.groups ? net.router_group[router] : router) != t / size) return 0;
  }
  return size;
}

// Patterns in which every terminal sends to the terminal ahead by a number of groups.
struct GroupShift : ComponentData {
  u32 shift = 1, groups = 1, per_group = 1;
  u32 destination(u32 terminal, u64 bits) const {
    return (terminal / per_group + shift) % groups * per_group + below(bits, per_group);
  }
};
// Reads the parameter `shift`. `note` is for messages.
inline void take_shift(const std::string& pattern, const Params& params, const Network& net, u32 groups,
                       const std::string& note, GroupShift& data) {
  data.shift = params.count("shift");
  data.groups = groups;
  data.per_group = terminals_per_group(net, groups);
  if (data.per_group == 0)
    throw ConfigError("traffic." + pattern + ": needs at least two groups of equal size with consecutive terminals" +
                      note + "; topology '" + net.topology_name + "' has " + std::to_string(groups) + " groups for " +
                      std::to_string(net.terminals) + " terminals" + (net.damaged ? " after the failures" : ""));
  if (data.shift % groups == 0)
    throw ConfigError("traffic." + pattern + ".shift: " + std::to_string(data.shift) + " is a multiple of the " +
                      std::to_string(groups) + " groups, so no packet would leave its own group");
}

// Patterns in which every terminal has one partner, or is silent (kNone).
struct Partners : ComponentData {
  std::vector<u32> to;  // [terminals]
};
inline u32 partner(const Network&, const ComponentData& own, u64, u32 terminal, u32, u32, u32) {
  return static_cast<const Partners&>(own).to[terminal];
}
inline u32 partner_round(const Network&, const ComponentData& own, u64, u32 terminal, u32) {
  return static_cast<const Partners&>(own).to[terminal] != kNone;
}
inline double partner_share(const Network&, const ComponentData& own, u32 terminal) {
  return static_cast<const Partners&>(own).to[terminal] != kNone;
}

// Tabulates partner_of(terminal) for every terminal of the network.
template <class Partner>
std::shared_ptr<const ComponentData> make_partners(const Network& net, Partner partner_of) {
  auto data = std::make_shared<Partners>();
  for (u32 t = 0; t < net.terminals; t++) data->to.push_back(partner_of(t));
  return data;
}

}  // namespace flitgym::traffic
