// VAL and UGAL on any graph: two legs of shortest paths through a random router (Valiant 1982). VAL always takes them.
// UGAL takes them if the queues of the source router favour it (Singh 2005: hops x congestion of the first hop, ties to
// minimal). The VC class is the number of hops done, which only grows. Without failures, the number of classes is
// twice the diameter.
#include "routing/two_legs.hpp"
#include "simcore/routing/paths.hpp"

namespace flitgym::routing::graph::two_legs {

// A random router other than the packet's source and destination router.
static u32 draw_middle(const Head& at, u32 k) {
  if (at.net.routers < 3) return kNone;
  return outside(below(route_draw(at.net, at.packet, k), at.net.routers - 2), at.router, at.to);
}

struct Legs {
  struct Rule : Weights {
    Pick pick = Pick::kPacket;
    CongestionMeasure measure;
    u32 candidates = 1;
    bool always = false;
    Kept<u32> intermediate;
    double weight(const Network& net, State& s, u32 packet, u32 router, u32 port, u32 vc_class) const override {
      return always ? Weights::weight(net, s, packet, router, port, vc_class)
                    : weight_of_paths<Legs>(net, s, packet, router, port, vc_class);
    }
  };
  static bool decides(const Head& at) { return at.packet.phase == kUndecided && !at.arrived(); }
  static u32 distance(const Head& at, u32 from, u32 to) {
    return flitgym::distance(at.net, graph_now(at.net, at.s), from, to);
  }
  static bool cut_off(const Head& at, u32 middle) {
    return distance(at, at.router, middle) > graph_now(at.net, at.s).diameter;
  }
  template <class Visit>
  static void paths(const Head& at, const Rule& rule, const Leg& now, Visit&& visit) {
    bool any = false;
    if (!rule.always) visit(Leg{kMinimal, now.middle});
    for (u32 k = 0; k < rule.candidates; k++)
      if (const u32 middle = draw_middle(at, k); middle != kNone && !cut_off(at, middle))
        visit(Leg{kToIntermediate, middle}), any = true;
    if (rule.always && !any) visit(Leg{kMinimal, now.middle});
  }
  template <class Out>
  static void hops(const Head& at, const Rule&, Leg& leg, Out&& out) {
    if (leg.phase == kToIntermediate && (at.router == leg.middle || (at.net.damaged && cut_off(at, leg.middle))))
      leg.phase = kFromIntermediate;
    const u32 to = leg.phase == kToIntermediate ? leg.middle : at.to;
    if (at.router == to) out(at.net.terminal_port[at.packet.destination], kAnyClass);
    else offer_minimal(at, to, out);
  }
  static u32 pick(const Head& at, const Rule& rule, const Congestion& congestion, const Offered<>& offered) {
    return pick_one(rule.pick, at, congestion, offered);
  }
  static Leg decide(const Head& at, const Rule& rule, const Congestion& congestion, const Leg& now) {
    return rule.always ? first_path<Legs>(at, rule, now) : lightest_path<Legs>(at, rule, congestion, now);
  }
};

template <bool kAlways>
static RoutingFacts setup(const Params& params, Network& net, Legs::Rule& rule) {
  rule.always = kAlways;
  rule.pick = pick_of(params);
  rule.measure = measure_of(params, net);
  if (kAlways) {
    rule.measure.sequential &= rule.pick == Pick::kQueue;
  } else {
    rule.bias = params.real("bias_flits");
    rule.candidates = params.count("candidates");
  }
  rule.intermediate = declare_intermediate(net);
  need_distances(net);
  return class_per_hop(net, longest_path(net));
}

const Register<RoutingSpec> valiant(routing::two_legs<Legs>({
    .name = "valiant",
    .summary = "shortest paths through a random router (VAL)",
    .params = {pick_param("packet"), congestion_param("both"), congestion_scope_param("port"), allocation_param()},
    .setup = with_rule<setup<true>>,
    .graph = true,
}));
const Register<RoutingSpec> ugal(routing::two_legs<Legs>({
    .name = "ugal",
    .summary = "a shortest path, or two through a random router, by the queues of the source router (UGAL)",
    .params = {pick_param("packet"),
               real("bias_flits", 0, -1e6, 1e6, "flits x hops",
                    "added to the weight of the path through a random router"),
               congestion_param("both"), congestion_scope_of_paths_param("port"), allocation_param("greedy"),
               integer("candidates", 1, 1, 15, "", "number of random intermediates compared")},
    .setup = with_rule<setup<false>>,
    .graph = true,
}));

}  // namespace flitgym::routing::graph::two_legs
