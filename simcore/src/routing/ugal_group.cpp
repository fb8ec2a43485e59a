// UGALg: at the source router, the minimal path or one through a random group, by local queues. The defaults are the
// Q-adaptive papers' rule, q_min > 2 q_nonmin without hop weights (dragonfly.cc 735-958, adaptive_threshold = 2);
// the textbook's UGAL-L is the preset ugal_l.
// VC 0: detour in the source group; 1: minimal path in the source group, and intermediate group; 2: destination group.
#include "routing/two_legs.hpp"

namespace flitgym {

namespace {

constexpr LegClasses kClasses = {0, 1, 1, 1, 2};

void route(const Network& net, State& s, Batch& b) {
  const Dragonfly& df = dragonfly(net);
  const auto& rule = static_cast<const UgalRule&>(*net.routing);
  for (u32 i = 0; i < b.count; i++) {
    Packet& p = s.packets[b.packet[i]];
    const u32 router = b.router[i];
    const Ends e = ends(net, df, p);
    if (p.phase == kUndecided) {  // at the source router, and only there
      p.phase = kMinimal;
      if (e.source_group != e.destination_group && draw_intermediate<false>(net, s, df, rule, p, router, e) &&
          ugal_diverts<false>(net, s, df, rule, p, router, e, kClasses.source_minimal, kClasses.source_detour))
        take_detour(p);
    }
    const Hop hop = follow_legs<false>(net, df, kClasses, p, router, e);
    b.out_port[i] = static_cast<u16>(hop.port);
    b.out_class[i] = static_cast<u16>(hop.vc_class);
  }
}

RoutingFacts setup(const Params& params, Network&, std::shared_ptr<const ComponentData>& data) {
  auto rule = std::make_shared<UgalRule>();
  read_ugal(params, *rule);
  data = rule;
  return {3, 5};
}

const Register<RoutingSpec> entry({"ugal_group", "minimal or through a random group, by the local queues (UGALg)", {"dragonfly"}, ugal_params(2, false), setup, route});

}  // namespace

}  // namespace flitgym
