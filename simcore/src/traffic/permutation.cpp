// A fixed random permutation: every terminal sends to one other terminal and receives from one.
#include <numeric>

#include "traffic/draws.hpp"

namespace flitgym::traffic::permutation {

namespace {

struct Permutation : ComponentData {
  std::vector<u32> to;
};

std::shared_ptr<const ComponentData> setup(const Params& params, const Network& net) {
  auto data = std::make_shared<Permutation>();
  data->to.resize(net.terminals);
  std::iota(data->to.begin(), data->to.end(), 0u);
  const auto seed = static_cast<u64>(params.integer("permutation_seed"));
  // Sattolo's shuffle gives a single cycle, so no terminal sends to itself.
  for (u32 k = net.terminals; k > 1; k--) std::swap(data->to[k - 1], data->to[below(draw(seed, 0, k), k - 1)]);
  return data;
}

u32 destination(const Network&, const ComponentData& own, u64, u32 terminal, u32, u32, u32) {
  return static_cast<const Permutation&>(own).to[terminal];
}

const Register<TrafficSpec> entry({
    .name = "permutation",
    .summary = "every terminal to one other terminal, drawn once",
    .params = {integer("permutation_seed", 1, 0, 1ll << 40, "",
                       "seed of the permutation, independent of the run's seed")},
    .setup = setup,
    .destination = destination,
});

}  // namespace

}  // namespace flitgym::traffic::permutation
