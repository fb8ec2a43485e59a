// PAR: progressive adaptive routing (Jiang, Kim, Dally, ISCA 2009), as in the Q-adaptive authors' code (dragonfly.cc
// 1097-1253). The source router decides by UGALn. A packet that is still minimal at the second router of its source
// group decides again, with the same intermediate router.
// VC classes, by the router at which the hop begins:
// 0  the source router, minimal path
// 1  the source group, detour
// 2  the intermediate group, on the way to the intermediate router
// 3  the intermediate group, on the way to the destination group; also the source group after its first router, minimal
//    path
// 4  the destination group
#include "routing/dragonfly/two_legs.hpp"

namespace flitgym::routing::dragonfly::par {

namespace {

constexpr LegClasses kAtSource = {1, 0, 2, 3, 4}, kLater = {1, 3, 2, 3, 4};

void route(const Network& net, State& s, Batch& b) {
  const Dragonfly& df = as_dragonfly(net);
  const auto& rule = static_cast<const UgalRule&>(*net.routing);
  u32* const intermediates = rule.intermediate.of(s);
  Packet* const packets = s.packets.data();
  const u32 *const ids = b.packet.data(), *const routers = b.router.data(), count = b.count;
  for (u32 i = 0; i < count; i++) {
    if (i + 4 < count) __builtin_prefetch(&intermediates[ids[i + 4]], 1);
    Packet& p = packets[ids[i]];
    u32& intermediate = intermediates[ids[i]];
    const u32 router = routers[i];
    const Ends e = ends(net, df, p);
    const bool first = p.phase == kUndecided, detours = e.source_group != e.destination_group && df.g > 2;
    if (first) {
      p.phase = kMinimal;
      if (detours) draw_intermediate<true>(net, s, df, rule, p, router, e, kAtSource.source_detour, intermediate);
    }
    const bool second = p.phase == kMinimal && p.hops == 1 && df.group(router) == e.source_group;
    const LegClasses& classes = first ? kAtSource : kLater;
    // If both paths share the output port, the authors compare its classes 0 and 1, also at the second router.
    if ((first || second) && detours &&
        ugal_diverts<true>(net, s, df, rule, p, intermediate, router, e, kAtSource.source_minimal,
                           kAtSource.source_detour))
      take_detour(p);
    go_on<true>(net, df, classes, p, intermediate, router, e, b, i);
  }
}

// Does the packet decide here? It decides at the source router, and again at the second router of the source group if
// it is still minimal.
bool decides(const Dragonfly& df, const Packet& p, u32 router, const Ends& e) {
  return p.phase == kUndecided || (p.phase == kMinimal && p.hops == 1 && df.group(router) == e.source_group &&
                                   e.source_group != e.destination_group);
}

// At the source router: draws the intermediate router. At the second router: returns the router drawn before.
u32 drawn(const Network& net, const Dragonfly& df, const Packet& p, u32 intermediate, const Ends& e) {
  if (df.g < 3) return kNone;
  return p.phase == kUndecided
             ? random_router_elsewhere(net, df, e.source_group, e.destination_group, route_draw(net, p, 0))
             : intermediate;
}

Hop detour(const Network& net, const Dragonfly& df, Packet p, u32 router, const Ends& e, u32 middle) {
  const LegClasses& classes = p.phase == kUndecided ? kAtSource : kLater;
  take_detour(p);
  return follow_legs<true>(net, df, classes, p, middle, router, e);
}

void candidates(const Network& net, State& s, Batch& b) {
  const Dragonfly& df = as_dragonfly(net);
  const u32* const intermediates = static_cast<const LegsRule&>(*net.relation).intermediate.of(s);
  list_candidates(net, b, [&](u32 i, auto&& offer) {
    Packet p = s.packets[b.packet[i]];
    const u32 intermediate = intermediates[b.packet[i]];
    const Ends e = ends(net, df, p);
    const u32 middle = decides(df, p, b.router[i], e) && e.source_group != e.destination_group
                           ? drawn(net, df, p, intermediate, e)
                           : kNone;
    if (middle != kNone) {
      const Hop hop = detour(net, df, p, b.router[i], e, middle);
      const LegClasses& classes = p.phase == kUndecided ? kAtSource : kLater;
      p.phase = kMinimal;
      const Hop minimal = follow_legs<true>(net, df, classes, p, intermediate, b.router[i], e);
      offer(minimal.port, minimal.vc_class);
      offer(hop.port, hop.vc_class);
    } else {
      const LegClasses& classes = p.phase == kUndecided ? kAtSource : kLater;
      if (p.phase == kUndecided) p.phase = kMinimal;
      const Hop hop = follow_legs<true>(net, df, classes, p, intermediate, b.router[i], e);
      offer(hop.port, hop.vc_class);
    }
  });
}

void chosen(const Network& net, State& s, Batch& b, u32 i) {
  const Dragonfly& df = as_dragonfly(net);
  Packet& p = s.packets[b.packet[i]];
  u32& intermediate = static_cast<const LegsRule&>(*net.relation).intermediate.of(s)[b.packet[i]];
  const Ends e = ends(net, df, p);
  const u32 router = b.router[i];
  if (decides(df, p, router, e)) {
    const bool first = p.phase == kUndecided;
    const u32 middle = e.source_group != e.destination_group ? drawn(net, df, p, intermediate, e) : kNone;
    const Hop hop = middle != kNone ? detour(net, df, p, router, e, middle) : Hop{kNone, 0};
    p.phase = kMinimal;
    if (first && middle != kNone) intermediate = middle;
    if (hop.port == b.out_port[i] && hop.vc_class == b.out_class[i]) take_detour(p);
  } else {
    follow_legs<true>(net, df, kLater, p, intermediate, router, e);
  }
}

const Register<RoutingSpec> entry([] {
  RoutingSpec spec{
      .name = "par",
      .summary = "UGALn, with a second decision at the second router of the source group (PAR)",
      .topologies = {"dragonfly"},
      .params = ugal_params(2, false),
      .setup = ugal_setup<true, 5, 7>,
      .route = route,
  };
  spec.candidates = candidates;
  spec.chosen = chosen;
  spec.operations = ugal_operations;
  return spec;
}());

}  // namespace

}  // namespace flitgym::routing::dragonfly::par
