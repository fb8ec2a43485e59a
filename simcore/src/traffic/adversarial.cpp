// ADV+i: every packet goes to a random terminal of the i-th next group, so the minimal paths of a group share one link.
#include "simcore/error.hpp"
#include "simcore/traffic/draws.hpp"

namespace flitgym::traffic::adversarial {

namespace {

struct Adversarial : ComponentData {
  u32 shift = 1, per_group = 1;
};

std::shared_ptr<const ComponentData> setup(const Params& params, const Network& net) {
  auto data = std::make_shared<Adversarial>();
  data->shift = params.count("shift");
  data->per_group = terminals_per_group(net, net.groups);
  if (data->per_group == 0)
    throw ConfigError(
        "traffic.adversarial: needs at least two groups of equal size with consecutive terminals; topology '" +
        net.topology_name + "' has " + std::to_string(net.groups) + " groups for " + std::to_string(net.terminals) +
        " terminals" + (net.damaged ? " after the failures" : ""));
  if (data->shift % net.groups == 0)
    throw ConfigError("traffic.adversarial.shift: " + std::to_string(data->shift) + " is a multiple of the " +
                      std::to_string(net.groups) + " groups, so no packet would leave its own group");
  return data;
}

u32 destination(const Network& net, const ComponentData& own, u64 seed, u32 terminal, u32 sequence, u32, u32) {
  const auto& data = static_cast<const Adversarial&>(own);
  const u32 group = (terminal / data.per_group + data.shift) % net.groups;
  return group * data.per_group + below(traffic_draw(seed, terminal, sequence, 0), data.per_group);
}

const Register<TrafficSpec> entry({
    .name = "adversarial",
    .summary = "each packet to a random terminal of the group `shift` groups ahead (ADV+shift)",
    .params = {integer("shift", 1, 1, 1 << 20, "groups", "i of ADV+i")},
    .setup = setup,
    .destination = destination,
});

}  // namespace

}  // namespace flitgym::traffic::adversarial
