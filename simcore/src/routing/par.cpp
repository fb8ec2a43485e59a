// PAR: progressive adaptive routing (Jiang, Kim, Dally, ISCA 2009), as the Q-adaptive authors' code has it (dragonfly.cc
// 1097-1253): UGALn at the source router, and a packet that is still minimal at the second router of its source group
// decides once more, with the same intermediate router.
// VC 0: minimal at the source router; 1: detour in the source group; 2: towards the intermediate router; 3: leaving its
// group, and minimal from the second router on; 4: destination group.
#include "routing/two_legs.hpp"

namespace flitgym {

namespace {

constexpr LegClasses kAtSource = {1, 0, 2, 3, 4}, kLater = {1, 3, 2, 3, 4};

void route(const Network& net, State& s, Batch& b) {
  const Dragonfly& df = dragonfly(net);
  const auto& rule = static_cast<const UgalRule&>(*net.routing);
  u32* const intermediates = rule.intermediate.of(s);
  for (u32 i = 0; i < b.count; i++) {
    if (i + 4 < b.count) __builtin_prefetch(&intermediates[b.packet[i + 4]], 1);
    Packet& p = s.packets[b.packet[i]];
    u32& intermediate = intermediates[b.packet[i]];
    const u32 router = b.router[i];
    const Ends e = ends(net, df, p);
    const bool first = p.phase == kUndecided, detours = e.source_group != e.destination_group && df.g > 2;
    if (first) {
      p.phase = kMinimal;
      if (detours) draw_intermediate<true>(net, s, df, rule, p, router, e, kAtSource.source_detour, intermediate);
    }
    const bool second = p.phase == kMinimal && p.hops == 1 && df.group(router) == e.source_group;
    const LegClasses& classes = first ? kAtSource : kLater;
    // The authors compare minimal VC 0 with detour VC 1 at either router when both paths share the output port.
    if ((first || second) && detours &&
        ugal_diverts<true>(net, s, df, rule, p, intermediate, router, e, kAtSource.source_minimal, kAtSource.source_detour))
      take_detour(p);
    choose(b, i, follow_legs<true>(net, df, classes, p, intermediate, router, e));
  }
}

const Register<RoutingSpec> entry({"par", "UGALn that may still divert at the second router (PAR)", {"dragonfly"}, ugal_params(2, false), ugal_setup<true, 5, 7>, route});

}  // namespace

}  // namespace flitgym
