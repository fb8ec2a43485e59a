// Adversarial traffic (ADV+i): every packet goes to a random terminal of the i-th next group, so the minimal paths of a
// group share one link. `mixed` draws for each packet whether it is adversarial or uniform.
#include "simcore/traffic/draws.hpp"

namespace flitgym::traffic::adversarial {

// Terminals per group if all groups have the same size and consecutive terminals, else 0. Without groups, each router
// counts as a group.
u32 terminals_per_group(const Network& net, u32 groups) {
  if (groups < 2 || net.terminals % groups != 0) return 0;
  const u32 size = net.terminals / groups;
  for (u32 t = 0; t < net.terminals; t++) {
    const u32 router = net.terminal_router[t];
    if ((groups == net.groups ? net.router_group[router] : router) != t / size) return 0;
  }
  return size;
}

struct GroupShift : ComponentData {
  u32 shift = 1, groups = 1, per_group = 1;
  double part = 1;  // share of the packets
  u32 destination(u32 terminal, u64 bits) const {
    return (terminal / per_group + shift) % groups * per_group + below(bits, per_group);
  }
};
// Reads the parameter `shift`. `note` is for messages.
std::shared_ptr<GroupShift> take_shift(const std::string& pattern, const Params& params, const Network& net, u32 groups,
                                       const std::string& note) {
  auto data = std::make_shared<GroupShift>();
  data->shift = params.count("shift");
  data->groups = groups;
  data->per_group = terminals_per_group(net, groups);
  if (data->per_group == 0)
    throw ConfigError("traffic.", pattern, ": needs at least two groups of equal size with consecutive terminals", note,
                      "; topology '", net.topology_name, "' has ", groups, " groups for ", net.terminals, " terminals",
                      net.damaged ? " after the failures" : "");
  if (data->shift % groups == 0)
    throw ConfigError("traffic.", pattern, ".shift: ", data->shift, " is a multiple of the ", groups,
                      " groups, so no packet would leave its own group");
  return data;
}

std::shared_ptr<const ComponentData> set_up_adversarial(const Params& params, const Network& net) {
  return take_shift("adversarial", params, net, net.groups, "");
}

std::shared_ptr<const ComponentData> set_up_mixed(const Params& params, const Network& net) {
  // Without groups, the terminals of each router form a group.
  const u32 groups = net.groups > 1 ? net.groups : net.routers;
  auto data = take_shift("mixed", params, net, groups, " (without groups, routers)");
  data->part = params.real("adversarial_part");
  return data;
}

u32 all_ahead(const Network&, const ComponentData& own, u64 seed, u32 terminal, u32 sequence, u32, u32) {
  return static_cast<const GroupShift&>(own).destination(terminal, traffic_draw(seed, terminal, sequence, 0));
}

u32 some_ahead(const Network& net, const ComponentData& own, u64 seed, u32 terminal, u32 sequence, u32, u32) {
  const auto& data = static_cast<const GroupShift&>(own);
  const u64 bits = traffic_draw(seed, terminal, sequence, 1);
  if (unit(traffic_draw(seed, terminal, sequence, 0)) >= data.part) return below(bits, net.terminals);
  return data.destination(terminal, bits);
}

const Register<TrafficSpec> adversarial({
    .name = "adversarial",
    .summary = "each packet to a random terminal of the group `shift` groups ahead (ADV+shift)",
    .params = {integer("shift", 1, 1, 1 << 20, "groups", "i of ADV+i")},
    .setup = set_up_adversarial,
    .destination = all_ahead,
});
const Register<TrafficSpec> mixed({
    .name = "mixed",
    .summary = "a share of the packets adversarial (ADV+shift), the rest uniform",
    .params =
        {
            real("adversarial_part", 0.5, 0, 1, "", "share of the packets that goes to the group `shift` groups ahead"),
            integer("shift", 1, 1, 1 << 20, "groups", "i of ADV+i"),
        },
    .setup = set_up_mixed,
    .destination = some_ahead,
});

}  // namespace flitgym::traffic::adversarial
