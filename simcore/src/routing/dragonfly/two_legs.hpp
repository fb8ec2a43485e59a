// Paths of one or two minimal legs on a Dragonfly, and the VC classes that keep them free of deadlock.
#pragma once

#include "routing/two_legs.hpp"
#include "simcore/topology/dragonfly.hpp"

namespace flitgym::routing::dragonfly {

// VC class by the part of the path. Along any path, the pairs of VC class and kind of channel follow one fixed order,
// so there is no dependency cycle.
struct LegClasses {
  u8 source_detour;   // in the source group, on the way to the intermediate
  u8 source_minimal;  // in the source group, on the minimal path
  u8 to_router;       // in the intermediate group, on the way to the intermediate router
  u8 leaving;         // in the intermediate group, on the way to the destination group
  u8 destination;     // in the destination group
};

// A uniformly random router outside the packet's source and destination group; kNone if there is none.
inline u32 random_router_elsewhere(const Network& net, const Dragonfly& df, u32 group_a, u32 group_b, u64 bits) {
  return df.g < 3 ? kNone : outside(below(bits, net.routers - 2 * df.a), group_a, group_b, df.a);
}

// Next hop of a packet on a leg. Begins the second leg at the intermediate. kByRouter: the intermediate is a router,
// else a group.
template <bool kByRouter>
inline __attribute__((always_inline)) Hop follow(const Head& at, const LegClasses& classes, Leg& leg) {
  // As in Dragonfly::hop(), all cases are computed, and one is selected.
  const Dragonfly& df = as_dragonfly(at.net);
  const u32 group = df.group(at.router), destination_group = df.group(at.to);
  const bool reached = kByRouter ? at.router == leg.middle : group == leg.middle;
  const bool first_leg = leg.phase == kToIntermediate, detours = first_leg & !reached;
  leg.phase = static_cast<Phase>(select<u8>(first_leg & reached, kFromIntermediate, leg.phase));
  const u32 to = kByRouter ? select(detours, leg.middle, at.to) : at.to,
            group_to = kByRouter ? df.group(to) : select(detours, leg.middle, destination_group);
  const u32 onwards = df.hop(at.net, at.router, to, group_to, df.turn(at.net, at.router, at.packet)),
            eject = at.net.terminal_port[at.packet.destination];
  const bool at_home = group == df.group(at.net.terminal_router[at.packet.source]);
  const u8 on_detour = select(at_home, classes.source_detour, classes.to_router),
           before = select(leg.phase == kFromIntermediate, classes.leaving, classes.source_minimal),
           on_minimal = select(group == destination_group, classes.destination, before);
  return {select(!detours & (at.router == at.to), eject, onwards), select(detours, on_detour, on_minimal)};
}

// First hop of a detour through `middle`.
template <bool kByRouter>
inline u32 port_to(const Head& at, u32 middle) {
  const Dragonfly& df = as_dragonfly(at.net);
  const u32 turn = df.turn(at.net, at.router, at.packet);
  return kByRouter ? df.towards(at.net, at.router, middle, turn) : df.exit(at.router, middle, turn);
}

// ---- UGAL: Universal Globally-Adaptive Load-balancing (Singh 2005; on Dragonfly: Kim et al., ISCA 2008) ----

struct UgalRule : Diversion {
  CongestionMeasure measure;
  bool by_router = false;  // the intermediate is a router, else a group
  u32 detour_class = 0;    // of the first hop of a detour at the source
  double weight(const Network&, State&, u32 packet, u32 router, u32 port, u32 vc_class) const override;
};

// The weights of the minimal path and of the path through `middle`, by the local queues of their first hops.
template <bool kByRouter>
inline std::pair<double, double> ugal_weights(const Head& at, const UgalRule& rule, u32 minimal_class, u32 detour_class,
                                              u32 middle) {
  const Network& net = at.net;
  const Dragonfly& df = as_dragonfly(net);
  const u32 k_min = df.own_minimal_port(net, at.router, at.packet), k_non = port_to<kByRouter>(at, middle);
  const auto flits = [&](u32 k, u32 vc_class) {
    return rule.measure.of(net, at.s, net.port(at.router, k), vc_class, k_min == k_non);
  };
  double q_min = flits(k_min, minimal_class), q_non = flits(k_non, detour_class);
  if (rule.hop_weighted) {
    const auto turn_at = [&](u32 router) { return df.turn(net, router, at.packet); };
    u32 end = middle, leg = 0;
    if (kByRouter) {
      leg = df.minimal_hops(net, at.router, end, turn_at);
    } else {  // the router at which the link into the intermediate group ends
      for (end = at.router; df.group(end) != middle; leg++)
        end = net.next_router(net.port(end, df.exit(end, middle, turn_at(end))));
    }
    q_min *= df.minimal_hops(net, at.router, at.to, turn_at);
    q_non *= leg + df.minimal_hops(net, end, at.to, turn_at);
  }
  return {q_min, q_non};
}
// Compares both paths.
template <bool kByRouter>
inline bool ugal_diverts(const Head& at, const UgalRule& rule, const LegClasses& classes, u32 middle) {
  const auto [q_min, q_non] = ugal_weights<kByRouter>(at, rule, classes.source_minimal, classes.source_detour, middle);
  return rule.diverts(q_min, q_non);
}

// An oblivious routing compares nothing.
inline Operations no_operations(const Network&, double) { return {}; }
// Comparisons of the first hops of the drawn paths, and ugal_diverts().
inline Operations ugal_operations(const Network& net, double) {
  const auto& rule = static_cast<const UgalRule&>(*net.routing);
  return {.multiplications = rule.hop_weighted ? 3.0 : 1.0,
          .additions = 1,
          .comparisons = 1 + (rule.candidates > 1 ? rule.candidates - 1.0 : 0)};
}

// Declares the paths (routing/two_legs.hpp): the minimal path, or through one of the intermediates that the packet
// draws. kAlways: every packet to another group takes a detour if there is a third group.
template <bool kByRouter, LegClasses kClasses, bool kAlways = false>
struct Legs {
  using Rule = UgalRule;
  static bool decides(const Head& at) { return at.packet.phase == kUndecided; }
  // visit(leg) for each detour that the packet draws.
  template <class Visit>
  static void detours(const Head& at, const Rule& rule, Visit&& visit) {
    const Dragonfly& df = as_dragonfly(at.net);
    const u32 from = df.group(at.net.terminal_router[at.packet.source]), to = df.group(at.to);
    for (u32 k = 0; from != to && k < rule.candidates; k++) {
      const u32 middle = random_router_elsewhere(at.net, df, from, to, route_draw(at.net, at.packet, k));
      if (middle == kNone) return;
      visit(Leg{kToIntermediate, kByRouter ? middle : df.group(middle)});
    }
  }
  template <class Visit>
  static void paths(const Head& at, const Rule& rule, const Leg& now, Visit&& visit) {
    bool any = false;
    if (!kAlways) visit(Leg{kMinimal, now.middle});
    detours(at, rule, [&](const Leg& leg) { visit(leg), any = true; });
    if (kAlways && !any) visit(Leg{kMinimal, now.middle});
  }
  template <class Out>
  static void hops(const Head& at, const Rule&, Leg& leg, Out&& out) {
    const Hop hop = follow<kByRouter>(at, kClasses, leg);
    out(hop.port, hop.vc_class);
  }
  // The detour with the least congested first hop; the leg `now` if there is none.
  static Leg best_detour(const Head& at, const Rule& rule, const Leg& now) {
    Leg best = now;
    u32 least = ~0u;
    detours(at, rule, [&](const Leg& leg) {
      u32 flits = 0;
      if (rule.candidates > 1) {
        const u32 port = at.net.port(at.router, port_to<kByRouter>(at, leg.middle));
        flits = rule.measure.of(at.net, at.s, port, kClasses.source_detour);
      }
      if (flits < least) least = flits, best = leg;
    });
    return best;
  }
  // The packet remembers the intermediate of a detour that it does not take.
  static Leg decide(const Head& at, const Rule& rule, const Congestion&, const Leg& now) {
    if (kAlways) return first_path<Legs>(at, rule, now);
    const Leg detour = best_detour(at, rule, now);
    const bool takes = detour.phase == kToIntermediate && ugal_diverts<kByRouter>(at, rule, kClasses, detour.middle);
    return {takes ? kToIntermediate : kMinimal, detour.middle};
  }
  // Only hops towards the intermediate are checked, because all other hops are minimal.
  static void mark(const Head& at, const Hop& hop) {
    const Dragonfly& df = as_dragonfly(at.net);
    if (at.packet.phase == kToIntermediate && !at.packet.nonminimal &&
        hop.port != df.own_minimal_port(at.net, at.router, at.packet))
      df.mark_detour(at.net, at.packet, at.router, hop.port);
  }
};

template <class L>
RoutingSpec dragonfly_legs(RoutingSpec spec) {
  spec.topologies = {"dragonfly"};
  spec.operations = spec.params.empty() ? no_operations : ugal_operations;
  return routing::two_legs<L>(std::move(spec));
}

// `params`: those of diversion_params(), or none.
template <bool kByRouter, u32 kVcClasses, u32 kMaxHops>
RoutingFacts legs_setup(const Params& params, Network& net, UgalRule& rule) {
  if (params.values().contains("threshold")) read_diversion(params, rule), rule.measure = measure_of(params, net);
  rule.by_router = kByRouter;
  rule.intermediate = declare_intermediate(net, !kByRouter);
  return {.classes = kVcClasses, .max_hops = kMaxHops, .marks = true};
}

}  // namespace flitgym::routing::dragonfly
