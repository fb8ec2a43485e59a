// Uniform and adversarial traffic at once: a draw per packet selects one of the two.
#include "simcore/error.hpp"
#include "simcore/traffic/draws.hpp"

namespace flitgym::traffic::mixed {

namespace {

struct Mixed : ComponentData {
  double part = 0.5;
  u32 shift = 1, groups = 1, per_group = 1;
};

std::shared_ptr<const ComponentData> setup(const Params& params, const Network& net) {
  auto data = std::make_shared<Mixed>();
  data->part = params.real("adversarial_part");
  data->shift = params.count("shift");
  // Without groups, the terminals of each router form a group.
  data->groups = net.groups > 1 ? net.groups : net.routers;
  data->per_group = terminals_per_group(net, data->groups);
  if (data->per_group == 0)
    throw ConfigError(
        "traffic.mixed: needs at least two groups of equal size with consecutive terminals (without groups, routers); "
        "topology '" +
        net.topology_name + "' has " + std::to_string(data->groups) + " for " + std::to_string(net.terminals) +
        " terminals" + (net.damaged ? " after the failures" : ""));
  if (data->shift % data->groups == 0)
    throw ConfigError("traffic.mixed.shift: " + std::to_string(data->shift) + " is a multiple of the " +
                      std::to_string(data->groups) + " groups, so no packet would leave its own group");
  return data;
}

u32 destination(const Network& net, const ComponentData& own, u64 seed, u32 terminal, u32 sequence, u32, u32) {
  const auto& data = static_cast<const Mixed&>(own);
  const u64 bits = traffic_draw(seed, terminal, sequence, 1);
  if (unit(traffic_draw(seed, terminal, sequence, 0)) >= data.part) return below(bits, net.terminals);
  const u32 group = (terminal / data.per_group + data.shift) % data.groups;
  return group * data.per_group + below(bits, data.per_group);
}

const Register<TrafficSpec> entry({
    .name = "mixed",
    .summary = "a share of the packets adversarial (ADV+shift), the rest uniform",
    .params =
        {
            real("adversarial_part", 0.5, 0, 1, "", "share of the packets that goes to the group `shift` groups ahead"),
            integer("shift", 1, 1, 1 << 20, "groups", "i of ADV+i"),
        },
    .setup = setup,
    .destination = destination,
});

}  // namespace

}  // namespace flitgym::traffic::mixed
