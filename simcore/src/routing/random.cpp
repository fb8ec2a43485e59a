// Any candidate with equal probability: what an agent that knows nothing does, and the measure of what asking one costs.
#include <cmath>

#include "routing/choice.hpp"
#include "simcore/learning.hpp"
#include "simcore/registry.hpp"

namespace flitgym {

namespace {

void route(const Network& net, State& s, Batch& b) {
  make_decisions(net, s, b);
  for (u32 j = 0; j < b.decisions.count; j++) {
    const Packet& p = s.packets[b.packet[b.decisions.request[j]]];
    b.decisions.chosen[j] = below(route_draw(net, p, 0), b.decisions.slot_count[j]);
    if (net.seam->capacity) b.decisions.log_probability[j] = -std::log(static_cast<float>(b.decisions.slot_count[j]));
  }
  settle_decisions(net, s, b);
}

RoutingFacts setup(const Params& params, Network& net, std::shared_ptr<const ComponentData>&) {
  auto seam = std::make_shared<Seam>();
  net.seam = seam;
  return build_seam(params, net, *seam);
}

const Register<RoutingSpec> entry({"random", "any of the candidates that an agent would see, with equal probability", {}, seam_params(), setup, route});

}  // namespace

}  // namespace flitgym
