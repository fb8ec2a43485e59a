// DAL: dimensionally adaptive load balancing (Ahn et al., SC 2009). A packet may take any unaligned dimension, directly
// or by a deroute. It takes at most one deroute per dimension, and remembers its deroutes. Two methods avoid deadlock:
//   escape:    Class 0 is used in any order. A head takes a candidate that has room. If none has room, the head may
//              take class 1, on which the packet stays and follows dimension order. A head that finds no room at all
//              requests again in the next cycle. So every head can eventually leave by the escape class (Duato 1993).
//              VC classes 0 and 1.
//   distance:  VC class = hops done: 2 L classes.
#include "routing/hyperx/incremental.hpp"

namespace flitgym::routing::hyperx::dal {

struct Dal {
  struct Rule : WeightRule {
    bool escape = true;
    Kept<u16> derouted;  // bit per dimension in which the packet has been derouted
  };
  static constexpr u32 kEscapeClass = 1;

  static bool on_escape(const Where& at, const Rule& rule) {
    return rule.escape && !at.injected() && at.in_vc % 2 == kEscapeClass;
  }
  // Dimensions in which the packet has been derouted, including the last hop.
  static u32 derouted(const Where& at, const Rule& rule) {
    const u32 k = at.derouted_in();
    return rule.derouted.of(at.s)[at.id] | (k == HyperX::kNoDimension ? 0u : 1u << k);
  }
  static Hop escape_hop(const Where& at) { return {at.hx.dor_port(at.router, at.to, at.packet), kEscapeClass}; }

  static Reach reach(const Where& at, const Rule& rule) {
    const u32 vc_class = rule.escape ? 0u : at.packet.hops;
    return {at.unaligned, at.unaligned & ~derouted(at, rule), vc_class, vc_class};
  }
  // All candidates, whether they have room or not.
  template <class Out>
  static void offer(const Where& at, const Rule& rule, Out&& out) {
    if (!on_escape(at, rule)) offer_reach(at, reach(at, rule), out);
    if (rule.escape) out(escape_hop(at).port, kEscapeClass, false);
  }
};

// The outputs of a router as its heads see them in a cycle. Waiting heads ask again in every cycle, and most of them
// are adjacent in the batch by router, so each output is looked at once.
class Outputs {
 public:
  Outputs(const Network& net, const State& s, const CongestionMeasure& measure) : net_(net), s_(s), measure_(measure) {}
  void at(u32 router) {
    if (router != router_) visit_++, router_ = router;
  }
  struct Output {
    u32 visit = 0;
    u32 room = 0;        // the most in a VC of class 0 that no packet holds
    u32 congestion = 0;  // of class 0, if there is room
  };
  const Output& of(u32 port) {
    Output& out = outputs_[port];
    if (out.visit == visit_) return out;
    const u32 id = net_.port(router_, port);
    out = {visit_, 0, 0};
    const OutputVc* const own = &s_.output_vcs[net_.vc_id(id, 0)];
    const u32* const owners = &s_.owners[net_.vc_id(id, 0)];
    for (u32 vc = 0; vc < net_.vcs; vc += net_.routing_facts.classes)
      if (owners[vc] == kNone) out.room = std::max(out.room, room(net_.router, own[vc]));
    if (out.room > 0) out.congestion = measure_.of(net_, s_, id, 0);
    return out;
  }

 private:
  const Network& net_;
  const State& s_;
  const CongestionMeasure& measure_;
  u32 router_ = kNone, visit_ = 0;
  Output outputs_[kMaxRadix];
};

static void route_or_escape(const Network& net, State& s, Batch& b) {
  const auto& rule = static_cast<const Dal::Rule&>(*net.relation);
  const bool wormhole = net.router.flow_control == FlowControl::kWormhole;
  Outputs outputs(net, s, rule.measure);
  route_by_congestion(net, s, b, rule.measure, [&](const Head& head, const Congestion& congestion) {
    const Where at(head);
    Best best;
    if (!Dal::on_escape(at, rule)) {
      const u32 h = at.h, needed = wormhole ? 1 : at.packet.flits;
      outputs.at(at.router);
      offer_reach(at, Dal::reach(at, rule), [&](u32 port, u32 vc_class, bool deroute) {
        const Outputs::Output& out = outputs.of(port);
        if (out.room < needed) return;
        const double q = rule.measure.sequential ? congestion.of(at.router, port, vc_class) : out.congestion;
        best.consider({port, vc_class}, deroute ? rule.nonminimal(h, h + 1, q) : rule.minimal(h, q), deroute);
      });
    }
    return best.none() ? Dal::escape_hop(at) : best.pick(net, at.packet);
  });
}

// First records the deroute of the last hop, at the router that the hop led to. With `escape` a head may request many
// times, so the record must not depend on the candidate that the head chooses.
static void route(const Network& net, State& s, Batch& b) {
  const auto& rule = static_cast<const Dal::Rule&>(*net.relation);
  u16* const derouted = rule.derouted.of(s);
  for (u32 i = 0; i < b.count; i++)
    derouted[b.packet[i]] = static_cast<u16>(Dal::derouted(Where(head(net, s, b, i)), rule));
  if (rule.escape) route_or_escape(net, s, b);
  else weighted_route<Dal>(net, s, b);
}

static RoutingFacts setup(const Params& params, Network& net, Dal::Rule& rule) {
  read_weight(params, net, rule);
  rule.escape = params.text("deadlock_avoidance") == "escape";
  const u32 dimensions = as_hyperx(net).dimensions;
  if (dimensions > 16)
    throw ConfigError(
        "routing.dal: a packet remembers its deroutes in at most 16 dimensions, but topology.hyperx.widths has ",
        dimensions);
  rule.derouted = declare<u16>(net, {.name = "derouted",
                                     .meaning = "bit per dimension in which the packet has been derouted",
                                     .per = Per::kPacket,
                                     .highest = (1u << dimensions) - 1.0});
  return weighing(rule.escape ? RoutingFacts{2, 2 * dimensions, true} : RoutingFacts{2 * dimensions, 2 * dimensions},
                  rule);
}

const Register<RoutingSpec> entry(incremental<Dal>({
    .name = "dal",
    .summary = "any unaligned dimension, with one weighted deroute in each (DAL)",
    .params = joined(weight_params(),
                     {choice("deadlock_avoidance", "escape", {"escape", "distance"},
                             "escape = an escape VC class in dimension order; distance = a VC class per hop")}),
    .setup = with_rule<setup>,
    .route = route,
    .agent_can_choose = false,  // only route() records the deroutes
}));

}  // namespace flitgym::routing::hyperx::dal
