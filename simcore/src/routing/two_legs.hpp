// Paths of one or two legs (Valiant 1982), on any topology. A struct T declares them:
//   struct Rule                          with the memory `intermediate` and the CongestionMeasure `measure`
//   decides(at)                          whether the packet selects a path here
//   paths(at, rule, now, visit)          calls visit(leg) for each path that it may select. `now` is its present leg
//   decide(at, rule, congestion, now)    the path that the routing selects
//   hops(at, rule, leg, out)             calls out(port, vc_class) for each hop by which a packet on `leg` may go on.
//                                        Begins the second leg at the intermediate
//   pick(at, rule, congestion, offered)  the index of one of several such hops, if there may be several
//   mark(at, hop)                        optional: marks a packet that leaves the minimal paths
// The route, the list of candidates, and the update after the choice of an agent follow from it.
#pragma once

#include "simcore/routing/declared.hpp"

namespace flitgym::routing {

// The part of a path that a packet is on, and the intermediate router (or group) of the path.
struct Leg {
  Phase phase;
  u32 middle;
};

template <class T>
inline __attribute__((always_inline)) Hop hop_on(const Head& at, const typename T::Rule& rule,
                                                 const Congestion& congestion, Leg& leg) {
  Hop hop{kNone, 0};  // stays if there is none, which only a restored snapshot can cause
  if constexpr (requires(const Offered<>& offered) { T::pick(at, rule, congestion, offered); }) {
    Offered<> offered;
    T::hops(at, rule, leg, offered);
    if (offered.count > 0) hop = offered.hop[T::pick(at, rule, congestion, offered)];
  } else {
    T::hops(at, rule, leg, [&](u32 port, u32 vc_class) { hop = {port, vc_class}; });
  }
  return hop;
}

template <class T>
static void legs_route(const Network& net, State& s, Batch& b) {
  const auto& rule = static_cast<const typename T::Rule&>(*net.relation);
  u32* const intermediates = rule.intermediate.of(s);
  Congestion congestion(net, s, rule.measure);
  const bool allocates = rule.measure.sequential;
  for (u32 i = 0; i < b.count; i++) {
    if (i + 4 < b.count) __builtin_prefetch(&intermediates[b.packet[i + 4]], 1);
    const Head at = head(net, s, b, i);
    Leg leg{at.packet.phase, intermediates[at.id]};
    if (allocates) congestion.begin(at.router);
    if (T::decides(at)) {
      leg = T::decide(at, rule, congestion, leg);
      intermediates[at.id] = leg.middle;
    }
    const Hop hop = hop_on<T>(at, rule, congestion, leg);
    at.packet.phase = leg.phase;
    if (allocates) congestion.promise(hop, at.packet.flits);
    choose(b, i, hop);
    if constexpr (requires { T::mark(at, hop); }) T::mark(at, hop);
  }
}

template <class T>
static void legs_candidates(const Network& net, State& s, Batch& b) {
  const auto& rule = static_cast<const typename T::Rule&>(*net.relation);
  const u32* const intermediates = rule.intermediate.of(s);
  list_requests(net, s, b, [&](const Head& at, auto&& offer) {
    Offered<> all;
    const auto offer_once = [&](u32 port, u32 vc_class) {
      for (u32 k = 0; k < all.count; k++)
        if (all.hop[k].port == port && all.hop[k].vc_class == vc_class) return;
      all(port, vc_class);
      offer(port, vc_class);
    };
    const auto offer_leg = [&](Leg leg) { T::hops(at, rule, leg, offer_once); };
    const Leg now{at.packet.phase, intermediates[at.id]};
    if (T::decides(at)) T::paths(at, rule, now, offer_leg);
    else offer_leg(now);
  });
}

// After a choice outside the routing, the packet is on the first path that has the chosen hop.
template <class T>
static void legs_chosen(const Network& net, State& s, Batch& b, u32 i) {
  const auto& rule = static_cast<const typename T::Rule&>(*net.relation);
  const Head at = head(net, s, b, i);
  u32& intermediate = rule.intermediate.of(s)[at.id];
  Leg now{at.packet.phase, intermediate};
  if (!T::decides(at)) {
    T::hops(at, rule, now, [](u32, u32) {});
  } else {
    bool found = false;
    T::paths(at, rule, Leg(now), [&](Leg leg) {
      if (found) return;
      T::hops(at, rule, leg, [&](u32 port, u32 vc_class) {
        found |= port == b.out_port[i] && (vc_class == b.out_class[i] || vc_class == kAnyClass);
      });
      if (found) now = leg;
    });
  }
  at.packet.phase = now.phase;
  intermediate = now.middle;
}

template <class T>
RoutingSpec two_legs(RoutingSpec spec) {
  spec.route = legs_route<T>;
  spec.candidates = legs_candidates<T>;
  spec.chosen = legs_chosen<T>;
  return spec;
}

// ---- Selections of a path ----

// The n-th number that is not in block a or block b. Block k has the numbers k size .. (k + 1) size - 1.
inline u32 outside(u32 n, u32 a, u32 b, u32 size = 1) {
  if (n >= std::min(a, b) * size) n += size;
  if (n >= std::max(a, b) * size) n += size;
  return n;
}

// VAL takes the first path.
template <class T>
inline Leg first_path(const Head& at, const typename T::Rule& rule, const Leg& now) {
  Leg first = now;
  bool found = false;
  T::paths(at, rule, now, [&](const Leg& leg) {
    if (!found) first = leg, found = true;
  });
  return first;
}

// The rule of the Q-adaptive papers: a packet takes the non-minimal path if q_min > int(threshold x q_nonmin) + bias.
struct Diversion : ComponentData {
  Kept<u32> intermediate;
  double threshold = 0, bias_flits = 0;
  bool hop_weighted = false;
  u32 candidates = 1;
  bool diverts(double minimal, double nonminimal) const {
    return minimal > static_cast<double>(static_cast<i64>(threshold * nonminimal)) + bias_flits;
  }
};
inline std::vector<ParamSpec> diversion_params(double threshold, bool hop_weighted) {
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
inline void read_diversion(const Params& params, Diversion& rule) {
  rule.threshold = params.real("threshold");
  rule.bias_flits = params.real("bias_flits");
  rule.hop_weighted = params.boolean("hop_weighted");
  rule.candidates = params.count("candidates");
}

inline constexpr double kWeightTolerance = 1e-6;  // weights this close are equal; minimal wins

// The weights of paths: hops to go x congestion of the first hop, and biases against non-minimal paths.
struct Weights : ComponentData {
  double congestion_bias = 0, bias = 0;
  bool normalized = false;
  // h: hops to go on the minimal path from here; hops: hops to go on the path of this candidate.
  double minimal(u32 h, double congestion) const { return h * congestion; }
  double nonminimal(u32 h, u32 hops, double congestion) const {
    return (normalized ? 2 * h : hops) * (congestion + congestion_bias) + bias;
  }
};

// UGAL (Singh 2005): the path of least weight. The first path is the minimal one, which wins ties. T::distance(at, a,
// b) is the number of hops between two routers.
template <class T>
inline Leg lightest_path(const Head& at, const typename T::Rule& rule, const Congestion& congestion, const Leg& now) {
  const u32 h = T::distance(at, at.router, at.to);
  Leg best = now;
  Hop direct{};
  double least = 0;
  T::paths(at, rule, now, [&](const Leg& path) {
    Leg leg = path;
    const Hop hop = hop_on<T>(at, rule, congestion, leg);
    if (path.phase == kMinimal) {
      best = path, direct = hop;
      return;
    }
    const bool shared = hop.port == direct.port;
    const auto flits = [&](const Hop& by) { return congestion.of(at.router, by.port, by.vc_class, shared); };
    const u32 hops = T::distance(at, at.router, path.middle) + T::distance(at, path.middle, at.to);
    const double weight = rule.nonminimal(h, hops, flits(hop)), minimal = rule.minimal(h, flits(direct));
    if (weight >= minimal - kWeightTolerance || (best.phase != kMinimal && weight >= least)) return;
    least = weight, best = path;
  });
  return best;
}

// ComponentData::weight of such a routing: the least weight of the paths that begin with this hop at the source.
template <class T>
double weight_of_paths(const Network& net, State& s, u32 packet, u32 router, u32 port, u32 vc_class) {
  const auto& rule = static_cast<const typename T::Rule&>(*net.relation);
  const Head at = head_of(net, s, packet, router);
  double least = std::numeric_limits<double>::quiet_NaN();
  if (at.packet.hops > 0 || at.arrived()) return least;
  Congestion congestion(net, s, rule.measure);
  congestion.begin(router);
  const u32 h = T::distance(at, router, at.to);
  T::paths(at, rule, Leg{kUndecided, kNone}, [&](Leg path) {
    const bool minimal = path.phase == kMinimal;
    const u32 hops = minimal ? h : T::distance(at, router, path.middle) + T::distance(at, path.middle, at.to);
    const Hop hop = hop_on<T>(at, rule, congestion, path);
    if (hop.port != port || hop.vc_class != vc_class) return;
    const double flits = congestion.of(router, port, vc_class);
    const double weight = minimal ? rule.minimal(h, flits) : rule.nonminimal(h, hops, flits);
    if (!(weight >= least)) least = weight;
  });
  return least;
}

}  // namespace flitgym::routing
