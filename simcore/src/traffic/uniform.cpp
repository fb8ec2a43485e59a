// UR: every packet goes to a uniformly random terminal. `self` includes the sender, as the papers' code and BookSim2
// do.
#include "simcore/traffic/draws.hpp"

namespace flitgym::traffic::uniform {

struct Uniform : ComponentData {
  bool self = true;
};

std::shared_ptr<const ComponentData> setup(const Params& params, const Network& net) {
  auto data = std::make_shared<Uniform>();
  data->self = params.boolean("self");
  if (!data->self && net.terminals < 2)
    throw ConfigError("traffic.uniform.self: a network with one terminal has no other destination; use true");
  return data;
}

u32 destination(const Network& net, const ComponentData& own, u64 seed, u32 terminal, u32 sequence, u32, u32) {
  const u64 bits = traffic_draw(seed, terminal, sequence, 0);
  if (static_cast<const Uniform&>(own).self) return below(bits, net.terminals);
  const u32 other = below(bits, net.terminals - 1);
  return other < terminal ? other : other + 1;
}

const Register<TrafficSpec> entry({
    .name = "uniform",
    .summary = "each packet to a random terminal (UR)",
    .params = {flag("self", true, "a terminal may draw itself")},
    .setup = setup,
    .destination = destination,
});

}  // namespace flitgym::traffic::uniform
