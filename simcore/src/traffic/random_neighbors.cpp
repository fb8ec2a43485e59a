// Random neighbours: per round, a random number of packets, each to a random terminal.
#include "simcore/traffic/draws.hpp"

namespace flitgym::traffic::random_neighbors {

struct Neighbors : ComponentData {
  u32 least = 6, most = 20;
};

std::shared_ptr<const ComponentData> setup(const Params& params, const Network&) {
  auto data = std::make_shared<Neighbors>();
  data->least = params.count("least");
  data->most = params.count("most");
  if (data->least > data->most)
    throw ConfigError("traffic.random_neighbors.least: ", data->least, " is more than most = ", data->most);
  return data;
}

u32 destination(const Network& net, const ComponentData&, u64 seed, u32 terminal, u32 sequence, u32, u32) {
  return below(traffic_draw(seed, terminal, sequence, 0), net.terminals);
}

u32 round_size(const Network&, const ComponentData& own, u64 seed, u32 terminal, u32 round) {
  const auto& data = static_cast<const Neighbors&>(own);
  return data.least + below(traffic_draw(seed, terminal, round, 8), data.most - data.least + 1);
}

double mean_round_size(const Network&, const ComponentData& own) {
  const auto& data = static_cast<const Neighbors&>(own);
  return (data.least + data.most) / 2.0;
}

const Register<TrafficSpec> entry({
    .name = "random_neighbors",
    .summary = "per round, one packet to each of 6 to 20 random terminals",
    .params = {integer("least", 6, 1, 4096, "packets per round", "fewest packets"),
               integer("most", 20, 1, 4096, "packets per round", "most packets, inclusive")},
    .setup = setup,
    .destination = destination,
    .round_size = round_size,
    .mean_round_size = mean_round_size,
});

}  // namespace flitgym::traffic::random_neighbors
