// One declaration per routing. A struct R says which candidates a packet has, and how one of them is selected:
//   struct Rule : ComponentData   its parameters, and the CongestionMeasure `measure` if it compares queues
//   offer(at, rule, out)          calls out(port, vc_class, fact) for each candidate of a packet that is not yet at its
//                                 last router. A fact is data for the selection, such as hops to go; it may be left out
//   weight(at, rule, congestion, hop, fact)
//                                 the candidate of least weight is taken; equal candidates take turns
//   select(at, rule, congestion, offered)
//                                 instead of a weight: the index of the candidate that is taken
//   begin(at, rule)               optional: called first for each packet, also at its last router
// The functions of a RoutingSpec or RelationSpec follow from it. offer() alone is a relation.
#pragma once

#include "simcore/routing/congestion.hpp"
#include "simcore/routing/relation.hpp"

namespace flitgym::routing {

struct NoFact {};

// The candidates of a packet, in the order in which they were offered.
template <class Fact = NoFact>
struct Offered {
  u32 count = 0;
  Hop hop[2 * kMaxRadix];
  Fact fact[2 * kMaxRadix];
  void operator()(u32 port, u32 vc_class, Fact of_port = {}) {
    hop[count] = {port, vc_class};
    fact[count++] = of_port;
  }
  u32 operator[](u32 k) const { return hop[k].port; }
  // The index of the first candidate with this port; `count` if there is none.
  u32 find(u32 port) const {
    u32 k = 0;
    while (k < count && hop[k].port != port) k++;
    return k;
  }
};

template <class R>
inline const typename R::Rule& rule_of(const Network& net) {
  return static_cast<const typename R::Rule&>(*net.relation);
}
template <class Rule>
inline const CongestionMeasure& measure_in(const Rule& rule) {
  static const CongestionMeasure none{};
  if constexpr (requires { rule.measure; }) return rule.measure;
  else return none;
}

template <class R>
auto offered_by() {
  if constexpr (requires { typename R::Fact; }) return Offered<typename R::Fact>{};
  else return Offered<>{};
}
template <class R>
using OfferedBy = decltype(offered_by<R>());

// The index at which a packet begins to compare n equal candidates. It rotates by packet and differs between routers.
// If all routers used the same turn for a packet, packets would use only few of the minimal paths.
inline u32 turn_of(const Packet& p, u32 router, u32 n) { return (p.source + p.sequence + router) % n; }

template <class R>
inline u32 lightest(const Head& at, const typename R::Rule& rule, const Congestion& congestion,
                    const OfferedBy<R>& offered) {
  const auto weight = [&](u32 k) { return R::weight(at, rule, congestion, offered.hop[k], offered.fact[k]); };
  u32 best = turn_of(at.packet, at.router, offered.count);
  auto least = weight(best);
  for (u32 n = 1, k = best; n < offered.count; n++) {
    k = k + 1 < offered.count ? k + 1 : 0;
    if (const auto other = weight(k); other < least) least = other, best = k;
  }
  return best;
}

template <class R>
static void route_declared(const Network& net, State& s, Batch& b) {
  const auto& rule = rule_of<R>(net);
  if constexpr (requires(const Head& at) { R::begin(at, rule); })
    for (u32 i = 0; i < b.count; i++) R::begin(head(net, s, b, i), rule);
  OfferedBy<R> offered;
  route_by_congestion(net, s, b, measure_in(rule), [&](const Head& at, const Congestion& congestion) -> Hop {
    offered.count = 0;
    R::offer(at, rule, offered);
    if (offered.count == 0) return {kNone, 0};  // only a restored snapshot can hold such a packet
    if constexpr (requires { R::select(at, rule, congestion, offered); })
      return offered.hop[R::select(at, rule, congestion, offered)];
    else return offered.hop[lightest<R>(at, rule, congestion, offered)];
  });
}

template <class R>
static void candidates_declared(const Network& net, State& s, Batch& b) {
  const auto& rule = rule_of<R>(net);
  list_candidates(net, s, b, [&](const Head& at, auto&& offer) {
    R::offer(at, rule, [&](u32 port, u32 vc_class, const auto&...) { offer(port, vc_class); });
  });
}

template <class R>
RoutingSpec declared(RoutingSpec spec) {
  spec.route = route_declared<R>;
  spec.candidates = candidates_declared<R>;
  return spec;
}

}  // namespace flitgym::routing
