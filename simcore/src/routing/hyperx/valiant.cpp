// VAL (Valiant 1982): every packet to another router goes in dimension order to a uniformly random router, and from
// there in dimension order to its destination. The intermediate router may be the source or the destination router (as
// in SuperSim).
#include "routing/hyperx/legs.hpp"
#include "simcore/registry.hpp"

namespace flitgym::routing::hyperx::valiant {

namespace {

struct Rule : ComponentData {
  Kept<u32> intermediate;
};

void route(const Network& net, State& s, Batch& b) {
  const HyperX& hx = as_hyperx(net);
  u32* const intermediates = static_cast<const Rule&>(*net.routing).intermediate.of(s);
  for (u32 i = 0; i < b.count; i++) {
    Packet& p = s.packets[b.packet[i]];
    u32& intermediate = intermediates[b.packet[i]];
    const u32 router = b.router[i], to = net.terminal_router[p.destination];
    if (p.phase == kUndecided) {
      p.phase = kMinimal;
      if (router != to) {
        intermediate = below(route_draw(net, p, 0), net.routers);
        p.phase = kToIntermediate;
      }
    }
    choose(b, i, follow_hyperx_legs(net, hx, p, intermediate, router));
  }
}

RoutingFacts setup(const Params&, Network& net, std::shared_ptr<const ComponentData>& data) {
  auto rule = std::make_shared<Rule>();
  rule->intermediate = declare_intermediate(net);
  data = rule;
  return {2, 2 * as_hyperx(net).dimensions};
}

void candidates(const Network& net, State& s, Batch& b) {
  hyperx_leg_candidates<true>(net, s, b, static_cast<const Rule&>(*net.relation).intermediate, 1);
}
void chosen(const Network& net, State& s, Batch& b, u32 i) {
  hyperx_leg_chosen(net, s, b, i, static_cast<const Rule&>(*net.relation).intermediate, 1);
}

const Register<RoutingSpec> entry([] {
  RoutingSpec spec{
      .name = "valiant",
      .summary = "through a random router, both legs in dimension order (VAL)",
      .topologies = {"hyperx"},
      .setup = setup,
      .route = route,
  };
  spec.candidates = candidates;
  spec.chosen = chosen;
  return spec;
}());

}  // namespace

}  // namespace flitgym::routing::hyperx::valiant
