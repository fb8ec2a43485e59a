// VAL (Valiant 1982): every packet that leaves its router goes in dimension order to a uniformly random router, and from there in
// dimension order to its destination. The intermediate may be the source's or the destination's own router (as in SuperSim).
#include "routing/hyperx_legs.hpp"
#include "simcore/registry.hpp"

namespace flitgym {

namespace {

void route(const Network& net, State& s, Batch& b) {
  const HyperX& hx = hyperx(net);
  for (u32 i = 0; i < b.count; i++) {
    Packet& p = s.packets[b.packet[i]];
    const u32 router = b.router[i], to = net.terminal_router[p.destination];
    if (p.phase == kUndecided) {
      p.phase = kMinimal;
      if (router != to) {
        p.intermediate = below(route_draw(net, p, 0), net.routers);
        p.phase = kToIntermediate;
      }
    }
    choose(b, i, follow_hyperx_legs(net, hx, p, router));
  }
}

RoutingFacts setup(const Params&, Network& net, std::shared_ptr<const ComponentData>&) { return {2, 2 * hyperx(net).dimensions}; }

void candidates(const Network& net, State& s, Batch& b) { hyperx_leg_candidates<true>(net, s, b, 1); }
void chosen(const Network& net, State& s, Batch& b, u32 i) { hyperx_leg_chosen(net, s, b, i, 1); }

const Register<RoutingSpec> entry([] {
  RoutingSpec spec{"valiant", "through a random router, both legs in dimension order (VAL)", {"hyperx"}, {}, setup, route};
  spec.candidates = candidates;
  spec.chosen = chosen;
  return spec;
}());

}  // namespace

}  // namespace flitgym
