// Clos-AD (Kim, Dally, Abts, ISCA 2007, for the flattened butterfly): UGAL with three changes.
//   1. The intermediate router is one of the closest common ancestors. A detour perturbs only dimensions in which
//      source and destination differ.
//   2. The intermediate router is not drawn but found on the way. In each of those dimensions, in order, a non-minimal
//      packet takes the channel with the shortest queue. A dummy queue represents staying at the present coordinate.
//   3. A router makes its decisions one after the other, and each decision sees the earlier ones (sequential
//      allocation).
// The source router decides as UGAL does. It compares the minimal path with the shortest queue of the first dimension
// in which source and destination differ. A packet can stay at its coordinate only in later dimensions, so a
// non-minimal packet always perturbs the first dimension. If the shortest queue there belongs to a direct link, the
// packet is minimal.
//
// The dummy queue is as long as the mean of the dimension's queues (flitgym's choice). If all queues are equal, staying
// is then as likely as each channel.
//
// Class 0 leads to the intermediate router, in ascending dimensions. Class 1 is used from there on and on minimal
// paths, in dimension order.
#include "routing/hyperx/incremental.hpp"

namespace flitgym::routing::hyperx::clos_ad {

// Calls out(port, vc_class, phase) for each candidate, with the phase of a packet that takes it. An undecided packet
// may take the direct links of the first unaligned dimension on class 1, and the other links of that dimension on class
// 0. A packet on its way to the intermediate router may begin the second leg, by its direct link on class 1. It may
// also take any link of a later unaligned dimension on class 0.
template <class Out>
static void offer(const Head& at, Out&& out) {
  const HyperX& hx = as_hyperx(at.net);
  const u64 difference = hx.difference(at.router, at.to);
  const u32 lowest = hx.first_unaligned(difference);
  if (at.packet.phase == kUndecided)
    return offer_reach(Where(at), {1u << lowest, 1u << lowest, 1, 0}, [&](u32 port, u32 vc_class, bool deroute) {
      out(port, vc_class, deroute ? kToIntermediate : kMinimal);
    });
  const bool detours = at.packet.phase == kToIntermediate;
  out(hx.dor_port(at.router, at.to, at.packet), 1u, detours ? kFromIntermediate : at.packet.phase);
  for (u64 rest = detours ? difference : 0; rest;) {
    const u32 k = hx.first_unaligned(rest), came_by = hx.dimension_of_port[at.in_port];
    rest = hx.without(rest, k);
    if (came_by == HyperX::kNoDimension || k > came_by)
      for (u32 port = hx.base[k]; port < hx.end_of(k); port++) out(port, 0u, kToIntermediate);
  }
}

struct Shortest {
  u32 port;  // kNone: stay
  double congestion;
};

// The shortest queue of dimension k. Ties are broken at random, with a separate draw for each dimension that the packet
// perturbs at this router.
static Shortest shortest(const Head& at, const Congestion& congestion, u32 k, bool may_stay) {
  const HyperX& hx = as_hyperx(at.net);
  Best best;
  double sum = 0;
  for (u32 port = hx.base[k]; port < hx.end_of(k); port++) {
    const double q = congestion.of(at.router, port, 0);
    sum += q;
    best.consider({port, 0}, q, false);
  }
  if (may_stay) best.consider({kNone, 0}, sum / (hx.end_of(k) - hx.base[k]), false);
  return {best.pick(draw(at.net.seed, route_draw(at.net, at.packet, 15), k)).port, best.weight()};
}

// Only the source router compares weights.
struct Rule : WeightRule {
  double weight(const Network& net, State& s, u32 packet, u32 router, u32 port, u32 vc_class) const override {
    return s.packets[packet].hops > 0 ? ComponentData::weight(net, s, packet, router, port, vc_class)
                                      : WeightRule::weight(net, s, packet, router, port, vc_class);
  }
};

static Hop select(const Head& at, const Rule& rule, const Congestion& congestion) {
  const HyperX& hx = as_hyperx(at.net);
  const u64 difference = hx.difference(at.router, at.to);
  const u32 k = hx.first_unaligned(difference), direct = hx.dor_port(at.router, at.to, at.packet);
  if (at.packet.phase == kToIntermediate) {
    // The first of the later dimensions in which the packet does not stay. If it stays in all of them, this router is
    // the intermediate router.
    for (u64 rest = difference; rest;) {
      const u32 next = hx.first_unaligned(rest);
      rest = hx.without(rest, next);
      if (next <= hx.dimension_of_port[at.in_port]) continue;
      if (const u32 port = shortest(at, congestion, next, true).port; port != kNone) return {port, 0};
    }
  } else if (at.packet.phase == kUndecided) {
    const u32 h = hx.distance(difference);
    const Shortest detour = shortest(at, congestion, k, false);
    // The shortest queue is that of a direct link.
    if (detour.port - hx.port_towards(at.router, at.to, k, 0) < hx.links[k]) return {detour.port, 1};
    const double minimal = rule.minimal(h, congestion.of(at.router, direct, 1));
    if (rule.nonminimal(h, 2 * h, detour.congestion) < minimal - kWeightTolerance) return {detour.port, 0};
  }
  return {direct, 1};
}

static void take(const Head& at, const Hop& hop) {
  offer(at, [&, phase = at.packet.phase](u32 port, u32 vc_class, Phase next) {
    if (at.packet.phase == phase && port == hop.port && vc_class == hop.vc_class) at.packet.phase = next;
  });
}

static void route(const Network& net, State& s, Batch& b) {
  const auto& rule = static_cast<const Rule&>(*net.relation);
  route_by_congestion(net, s, b, rule.measure, [&](const Head& at, const Congestion& congestion) {
    const Hop hop = select(at, rule, congestion);
    take(at, hop);
    return hop;
  });
}

static RoutingFacts setup(const Params& params, Network& net, Rule& rule) {
  read_weight(params, net, rule, false);
  return weighing({2, 2 * as_hyperx(net).dimensions}, rule);
}

static void candidates(const Network& net, State& s, Batch& b) {
  list_candidates(net, s, b, [&](const Head& at, auto&& out) {
    offer(at, [&](u32 port, u32 vc_class, Phase) { out(port, vc_class); });
  });
}

static void chosen(const Network& net, State& s, Batch& b, u32 i) {
  if (const Head at = head(net, s, b, i); !at.arrived()) take(at, {b.out_port[i], b.out_class[i]});
}

const Register<RoutingSpec> entry({
    .name = "clos_ad",
    .summary = "minimal or through a common ancestor, by the shortest queues and in sequence (Clos-AD)",
    .topologies = {"hyperx"},
    // The comparison gives a detour twice the hops of the minimal path. A detour has this length if it perturbs every
    // dimension. So `detour_hops` has no effect here.
    .params = without(weight_params("absolute", congestion_scope_param("port"), "sequential"), "detour_hops"),
    .setup = with_rule<setup>,
    .route = route,
    .candidates = candidates,
    .chosen = chosen,
});

}  // namespace flitgym::routing::hyperx::clos_ad
