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
void list_towards(const DragonflyPlus& df, const Rule& rule, u32 middle, const Position& at, Ports& ports) {
  ports.count = 0;
  const u32 group = rule.group(df, middle);
  if (at.group == group) {
    if (rule.by_leaf) ports.add(middle % df.size());
    else
      for (u32 k = 0; k < df.leaves; k++) ports.add(k);
  } else if (at.leaf) {
    df.each_up(at.router, group, [&](u32 k) { ports.add(k); });
  } else {
    df.each_across(at.router, group, [&](u32 k) { ports.add(k); });
  }
}

// Draws the rule's candidates, and returns the one whose path begins with the least congested port.
u32 best_middle(const Network& net, const Congestion& congestion, const DragonflyPlus& df, const Rule& rule,
                const Packet& p, const Position& at, Best& best) {
  u32 chosen = kNone;
  Ports ports;
  for (u32 n = 0; n < rule.candidates; n++) {
    const u32 middle = draw_middle(df, rule, at, route_draw(net, p, n));
    if (middle == kNone) break;
    list_towards(df, rule, middle, at, ports);
    const Best found = least_congested(congestion, p, at.router, ports, 0);
    if (chosen == kNone || found.congestion < best.congestion) chosen = middle, best = found;
  }
  return chosen;
}

// At the spine of the source group: a third group to which the spine has a link, by the least congested one.
u32 middle_beyond(const Congestion& congestion, const DragonflyPlus& df, const Packet& p, const Position& at,
                  Best& best) {
  Ports ports;
  list_detours(df, p, at, ports);
  best = least_congested(congestion, p, at.router, ports, 0);
  return best.port == kNone ? kNone : df.group_beyond(at.router, best.port);
}

// Decides at the source leaf, or with PAR again at the spine of the source group.
void decide(const Network& net, const Congestion& congestion, const DragonflyPlus& df, const Rule& rule,
            const Position& at, Packet& p, u32& intermediate) {
  const bool first = p.phase == kUndecided;
  p.phase = kMinimal;
  if (at.source_group == at.to_group) return;
  Best detour;
  const u32 middle =
      first ? best_middle(net, congestion, df, rule, p, at, detour) : middle_beyond(congestion, df, p, at, detour);
  if (middle == kNone) return;
  if (rule.decision != Decision::kAlways) {
    Ports ports;
    list_onward(df, at, ports);
    const Best minimal = least_congested(congestion, p, at.router, ports, 0);
    const double hops = rule.hop_weighted ? kMinimalHops : 1, more = rule.hop_weighted ? kMostHops : 1;
    if (!rule.diverts(minimal.congestion * hops, detour.congestion * more)) return;
  }
  intermediate = middle;
  take_detour(p);
}

Hop next_hop(const Congestion& congestion, const DragonflyPlus& df, const Rule& rule, const Position& at, Packet& p,
             u32 intermediate) {
  Ports ports;
  // The first spine of the third group begins the second leg if it has a link to the destination's group.
  if (p.phase == kToIntermediate && at.in_third_group()) {
    if (at.leaf) p.phase = kFromIntermediate;
    else if (!rule.by_leaf) {
      list_onward(df, at, ports);
      if (ports.count > 0) p.phase = kFromIntermediate;
    }
  }
  if (p.phase == kToIntermediate) {
    list_towards(df, rule, intermediate, at, ports);
    return {least_congested(congestion, p, at.router, ports, 0).port, 0};
  }
  const u32 vc_class = onward_class(p, at);
  list_onward(df, at, ports);
  return {least_congested(congestion, p, at.router, ports, vc_class).port, vc_class};
}

void route(const Network& net, State& s, Batch& b) {
  const DragonflyPlus& df = as_dragonfly_plus(net);
  const auto& rule = static_cast<const Rule&>(*net.routing);
  u32* const intermediates = rule.intermediate.of(s);
  Congestion congestion(net, s, rule.measure);
  for (u32 i = 0; i < b.count; i++) {
    Packet& p = s.packets[b.packet[i]];
    const Position at = position(net, df, p, b.router[i]);
    if (at.router == at.to) {
      choose(b, i, ejection(net, p));
      continue;
    }
    const bool again = rule.decision == Decision::kProgressive && p.phase == kMinimal && at.at_home() && !at.leaf;
    congestion.begin(at.router);
    if (p.phase == kUndecided || again) decide(net, congestion, df, rule, at, p, intermediates[b.packet[i]]);
    const Hop hop = next_hop(congestion, df, rule, at, p, intermediates[b.packet[i]]);
    congestion.promise(hop, p.flits);
    choose(b, i, hop);
  }
}

std::shared_ptr<Rule> make_rule(const Params& params, Network& net, Decision decision, bool by_leaf) {
  auto rule = std::make_shared<Rule>();
  rule->decision = decision;
  rule->by_leaf = by_leaf;
  rule->measure = allocating_measure_of(params, net);
  rule->intermediate = declare_intermediate(net, !by_leaf);
  return rule;
}

RoutingFacts facts_of(const Rule& rule) {
  RoutingFacts facts{kClasses, kMostHops};
  facts.sequential = rule.measure.sequential;
  return facts;
}

template <bool kByLeaf>
RoutingFacts setup_valiant(const Params& params, Network& net, std::shared_ptr<const ComponentData>& data) {
  const auto rule = make_rule(params, net, Decision::kAlways, kByLeaf);
  data = rule;
  return facts_of(*rule);
}

template <bool kByLeaf, Decision kDecision>
RoutingFacts setup_ugal(const Params& params, Network& net, std::shared_ptr<const ComponentData>& data) {
  const auto rule = make_rule(params, net, kDecision, kByLeaf);
  rule->threshold = params.real("threshold");
  rule->bias_flits = params.real("bias_flits");
  rule->hop_weighted = params.boolean("hop_weighted");
  rule->candidates = params.count("candidates");
  data = rule;
  return facts_of(*rule);
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
  spec.candidates = every_path;
  spec.agent_can_choose = false;  // the relation `fpar` offers the same candidates
  return spec;
}

const Register<RoutingSpec> valiant_group(spec_of({
    .name = "valiant_group",
    .summary = "through a random group (VALg)",
    .params = {congestion_param(), congestion_scope_param("port"), allocation_param("greedy")},
    .setup = setup_valiant<false>,
    .route = nullptr,
}));
const Register<RoutingSpec> valiant_router(spec_of({
    .name = "valiant_router",
    .summary = "through a random leaf of another group (VALn)",
    .params = {congestion_param(), congestion_scope_param("port"), allocation_param("greedy")},
    .setup = setup_valiant<true>,
    .route = nullptr,
}));
const Register<RoutingSpec> ugal_group(spec_of({
    .name = "ugal_group",
    .summary = "minimal or through a random group, by the queues of the source leaf (UGALg)",
    .params = ugal_params(),
    .setup = setup_ugal<false, Decision::kSource>,
    .route = nullptr,
}));
const Register<RoutingSpec> ugal_router(spec_of({
    .name = "ugal_router",
    .summary = "minimal or through a random leaf of another group, by the queues of the source leaf (UGALn)",
    .params = ugal_params(),
    .setup = setup_ugal<true, Decision::kSource>,
    .route = nullptr,
}));
const Register<RoutingSpec> par(spec_of({
    .name = "par",
    .summary = "UGALg, with a second decision at the spine of the source group (PAR)",
    .params = ugal_params(),
    .setup = setup_ugal<false, Decision::kProgressive>,
    .route = nullptr,
}));

}  // namespace

}  // namespace flitgym::routing::dragonfly_plus::two_legs
