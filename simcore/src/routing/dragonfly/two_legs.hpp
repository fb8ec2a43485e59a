// Paths of one or two minimal legs on a Dragonfly, and the VC classes that keep them free of deadlock.
#pragma once

#include "simcore/routing/choice.hpp"
#include "simcore/routing/congestion.hpp"
#include "simcore/routing/relation.hpp"
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
  if (df.g < 3) return kNone;
  const u32 low = group_a < group_b ? group_a : group_b, high = group_a < group_b ? group_b : group_a;
  u32 router = below(bits, net.routers - 2 * df.a);
  if (router >= low * df.a) router += df.a;
  if (router >= high * df.a) router += df.a;
  return router;
}

struct Ends {
  u32 source_group, destination_group, destination_router;
};
inline Ends ends(const Network& net, const Dragonfly& df, const Packet& p) {
  const u32 to = net.terminal_router[p.destination];
  return {df.group(net.terminal_router[p.source]), df.group(to), to};
}

// Next hop of a packet whose phase is decided. kByRouter: the intermediate is a router, else a group.
template <bool kByRouter>
inline Hop follow_legs(const Network& net, const Dragonfly& df, const LegClasses& classes, Packet& p, u32 intermediate,
                       u32 router, const Ends& e) {
  // As in Dragonfly::hop(), all cases are computed, and one is selected.
  const u32 group = df.group(router), there = e.destination_router;
  const bool reached = kByRouter ? router == intermediate : group == intermediate;
  const bool first_leg = p.phase == kToIntermediate, detours = first_leg & !reached;
  p.phase = static_cast<Phase>(select<u8>(first_leg & reached, kFromIntermediate, p.phase));
  const u32 to = kByRouter ? select(detours, intermediate, there) : there,
            group_to = kByRouter ? df.group(to) : select(detours, intermediate, e.destination_group);
  const u32 onwards = df.hop(net, router, to, group_to, df.turn(net, router, p)),
            eject = net.terminal_port[p.destination];
  const u8 on_detour = select(group == e.source_group, classes.source_detour, classes.to_router),
           before = select(p.phase == kFromIntermediate, classes.leaving, classes.source_minimal),
           on_minimal = select(group == e.destination_group, classes.destination, before);
  return {select(!detours & (router == there), eject, onwards), select(detours, on_detour, on_minimal)};
}

// Chooses the next hop for request i of a batch. Marks the packet as non-minimal at its first hop that is not on a
// minimal path. Only hops towards the intermediate are checked, because all other hops are minimal.
template <bool kByRouter>
inline void go_on(const Network& net, const Dragonfly& df, const LegClasses& classes, Packet& p, u32 intermediate,
                  u32 router, const Ends& e, Batch& b, u32 i) {
  const Hop hop = follow_legs<kByRouter>(net, df, classes, p, intermediate, router, e);
  choose(b, i, hop);
  if (p.phase == kToIntermediate && !p.nonminimal && hop.port != df.own_minimal_port(net, router, p))
    df.mark_detour(net, p, router, hop.port);
}

// The data of every routing of two legs.
struct LegsRule : ComponentData {
  Kept<u32> intermediate;
};

// ---- UGAL: Universal Globally-Adaptive Load-balancing (Singh 2005; on Dragonfly: Kim et al., ISCA 2008) ----

struct UgalRule : LegsRule {
  double threshold = 0, bias_flits = 0;
  bool hop_weighted = false;
  u32 candidates = 1;
  CongestionMeasure measure;
  bool whole_path = false;  // ugal_global only

  // True if the congestion of the minimal path exceeds threshold times that of the non-minimal path, plus the bias.
  bool diverts(double minimal, double nonminimal) const {
    return minimal > static_cast<double>(static_cast<i64>(threshold * nonminimal)) + bias_flits;
  }
};

inline std::vector<ParamSpec> ugal_params(double threshold, bool hop_weighted) {
  return {
      real("threshold", threshold, 0, 1e6, "",
           "the packet takes the non-minimal path if q_min > int(threshold x q_nonmin) + bias_flits"),
      real("bias_flits", 0, -1e6, 1e6, "flits", "added to the non-minimal side of the comparison"),
      flag("hop_weighted", hop_weighted,
           "multiply each congestion by the router-to-router hops of its path, as textbook UGAL does"),
      integer("candidates", 1, 1, 15, "", "number of random intermediates compared; the least congested is taken"),
      congestion_param(),
      congestion_scope_of_paths_param("hybrid"),
  };
}

inline void read_ugal(const Params& params, UgalRule& rule) {
  rule.threshold = params.real("threshold");
  rule.bias_flits = params.real("bias_flits");
  rule.hop_weighted = params.boolean("hop_weighted");
  rule.candidates = params.count("candidates");
}

// First hop of a path to the intermediate.
template <bool kByRouter>
inline u32 port_to_intermediate(const Network& net, const Dragonfly& df, const Packet& p, u32 router,
                                u32 intermediate) {
  const u32 turn = df.turn(net, router, p);
  return kByRouter ? df.towards(net, router, intermediate, turn) : df.exit(router, intermediate, turn);
}

// Compares the minimal path with the path through `intermediate` at `router`, by the local queues of their first hops.
template <bool kByRouter>
inline bool ugal_diverts(const Network& net, const State& s, const Dragonfly& df, const UgalRule& rule, const Packet& p,
                         u32 intermediate, u32 router, const Ends& e, u32 minimal_class, u32 detour_class) {
  const u32 k_min = df.own_minimal_port(net, router, p);
  const u32 k_non = port_to_intermediate<kByRouter>(net, df, p, router, intermediate);
  double q_min = rule.measure.of(net, s, net.port(router, k_min), minimal_class, k_min == k_non);
  double q_non = rule.measure.of(net, s, net.port(router, k_non), detour_class, k_min == k_non);
  if (rule.hop_weighted) {
    const auto turn_at = [&](u32 at) { return df.turn(net, at, p); };
    u32 middle = intermediate, leg = 0;
    if (kByRouter) {
      leg = df.minimal_hops(net, router, middle, turn_at);
    } else {  // the router at which the link into the intermediate group ends
      for (middle = router; df.group(middle) != intermediate; leg++)
        middle = net.next_router(net.port(middle, df.exit(middle, intermediate, turn_at(middle))));
    }
    q_min *= df.minimal_hops(net, router, e.destination_router, turn_at);
    q_non *= leg + df.minimal_hops(net, middle, e.destination_router, turn_at);
  }
  return rule.diverts(q_min, q_non);
}

// Draws the rule's candidates and keeps the intermediate whose first hop is least congested. False if there is none.
template <bool kByRouter>
inline bool draw_intermediate(const Network& net, const State& s, const Dragonfly& df, const UgalRule& rule,
                              const Packet& p, u32 router, const Ends& e, u32 detour_class, u32& intermediate) {
  u32 least = ~0u;
  for (u32 k = 0; k < rule.candidates; k++) {
    const u32 middle = random_router_elsewhere(net, df, e.source_group, e.destination_group, route_draw(net, p, k));
    if (middle == kNone) return false;
    const u32 drawn = kByRouter ? middle : df.group(middle);
    const u32 q =
        rule.candidates == 1
            ? 0
            : rule.measure.of(net, s, net.port(router, port_to_intermediate<kByRouter>(net, df, p, router, drawn)),
                              detour_class);
    if (q < least) {
      least = q;
      intermediate = drawn;
    }
  }
  return true;
}

// An oblivious routing compares nothing.
inline Operations no_operations(const Network&, double) { return {}; }
// draw_intermediate() and ugal_diverts().
inline Operations ugal_operations(const Network& net, double) {
  const auto& rule = static_cast<const UgalRule&>(*net.routing);
  return {.multiplications = rule.hop_weighted ? 3.0 : 1.0,
          .additions = 1,
          .comparisons = 1 + (rule.candidates > 1 ? rule.candidates - 1.0 : 0)};
}

// ---- The routings that differ only in the kind of intermediate and in their classes ----

// Sends every packet through an intermediate, except for traffic within a group.
template <bool kByRouter, LegClasses kClasses>
void valiant_route(const Network& net, State& s, Batch& b) {
  const Dragonfly& df = as_dragonfly(net);
  u32* const intermediates = static_cast<const LegsRule&>(*net.routing).intermediate.of(s);
  for (u32 i = 0; i < b.count; i++) {
    if (i + 4 < b.count) __builtin_prefetch(&intermediates[b.packet[i + 4]], 1);
    Packet& p = s.packets[b.packet[i]];
    u32& intermediate = intermediates[b.packet[i]];
    const Ends e = ends(net, df, p);
    if (p.phase == kUndecided) {
      p.phase = kMinimal;
      const bool leaves = e.source_group != e.destination_group;
      const u32 middle =
          leaves ? random_router_elsewhere(net, df, e.source_group, e.destination_group, route_draw(net, p, 0)) : kNone;
      if (middle != kNone) {
        intermediate = kByRouter ? middle : df.group(middle);
        take_detour(p);
      }
    }
    go_on<kByRouter>(net, df, kClasses, p, intermediate, b.router[i], e, b, i);
  }
}

// Sends a packet through an intermediate if the local queues favour it. Only the source router decides.
template <bool kByRouter, LegClasses kClasses>
void ugal_route(const Network& net, State& s, Batch& b) {
  const Dragonfly& df = as_dragonfly(net);
  const auto& rule = static_cast<const UgalRule&>(*net.routing);
  u32* const intermediates = rule.intermediate.of(s);
  for (u32 i = 0; i < b.count; i++) {
    if (i + 4 < b.count) __builtin_prefetch(&intermediates[b.packet[i + 4]], 1);
    Packet& p = s.packets[b.packet[i]];
    u32& intermediate = intermediates[b.packet[i]];
    const u32 router = b.router[i];
    const Ends e = ends(net, df, p);
    if (p.phase == kUndecided) {
      p.phase = kMinimal;
      if (e.source_group != e.destination_group &&
          draw_intermediate<kByRouter>(net, s, df, rule, p, router, e, kClasses.source_detour, intermediate) &&
          ugal_diverts<kByRouter>(net, s, df, rule, p, intermediate, router, e, kClasses.source_minimal,
                                  kClasses.source_detour))
        take_detour(p);
    }
    go_on<kByRouter>(net, df, kClasses, p, intermediate, router, e, b, i);
  }
}

// ---- Their relation: the minimal path, or the path through one of the intermediates that the packet draws ----

// visit(intermediate, hop) for each path through an intermediate that an undecided packet may take.
template <bool kByRouter, class Visit>
void each_two_leg_path(const Network& net, const Dragonfly& df, const LegClasses& classes, u32 draws, const Packet& p,
                       u32 router, const Ends& e, Visit&& visit) {
  if (e.source_group == e.destination_group) return;
  for (u32 k = 0; k < draws; k++) {
    const u32 middle = random_router_elsewhere(net, df, e.source_group, e.destination_group, route_draw(net, p, k));
    if (middle == kNone) return;
    const u32 intermediate = kByRouter ? middle : df.group(middle);
    Packet detoured = p;
    take_detour(detoured);
    visit(intermediate, follow_legs<kByRouter>(net, df, classes, detoured, intermediate, router, e));
  }
}

template <bool kByRouter, bool kAlways>
void two_leg_candidates(const Network& net, const State& s, Batch& b, const LegClasses& classes, u32 draws) {
  const Dragonfly& df = as_dragonfly(net);
  const u32* const intermediates = static_cast<const LegsRule&>(*net.relation).intermediate.of(s);
  list_candidates(net, b, [&](u32 i, auto&& offer) {
    Packet p = s.packets[b.packet[i]];
    const Ends e = ends(net, df, p);
    const bool undecided = p.phase == kUndecided;
    u32 detours = 0;
    if (undecided) p.phase = kMinimal;
    const auto minimal = [&] {
      const Hop hop = follow_legs<kByRouter>(net, df, classes, p, intermediates[b.packet[i]], b.router[i], e);
      offer(hop.port, hop.vc_class);
    };
    if (!kAlways || !undecided) minimal();
    if (undecided)
      each_two_leg_path<kByRouter>(net, df, classes, draws, p, b.router[i], e, [&](u32, const Hop& hop) {
        offer(hop.port, hop.vc_class);
        detours++;
      });
    if (kAlways && undecided && detours == 0) minimal();
  });
}

// Records a choice that was made outside the routing. The packet takes the first drawn intermediate whose first hop was
// chosen, or else the minimal path.
template <bool kByRouter>
void two_leg_chosen(const Network& net, State& s, Batch& b, u32 i, const LegClasses& classes, u32 draws) {
  const Dragonfly& df = as_dragonfly(net);
  Packet& p = s.packets[b.packet[i]];
  u32& intermediate = static_cast<const LegsRule&>(*net.relation).intermediate.of(s)[b.packet[i]];
  const Ends e = ends(net, df, p);
  if (p.phase != kUndecided) {
    // Starts the second leg at the intermediate.
    follow_legs<kByRouter>(net, df, classes, p, intermediate, b.router[i], e);
    return;
  }
  p.phase = kMinimal;
  u32 by = kNone;
  each_two_leg_path<kByRouter>(net, df, classes, draws, p, b.router[i], e, [&](u32 middle, const Hop& hop) {
    if (by == kNone && hop.port == b.out_port[i] && hop.vc_class == b.out_class[i]) by = middle;
  });
  if (by == kNone) return;
  intermediate = by;
  take_detour(p);
}

inline u32 detours_drawn(const Network& net) {
  const auto* rule = dynamic_cast<const UgalRule*>(net.relation.get());
  return rule ? rule->candidates : 1;
}
template <bool kByRouter, bool kAlways, LegClasses kClasses>
void legs_candidates(const Network& net, State& s, Batch& b) {
  two_leg_candidates<kByRouter, kAlways>(net, s, b, kClasses, detours_drawn(net));
}
template <bool kByRouter, LegClasses kClasses>
void legs_chosen(const Network& net, State& s, Batch& b, u32 i) {
  two_leg_chosen<kByRouter>(net, s, b, i, kClasses, detours_drawn(net));
}
template <bool kByRouter, bool kAlways, LegClasses kClasses>
RoutingSpec two_legs(RoutingSpec spec) {
  spec.candidates = legs_candidates<kByRouter, kAlways, kClasses>;
  spec.chosen = legs_chosen<kByRouter, kClasses>;
  spec.operations = kAlways ? no_operations : ugal_operations;
  return spec;
}

template <bool kByRouter, u32 kVcClasses, u32 kMaxHops>
RoutingFacts valiant_setup(const Params&, Network& net, std::shared_ptr<const ComponentData>& data) {
  auto rule = std::make_shared<LegsRule>();
  rule->intermediate = declare_intermediate(net, !kByRouter);
  data = rule;
  RoutingFacts facts{kVcClasses, kMaxHops};
  facts.marks = true;
  return facts;
}

template <bool kByRouter, u32 kVcClasses, u32 kMaxHops>
RoutingFacts ugal_setup(const Params& params, Network& net, std::shared_ptr<const ComponentData>& data) {
  auto rule = std::make_shared<UgalRule>();
  read_ugal(params, *rule);
  rule->measure = measure_of(params, net);
  rule->intermediate = declare_intermediate(net, !kByRouter);
  data = rule;
  RoutingFacts facts{kVcClasses, kMaxHops};
  facts.marks = true;
  return facts;
}

}  // namespace flitgym::routing::dragonfly
