// A random bisection. The effective bisection bandwidth of a forwarding table is the mean over such patterns
// (Schneider, Hoefler, Lumsdaine, "ORCS: An Oblivious Routing Congestion Simulator", 2009). Half of the terminals send
// to the other half, one to one. If the number of terminals is odd, one terminal is silent.
#include "simcore/registry.hpp"
#include "simcore/traffic/draws.hpp"

namespace flitgym::traffic::random_bisection {

namespace {

struct RandomBisection : ComponentData {
  std::vector<u32> to;  // [terminals] kNone: silent
};

std::shared_ptr<const ComponentData> setup(const Params& params, const Network& net) {
  auto data = std::make_shared<RandomBisection>();
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

u32 destination(const Network&, const ComponentData& own, u64, u32 terminal, u32, u32, u32) {
  return static_cast<const RandomBisection&>(own).to[terminal];
}
u32 round_size(const Network&, const ComponentData& own, u64, u32 terminal, u32) {
  return static_cast<const RandomBisection&>(own).to[terminal] != kNone;
}
double sends(const Network&, const ComponentData& own, u32 terminal) {
  return static_cast<const RandomBisection&>(own).to[terminal] != kNone;
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
    .destination = destination,
    .round_size = round_size,
    .share = sends,
});

}  // namespace

}  // namespace flitgym::traffic::random_bisection
