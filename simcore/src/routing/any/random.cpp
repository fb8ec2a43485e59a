// Any candidate with equal probability: what an agent that knows nothing does, and the measure of what asking one
// costs.
#include "routing/choice.hpp"
#include "simcore/learning.hpp"
#include "simcore/registry.hpp"

namespace flitgym::routing::any::random {

namespace {

// log(1 / slots), written down so that it is the same in every build.
constexpr float kLogOneIn[] = {0,           0,           -0.69314718f, -1.0986123f, -1.3862944f, -1.6094379f,
                               -1.7917595f, -1.9459101f, -2.0794415f,  -2.1972246f, -2.3025851f, -2.3978953f,
                               -2.4849066f, -2.5649494f, -2.6390573f,  -2.7080502f, -2.7725887f};

void route(const Network& net, State& s, Batch& b) {
  make_decisions(net, s, b);
  for (u32 j = 0; j < b.decisions.count; j++) {
    const Packet& p = s.packets[b.packet[b.decisions.request[j]]];
    b.decisions.chosen[j] = below(route_draw(net, p, 0), b.decisions.slot_count[j]);
    b.decisions.log_probability[j] = kLogOneIn[b.decisions.slot_count[j]];
  }
  settle_decisions(net, s, b);
}

RoutingFacts setup(const Params& params, Network& net, std::shared_ptr<const ComponentData>&) {
  auto seam = std::make_shared<Seam>();
  net.seam = seam;
  return build_seam(params, net, *seam);
}

const Register<RoutingSpec> entry([] {
  RoutingSpec spec{
      .name = "random",
      .summary = "any of the candidates that an agent would see, with equal probability",
      .params = seam_params(),
      .setup = setup,
      .route = route,
  };
  spec.graph = true;
  return spec;
}());

}  // namespace

}  // namespace flitgym::routing::any::random
