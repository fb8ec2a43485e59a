// VAL, UGAL and PAR on a Dragonfly+. A detour goes through a random third group. With valiant_group, ugal_group and par
// the packet goes on across where the first spine of that group has a link to the destination's group. Otherwise it
// goes down to the least congested leaf and up again. With valiant_router and ugal_router it always goes through a
// random leaf. The detours then use all links up.
//
// valiant   every packet to another group takes a detour.
// ugal      the source leaf compares the congestion of its least congested ports to the spines of both paths.
// par       the spine of the source group decides again for a packet that is still minimal, among its own links
//           (progressive: Jiang, Kim, Dally, ISCA 2009).
#include "routing/two_legs.hpp"
#include "routing/dragonfly_plus/paths.hpp"

namespace flitgym::routing::dragonfly_plus::two_legs {

enum class Decision : u8 { kAlways, kSource, kProgressive };

struct LegsRule : Diversion {
  bool by_leaf = false;  // the intermediate is a leaf, else a group
  CongestionMeasure measure;
  u32 group(const DragonflyPlus& df, u32 middle) const { return by_leaf ? df.group(middle) : middle; }
};

// A random group, or leaf, outside the groups of source and destination; kNone if there is none.
static u32 draw_middle(const DragonflyPlus& df, const LegsRule& rule, const Position& at, u64 bits) {
  if (df.g < 3) return kNone;
  const u32 size = rule.by_leaf ? df.leaves : 1, n = below(bits, (df.g - 2) * size);
  const u32 group = outside(n / size, at.source_group, at.to_group);
  return rule.by_leaf ? group * df.size() + n % size : group;
}

// Ports to the intermediate: up at a leaf of the source group, across at a spine of it, down at a spine of the third.
template <class Out>
static void offer_towards(const Position& at, const LegsRule& rule, u32 middle, Out&& out) {
  const DragonflyPlus& df = at.df;
  const u32 group = rule.group(df, middle);
  const auto offer = [&](u32 k) { out(k, 0u); };
  if (at.group == group) {
    if (rule.by_leaf) offer(middle % df.size());
    else
      for (u32 k = 0; k < df.leaves; k++) offer(k);
  } else if (at.leaf) {
    df.each_up(at.router, group, offer);
  } else {
    df.each_across(at.router, group, offer);
  }
}

// Draws the rule's candidates, and returns the one whose path begins with the least congested port.
static u32 best_middle(const Position& at, const LegsRule& rule, const Congestion& congestion, Best& best) {
  u32 chosen = kNone;
  for (u32 n = 0; n < rule.candidates; n++) {
    const u32 middle = draw_middle(at.df, rule, at, route_draw(at.net, at.packet, n));
    if (middle == kNone) break;
    Offered<> ports;
    offer_towards(at, rule, middle, ports);
    const Best found = least_congested(at, congestion, ports);
    if (chosen == kNone || found.congestion < best.congestion) chosen = middle, best = found;
  }
  return chosen;
}

// At the spine of the source group: a third group to which the spine has a link, by the least congested one.
static u32 middle_beyond(const Position& at, const Congestion& congestion, Best& best) {
  Offered<> ports;
  offer_detours(at, ports);
  best = least_congested(at, congestion, ports);
  return ports.count == 0 ? kNone : at.df.group_beyond(at.router, best.hop.port);
}

template <Decision kDecision> struct Legs {
  struct Rule : LegsRule {
    double weight(const Network&, State&, u32 packet, u32 router, u32 port, u32 vc_class) const override;
  };
  // At the source leaf, or with PAR again at the spine of the source group.
  static bool decides(const Head& from) {
    const Position at(from);
    const bool again = kDecision == Decision::kProgressive && at.packet.phase == kMinimal && at.at_home() && !at.leaf;
    return !at.arrived() && (at.packet.phase == kUndecided || again);
  }
  static Leg decide(const Head& from, const Rule& rule, const Congestion& congestion, const Leg& now) {
    const Position at(from);
    const Leg minimal{kMinimal, now.middle};
    if (at.source_group == at.to_group) return minimal;
    Best detour;
    const u32 middle =
        now.phase == kUndecided ? best_middle(at, rule, congestion, detour) : middle_beyond(at, congestion, detour);
    if (middle == kNone) return minimal;
    if (kDecision != Decision::kAlways) {
      Offered<> onward;
      offer_onward(at, onward);
      const Best direct = least_congested(at, congestion, onward);
      const double hops = rule.hop_weighted ? kMinimalHops : 1, more = rule.hop_weighted ? kMostHops : 1;
      if (!rule.diverts(direct.congestion * hops, detour.congestion * more)) return minimal;
    }
    return {kToIntermediate, middle};
  }
  // The first spine of the third group begins the second leg if it has a link to the destination's group.
  static void hops(const Head& from, const Rule& rule, Leg& leg, Offered<>& out) {
    const Position at(from);
    if (at.arrived()) return out(at.net.terminal_port[at.packet.destination], kAnyClass);
    const bool may_end = at.in_third_group() && (at.leaf || !rule.by_leaf);
    if (leg.phase != kToIntermediate || may_end) offer_onward(at, out);
    if (leg.phase == kToIntermediate && out.count > 0) leg.phase = kFromIntermediate;
    if (leg.phase == kToIntermediate) offer_towards(at, rule, leg.middle, out);
  }
  static u32 pick(const Head& at, const Rule&, const Congestion& congestion, const Offered<>& offered) {
    return least_congested(at, congestion, offered).index;
  }
};

// The weight of the minimal path, or of the drawn detours, that begins with a port.
template <Decision kDecision>
double Legs<kDecision>::Rule::weight(const Network& net, State& s, u32 packet, u32 router, u32 port,
                                     u32 vc_class) const {
  const Position at(head_of(net, s, packet, router));
  const double none = ComponentData::weight(net, s, packet, router, port, vc_class);
  if (kDecision == Decision::kAlways || !decides(at)) return none;
  Congestion congestion(net, s, measure);
  congestion.begin(router);
  const double flits = congestion.of(router, port, vc_class);
  Offered<> onward, detours;
  offer_onward(at, onward);
  if (onward.find(port) < onward.count) return flits * (hop_weighted ? kMinimalHops : 1);
  const bool first = at.packet.phase == kUndecided;
  if (!first) offer_detours(at, detours);
  for (u32 n = 0; first && n < candidates && at.df.g > 2; n++)
    offer_towards(at, *this, draw_middle(at.df, *this, at, route_draw(net, at.packet, n)), [&](u32 k, u32) {
      if (k == port) detours.count = 0, detours(k, 0);
    });
  return detours.find(port) < detours.count ? flits * (hop_weighted ? kMostHops : 1) : none;
}

template <bool kByLeaf, Decision kDecision>
static RoutingFacts setup(const Params& params, Network& net, typename Legs<kDecision>::Rule& rule) {
  rule.by_leaf = kByLeaf;
  rule.measure = measure_of(params, net);
  rule.intermediate = declare_intermediate(net, !kByLeaf);
  if (kDecision != Decision::kAlways) read_diversion(params, rule);
  return {kClasses, kMostHops};
}

template <bool kByLeaf, Decision kDecision>
static RoutingSpec spec_of(const char* name, const char* summary) {
  RoutingSpec spec{.name = name, .summary = summary};
  spec.topologies = {"dragonfly_plus"};
  spec.params = kDecision == Decision::kAlways ? std::vector{congestion_param(), congestion_scope_param("port")}
                                               : diversion_params(2, false);
  spec.params.push_back(allocation_param("greedy"));
  spec.setup = with_rule<setup<kByLeaf, kDecision>>;
  spec.route = legs_route<Legs<kDecision>>;
  spec.candidates = list_paths<true>;
  spec.agent_can_choose = false;  // the relation `fpar` offers the same candidates
  return spec;
}

const Register<RoutingSpec> valiant_group(spec_of<false, Decision::kAlways>("valiant_group",
                                                                            "through a random group (VALg)"));
const Register<RoutingSpec> valiant_router(
    spec_of<true, Decision::kAlways>("valiant_router", "through a random leaf of another group (VALn)"));
const Register<RoutingSpec> ugal_group(spec_of<false, Decision::kSource>(
    "ugal_group", "minimal or through a random group, by the queues of the source leaf (UGALg)"));
const Register<RoutingSpec> ugal_router(spec_of<true, Decision::kSource>(
    "ugal_router", "minimal or through a random leaf of another group, by the queues of the source leaf (UGALn)"));
const Register<RoutingSpec> par(spec_of<false, Decision::kProgressive>(
    "par", "UGALg, with a second decision at the spine of the source group (PAR)"));

}  // namespace flitgym::routing::dragonfly_plus::two_legs
