// An adversary that moves: ADV+i whose shift i changes after a period, so that other links carry the load.
#include "simcore/traffic/draws.hpp"

namespace flitgym::traffic::moving_adversary {

TrafficSchedule schedule(const Params& params, const Network& net) {
  const u32 groups = net.groups > 1 ? net.groups : net.routers;
  std::vector<u32> shifts;  // in the order of time, until they repeat
  if (params.text("order") == "random") {
    shifts.resize(groups - 1);
    draw_order(params.seed("order_seed"), 0, groups - 1, shifts.data());
    for (u32& shift : shifts) shift++;
  } else {
    const u32 first = params.count("shift") % groups, step = params.count("step");
    u32 shift = first;
    do {
      if (shift != 0) shifts.push_back(shift);  // with shift 0 the traffic would stay in its group
      shift = (shift + step) % groups;
    } while (shift != first);
  }
  if (shifts.size() < 2)
    throw ConfigError("traffic.moving_adversary.step: with ", groups, " groups the shift never changes");
  TrafficSchedule out;
  const double period = params.real("period_ns");
  for (const u32 shift : shifts)
    out.phases.push_back(
        {"mixed adversarial_part=" + to_string(params.value("adversarial_part")) + " shift=" + std::to_string(shift),
         params.real("load"), period * static_cast<double>(out.phases.size()), "traffic.moving_adversary"});
  out.period_ns = period * static_cast<double>(shifts.size());
  return out;
}

const Register<TrafficSpec> entry({
    .name = "moving_adversary",
    .summary = "adversarial traffic (ADV+shift) whose shift moves after every period",
    .params =
        {
            real("period_ns", 50000, 1, 1e12, "ns", "time until the shift moves"),
            integer("shift", 1, 1, 1 << 20, "groups", "first shift; without groups, routers count as groups"),
            integer("step", 1, 1, 1 << 20, "groups", "increase of the shift after a period"),
            choice("order", "steps", {"steps", "random"},
                   "steps: by `step` from `shift` on; random: all shifts in an order that order_seed draws"),
            seed_of("the order of the shifts", "order_seed", "order=random"),
            real("adversarial_part", 1, 0, 1, "", "share of the packets that is adversarial; the rest is uniform"),
        },
    .schedule = schedule,
});

}  // namespace flitgym::traffic::moving_adversary
