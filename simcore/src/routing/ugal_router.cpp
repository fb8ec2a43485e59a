// UGALn: as UGALg, but the detour goes through a random router of the intermediate group (dragonfly.cc 960-1095).
// VC 0: detour in the source group; 1: towards the intermediate router; 2: leaving its group, and minimal path in the
// source group; 3: destination group.
#include "routing/two_legs.hpp"

namespace flitgym {

namespace {

constexpr LegClasses kClasses = {0, 2, 1, 2, 3};

void route(const Network& net, State& s, Batch& b) {
  const Dragonfly& df = dragonfly(net);
  const auto& rule = static_cast<const UgalRule&>(*net.routing);
  for (u32 i = 0; i < b.count; i++) {
    Packet& p = s.packets[b.packet[i]];
    const u32 router = b.router[i];
    const Ends e = ends(net, df, p);
    if (p.phase == kUndecided) {  // at the source router, and only there
      p.phase = kMinimal;
      if (e.source_group != e.destination_group && draw_intermediate<true>(net, s, df, rule, p, router, e) &&
          ugal_diverts<true>(net, s, df, rule, p, router, e, kClasses.source_minimal, kClasses.source_detour))
        take_detour(p);
    }
    const Hop hop = follow_legs<true>(net, df, kClasses, p, router, e);
    b.out_port[i] = static_cast<u16>(hop.port);
    b.out_class[i] = static_cast<u16>(hop.vc_class);
  }
}

RoutingFacts setup(const Params& params, Network&, std::shared_ptr<const ComponentData>& data) {
  auto rule = std::make_shared<UgalRule>();
  read_ugal(params, *rule);
  data = rule;
  return {4, 6};
}

const Register<RoutingSpec> entry({"ugal_router", "minimal or through a random router, by the local queues (UGALn)", {"dragonfly"}, ugal_params(2, false), setup, route});

}  // namespace

}  // namespace flitgym
