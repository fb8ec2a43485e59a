// VAL, UGAL and PAR on a Dragonfly+. A detour goes through a random third group. With valiant_group, ugal_group and par
// the packet goes on across where the first spine of that group has a link to the destination's group. Otherwise it
// goes down to the least congested leaf and up again. With valiant_router and ugal_router it always goes through a
// random leaf. The detours then use all links up.
//
// valiant   every packet to another group takes a detour.
// ugal      the source leaf compares the congestion of its least congested ports to the spines of both paths.
// par       the spine of the source group decides again for a packet that is still minimal, among its own links
//           (progressive: Jiang, Kim, Dally, ISCA 2009).
#include "routing/dragonfly_plus/paths.hpp"

namespace flitgym::routing::dragonfly_plus::two_legs {

namespace {

enum class Decision : u8 { kAlways, kSource, kProgressive };

struct Rule : ComponentData {
  Decision decision = Decision::kAlways;
  bool by_leaf = false;
  double threshold = 0, bias_flits = 0;
  bool hop_weighted = false;
  u32 candidates = 1;
  CongestionMeasure measure;
  Kept<u32> intermediate;  // group, or with by_leaf the leaf

  u32 group(const DragonflyPlus& df, u32 middle) const { return by_leaf ? df.group(middle) : middle; }
  bool diverts(double minimal, double detour) const {
    return minimal > static_cast<double>(static_cast<i64>(threshold * detour)) + bias_flits;
  }
};

// A random group, or leaf, outside the groups of source and destination; kNone if there is none.
u32 draw_middle(const DragonflyPlus& df, const Rule& rule, const Position& at, u64 bits) {
  if (df.g < 3) return kNone;
  const u32 low = std::min(at.source_group, at.to_group), high = std::max(at.source_group, at.to_group);
  const u32 n = below(bits, (df.g - 2) * (rule.by_leaf ? df.leaves : 1));
  u32 group = rule.by_leaf ? n / df.leaves : n;
  if (group >= low) group++;
  if (group >= high) group++;
  return rule.by_leaf ? group * df.size() + n % df.leaves : group;
}

// Ports to the intermediate: up at a leaf of the source group, across at a spine of it, down at a spine of the third.
template <class Out>
void offer_towards(const Position& at, const Rule& rule, u32 middle, Out&& out) {
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
u32 best_middle(const Position& at, const Rule& rule, const Congestion& congestion, Best& best) {
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
u32 middle_beyond(const Position& at, const Congestion& congestion, Best& best) {
  Offered<> ports;
  offer_detours(at, ports);
  best = least_congested(at, congestion, ports);
  return ports.count == 0 ? kNone : at.df.group_beyond(at.router, best.hop.port);
}

// Decides at the source leaf, or with PAR again at the spine of the source group.
void decide(const Position& at, const Rule& rule, const Congestion& congestion, u32& intermediate) {
  const bool first = at.packet.phase == kUndecided;
  at.packet.phase = kMinimal;
  if (at.source_group == at.to_group) return;
  Best detour;
  const u32 middle = first ? best_middle(at, rule, congestion, detour) : middle_beyond(at, congestion, detour);
  if (middle == kNone) return;
  if (rule.decision != Decision::kAlways) {
    Offered<> onward;
    offer_onward(at, onward);
    const Best minimal = least_congested(at, congestion, onward);
    const double hops = rule.hop_weighted ? kMinimalHops : 1, more = rule.hop_weighted ? kMostHops : 1;
    if (!rule.diverts(minimal.congestion * hops, detour.congestion * more)) return;
  }
  intermediate = middle;
  at.packet.phase = kToIntermediate;
}

void route(const Network& net, State& s, Batch& b) {
  const auto& rule = static_cast<const Rule&>(*net.relation);
  Congestion congestion(net, s, rule.measure);
  for (u32 i = 0; i < b.count; i++) {
    const Position at(head(net, s, b, i));
    if (at.arrived()) {
      choose(b, i, ejection(net, at.packet));
      continue;
    }
    Phase& phase = at.packet.phase;
    u32& intermediate = rule.intermediate.of(s)[at.id];
    const bool again = rule.decision == Decision::kProgressive && phase == kMinimal && at.at_home() && !at.leaf;
    congestion.begin(at.router);
    if (phase == kUndecided || again) decide(at, rule, congestion, intermediate);
    Offered<> ports;
    // The first spine of the third group begins the second leg if it has a link to the destination's group.
    const bool may_end = at.in_third_group() && (at.leaf || !rule.by_leaf);
    if (phase != kToIntermediate || may_end) offer_onward(at, ports);
    if (phase == kToIntermediate && ports.count > 0) phase = kFromIntermediate;
    if (phase == kToIntermediate) offer_towards(at, rule, intermediate, ports);
    const Hop hop = least_congested(at, congestion, ports).hop;
    congestion.promise(hop, at.packet.flits);
    choose(b, i, hop);
  }
}

template <bool kByLeaf, Decision kDecision>
RoutingFacts setup(const Params& params, Network& net, std::shared_ptr<const ComponentData>& data) {
  auto rule = std::make_shared<Rule>();
  rule->decision = kDecision;
  rule->by_leaf = kByLeaf;
  rule->measure = allocating_measure_of(params, net);
  rule->intermediate = declare_intermediate(net, !kByLeaf);
  if (kDecision != Decision::kAlways) {
    rule->threshold = params.real("threshold");
    rule->bias_flits = params.real("bias_flits");
    rule->hop_weighted = params.boolean("hop_weighted");
    rule->candidates = params.count("candidates");
  }
  data = rule;
  return {.classes = kClasses, .max_hops = kMostHops, .sequential = rule->measure.sequential};
}

std::vector<ParamSpec> valiant_params() {
  return {congestion_param(), congestion_scope_param("port"), allocation_param("greedy")};
}
std::vector<ParamSpec> ugal_params() {
  return {
      real("threshold", 2, 0, 1e6, "",
           "the packet takes the non-minimal path if q_min > int(threshold x q_nonmin) + bias_flits"),
      real("bias_flits", 0, -1e6, 1e6, "flits", "added to the non-minimal side of the comparison"),
      flag("hop_weighted", false,
           "multiply each congestion by the router-to-router hops of its path, as textbook UGAL does"),
      integer("candidates", 1, 1, 15, "", "number of random intermediates compared; the least congested is taken"),
      congestion_param(),
      congestion_scope_of_paths_param("hybrid"),
      allocation_param("greedy"),
  };
}

RoutingSpec spec_of(RoutingSpec spec) {
  spec.topologies = {"dragonfly_plus"};
  spec.route = route;
  spec.candidates = list_paths<true>;
  spec.agent_can_choose = false;  // the relation `fpar` offers the same candidates
  return spec;
}

const Register<RoutingSpec> valiant_group(spec_of({
    .name = "valiant_group",
    .summary = "through a random group (VALg)",
    .params = valiant_params(),
    .setup = setup<false, Decision::kAlways>,
}));
const Register<RoutingSpec> valiant_router(spec_of({
    .name = "valiant_router",
    .summary = "through a random leaf of another group (VALn)",
    .params = valiant_params(),
    .setup = setup<true, Decision::kAlways>,
}));
const Register<RoutingSpec> ugal_group(spec_of({
    .name = "ugal_group",
    .summary = "minimal or through a random group, by the queues of the source leaf (UGALg)",
    .params = ugal_params(),
    .setup = setup<false, Decision::kSource>,
}));
const Register<RoutingSpec> ugal_router(spec_of({
    .name = "ugal_router",
    .summary = "minimal or through a random leaf of another group, by the queues of the source leaf (UGALn)",
    .params = ugal_params(),
    .setup = setup<true, Decision::kSource>,
}));
const Register<RoutingSpec> par(spec_of({
    .name = "par",
    .summary = "UGALg, with a second decision at the spine of the source group (PAR)",
    .params = ugal_params(),
    .setup = setup<false, Decision::kProgressive>,
}));

}  // namespace

}  // namespace flitgym::routing::dragonfly_plus::two_legs
