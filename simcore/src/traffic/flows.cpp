// Named flows: some terminals send to one destination each, and the others are silent. The pattern serves small
// networks whose best routing is known.
#include "simcore/traffic/draws.hpp"

namespace flitgym::traffic::flows {

std::shared_ptr<const ComponentData> setup(const Params& params, const Network& net) {
  auto data = std::make_shared<Partners>();
  auto sources = params.counts("sources"), destinations = params.counts("destinations");
  if (sources.empty() && destinations.empty())
    for (u32 t = 0; t < net.terminals; t++) {
      sources.push_back(t);
      destinations.push_back((t + net.terminals / 2) % net.terminals);
    }
  if (sources.size() != destinations.size())
    throw ConfigError("traffic.flows.destinations: " + std::to_string(destinations.size()) + " destinations for " +
                      std::to_string(sources.size()) + " sources; a flow has one of each");
  data->to.assign(net.terminals, kNone);
  for (std::size_t k = 0; k < sources.size(); k++) {
    for (const u32 t : {sources[k], destinations[k]})
      if (t >= net.terminals)
        throw ConfigError("traffic.flows: terminal " + std::to_string(t) + " does not exist; the network has " +
                          std::to_string(net.terminals) + " terminals");
    if (data->to[sources[k]] != kNone)
      throw ConfigError("traffic.flows.sources: terminal " + std::to_string(sources[k]) +
                        " appears twice; a terminal has one flow");
    data->to[sources[k]] = destinations[k];
  }
  return data;
}

const Register<TrafficSpec> entry({
    .name = "flows",
    .summary = "named terminals, each to one destination; `load` is the load of a sending terminal",
    .params =
        {
            integer_list("sources", {}, 0, 1 << 20, "",
                         "terminals that send; empty = every terminal, to the terminal half the network ahead"),
            integer_list("destinations", {}, 0, 1 << 20, "", "destination of each source, in the same order"),
        },
    .setup = setup,
    .destination = partner,
    .round_size = partner_round,
    .share = partner_share,
});

}  // namespace flitgym::traffic::flows
