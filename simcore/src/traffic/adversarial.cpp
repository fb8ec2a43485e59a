// ADV+i: every packet goes to a random terminal of the i-th next group, so the minimal paths of a group share one link.
#include "simcore/error.hpp"
#include "simcore/traffic/draws.hpp"

namespace flitgym::traffic::adversarial {

std::shared_ptr<const ComponentData> setup(const Params& params, const Network& net) {
  auto data = std::make_shared<GroupShift>();
  take_shift("adversarial", params, net, net.groups, "", *data);
  return data;
}

u32 destination(const Network&, const ComponentData& own, u64 seed, u32 terminal, u32 sequence, u32, u32) {
  return static_cast<const GroupShift&>(own).destination(terminal, traffic_draw(seed, terminal, sequence, 0));
}

const Register<TrafficSpec> entry({
    .name = "adversarial",
    .summary = "each packet to a random terminal of the group `shift` groups ahead (ADV+shift)",
    .params = {integer("shift", 1, 1, 1 << 20, "groups", "i of ADV+i")},
    .setup = setup,
    .destination = destination,
});

}  // namespace flitgym::traffic::adversarial
