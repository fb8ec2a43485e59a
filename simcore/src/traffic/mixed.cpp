// Uniform and adversarial traffic at once: a draw per packet selects one of the two.
#include "simcore/error.hpp"
#include "simcore/traffic/draws.hpp"

namespace flitgym::traffic::mixed {

struct Mixed : GroupShift {
  double part = 0.5;
};

std::shared_ptr<const ComponentData> setup(const Params& params, const Network& net) {
  auto data = std::make_shared<Mixed>();
  data->part = params.real("adversarial_part");
  // Without groups, the terminals of each router form a group.
  take_shift("mixed", params, net, net.groups > 1 ? net.groups : net.routers, " (without groups, routers)", *data);
  return data;
}

u32 destination(const Network& net, const ComponentData& own, u64 seed, u32 terminal, u32 sequence, u32, u32) {
  const auto& data = static_cast<const Mixed&>(own);
  const u64 bits = traffic_draw(seed, terminal, sequence, 1);
  if (unit(traffic_draw(seed, terminal, sequence, 0)) >= data.part) return below(bits, net.terminals);
  return data.destination(terminal, bits);
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

}  // namespace flitgym::traffic::mixed
