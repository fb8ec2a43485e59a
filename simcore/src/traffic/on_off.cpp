// Bursts: every terminal is ON and OFF in turns, independently of the others. The lengths of both periods have Pareto
// distributions. The sum of many such sources is self-similar, as measured in networks (Willinger, Taqqu, Sherman &
// Wilson, "Self-Similarity Through High-Variability", IEEE/ACM Trans. Networking 5(1), 1997).
#include "simcore/registry.hpp"

namespace flitgym::traffic::on_off {

TrafficSchedule schedule(const Params& params, const Network& net) {
  const double load = params.real("load"), burst_load = params.real("burst_load"), burst_ns = params.real("burst_ns");
  if (load > burst_load)
    throw ConfigError("traffic.on_off.burst_load: ", burst_load, " is less than the mean load ", load);
  if (burst_ns < net.cycle_ns)
    throw ConfigError("traffic.on_off.burst_ns: ", burst_ns, " ns is shorter than a cycle (", net.cycle_ns, " ns)");
  auto on_off = std::make_shared<OnOff>();
  on_off->on = {burst_ns / net.cycle_ns, params.real("burst_shape")};
  // A source is ON for the fraction load / burst_load of the time.
  on_off->off = {load > 0 ? on_off->on.mean * (burst_load / load - 1) : 0, params.real("pause_shape")};
  on_off->one_destination = params.boolean("one_destination");
  const std::string& pattern = params.text("pattern");
  const std::string name = "traffic.on_off.pattern";
  return {.phases = {{pattern, load > 0 ? burst_load : 0, 0, name}, {pattern, 0, 0, name}}, .on_off = on_off};
}

const Register<TrafficSpec> entry({
    .name = "on_off",
    .summary = "bursts and pauses of every terminal, with heavy-tailed lengths; `load` is the mean load",
    .params =
        {
            choice("pattern", "uniform", {}, "the pattern, with its parameters: 'adversarial shift=4'"),
            real("burst_load", 1, 0, 1, "flits per terminal per flit time", "load in a burst"),
            real("burst_ns", 5000, 0, 1e9, "ns",
                 "mean length of a burst; a pause has the length that gives the mean load"),
            real("burst_shape", 1.5, 1.05, 100, "",
                 "shape of the Pareto distribution of bursts; below 2 the variance is infinite"),
            real("pause_shape", 1.5, 1.05, 100, "", "the same for pauses"),
            flag("one_destination", false, "the packets of a burst have the same destination"),
        },
    .schedule = schedule,
});

}  // namespace flitgym::traffic::on_off
