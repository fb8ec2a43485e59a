// A random bisection. The effective bisection bandwidth of a forwarding table is the mean over such patterns
// (Schneider, Hoefler, Lumsdaine, "ORCS: An Oblivious Routing Congestion Simulator", 2009). Half of the terminals send
// to the other half, one to one. If the number of terminals is odd, one terminal is silent.
#include "simcore/registry.hpp"
#include "simcore/traffic/draws.hpp"

namespace flitgym::traffic::random_bisection {

std::shared_ptr<const ComponentData> setup(const Params& params, const Network& net) {
  auto data = std::make_shared<Partners>();
  std::vector<u32> order(net.terminals);
  const auto seed = params.seed("bisection_seed");
  draw_order(seed, static_cast<u64>(params.integer("pattern")), net.terminals, order.data());
  data->to.assign(net.terminals, kNone);
  const u32 half = net.terminals / 2;
  for (u32 k = 0; k < half; k++) {
    data->to[order[k]] = order[half + k];
    if (params.boolean("both_ways")) data->to[order[half + k]] = order[k];
  }
  return data;
}

const Register<TrafficSpec> entry({
    .name = "random_bisection",
    .summary =
        "half of the terminals to the other half, one to one, drawn once; `load` is the load of a sending terminal",
    .params =
        {
            seed_of("the two halves and their pairs", "bisection_seed"),
            integer("pattern", 0, 0, i64{1} << 31, "", "number of the pattern, as flitgym route counts them"),
            flag("both_ways", false, "each receiver sends back to its sender"),
        },
    .setup = setup,
    .destination = partner,
    .round_size = partner_round,
    .share = partner_share,
});

}  // namespace flitgym::traffic::random_bisection
