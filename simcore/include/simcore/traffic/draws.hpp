// Random destinations, with one random stream per packet.
#pragma once

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

// A pattern without parameters whose `setup` makes Partners.
inline TrafficSpec fixed_partners(std::string name, std::string summary, decltype(TrafficSpec::setup) setup) {
  return {.name = std::move(name), .summary = std::move(summary), .setup = setup, .destination = partner};
}

}  // namespace flitgym::traffic
