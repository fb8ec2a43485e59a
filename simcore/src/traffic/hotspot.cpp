// A share of all packets goes to a few hot terminals; the rest is uniform.
#include "simcore/traffic/draws.hpp"

namespace flitgym::traffic::hotspot {

struct Hotspot : ComponentData {
  std::vector<u32> hot;
  double fraction = 0;

  std::vector<u32> hot_terminals() const override { return hot; }
};

std::shared_ptr<const ComponentData> setup(const Params& params, const Network& net) {
  auto data = std::make_shared<Hotspot>();
  data->fraction = params.real("fraction");
  const u32 n = params.count("hot_terminals");
  if (n > net.terminals)
    throw ConfigError("traffic.hotspot.hot_terminals: ", n, " is more than the network's ", net.terminals,
                      " terminals");
  const auto seed = params.seed("hot_seed");
  for (u64 k = 0; data->hot.size() < n; k++) {
    const u32 t = below(draw(seed, 0, k), net.terminals);
    if (std::ranges::find(data->hot, t) == data->hot.end()) data->hot.push_back(t);
  }
  return data;
}

u32 destination(const Network& net, const ComponentData& own, u64 seed, u32 terminal, u32 sequence, u32, u32) {
  const auto& data = static_cast<const Hotspot&>(own);
  const u64 bits = traffic_draw(seed, terminal, sequence, 1);
  if (unit(traffic_draw(seed, terminal, sequence, 0)) < data.fraction)
    return data.hot[below(bits, static_cast<u32>(data.hot.size()))];
  return below(bits, net.terminals);
}

const Register<TrafficSpec> entry({
    .name = "hotspot",
    .summary = "a share of the packets to a few hot terminals, the rest uniform",
    .params =
        {
            integer("hot_terminals", 8, 1, 1 << 20, "", "number of hot terminals"),
            real("fraction", 0.1, 0, 1, "", "share of the packets that goes to hot terminals"),
            seed_of("the hot terminals", "hot_seed"),
        },
    .setup = setup,
    .destination = destination,
});

}  // namespace flitgym::traffic::hotspot
