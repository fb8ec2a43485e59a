// FPAR: fully progressive adaptive routing (Shpiner et al., HiPINEB 2017). Every router up to the third group decides
// by the queues that it sees. Onward ports have priority: the packet takes the least congested one if its queue has at
// most `threshold_flits`. Otherwise it takes the least congested detour port, under the same condition. If all of them
// are congested, it takes the least congested onward port.
//
// In the paper, spines send notifications about congested global links to the leaves of their group, which then avoid
// these spines. With notifications=instant a leaf counts the least congested link from the spine to the destination's
// group, at the same moment. Differences from the paper: notifications take no time and no bandwidth, and they do not
// cross groups. A packet to a third group takes any link there; the paper leaves this choice open. Flits in flight do
// not count as a queue.
#include "routing/dragonfly_plus/paths.hpp"

namespace flitgym::routing::dragonfly_plus::fpar {

struct Rule : ComponentData {
  u32 threshold_flits = 0;
  bool notified = false;
  CongestionMeasure measure;
  double weight(const Network&, State&, u32 packet, u32 router, u32 port, u32 vc_class) const override;
};

// Flits that wait at a port. Used slots downstream include the flits and credits of a round trip, which a link at full
// rate has in flight. They do not count.
static u32 waiting(const Network& net, const Rule& rule, u32 port, u32 flits) {
  if (rule.measure.parts == Occupancy::kOutputQueue) return flits;
  const Channel& channel = net.channels[port];
  const u32 cycles = net.hop_cycles(port) + net.delays[net.channels[channel.peer].credit_line];
  const u32 in_flight = cycles / channel.flit_cycles;
  return flits > in_flight ? flits - in_flight : 0;
}

// Flits that wait at a spine's best link to the destination's group.
static u32 beyond_spine(const Position& at, const Rule& rule, u32 port) {
  const u32 spine = at.net.next_router(at.net.port(at.router, port));
  u32 least = ~0u;
  at.df.each_across(spine, at.to_group, [&](u32 k) {
    const u32 across = at.net.port(spine, k);
    least = std::min(least, waiting(at.net, rule, across, rule.measure.of(at.net, at.s, across, 0)));
  });
  return least;
}

// Flits ahead of a packet. `notified`: a leaf counts the spine's queue where it is the longer one.
static u32 ahead(const Position& at, const Congestion& congestion, const Rule& rule, const Hop& hop, bool notified) {
  const u32 flits = waiting(at.net, rule, at.net.port(at.router, hop.port), congestion.of(at.router, hop));
  return notified ? std::max(flits, beyond_spine(at, rule, hop.port)) : flits;
}

// The port with the fewest flits ahead.
static Best shortest(const Position& at, const Congestion& congestion, const Rule& rule, const Offered<>& ports,
                     bool notified) {
  Best best;
  for (u32 n = 0; n < ports.count && best.congestion > 0; n++) {
    const Hop& hop = ports.hop[(turn_of(at.packet, at.router, ports.count) + n) % ports.count];
    if (const u32 flits = ahead(at, congestion, rule, hop, notified); flits < best.congestion) best = {hop, flits};
  }
  return best;
}

double Rule::weight(const Network& net, State& s, u32 packet, u32 router, u32 port, u32 vc_class) const {
  const Position at(head_of(net, s, packet, router));
  Congestion congestion(net, s, measure);
  congestion.begin(router);
  Offered<> onward;
  offer_onward(at, onward);
  const bool leads_on = onward.find(port) < onward.count;
  return ahead(at, congestion, *this, {port, vc_class}, leads_on && notified && at.leaf && !at.there());
}

static void route(const Network& net, State& s, Batch& b) {
  const auto& rule = static_cast<const Rule&>(*net.relation);
  route_by_congestion(net, s, b, rule.measure, [&](const Head& from, const Congestion& congestion) {
    const Position at(from);
    Offered<> onward, detours;
    offer_onward(at, onward);
    const Best best = shortest(at, congestion, rule, onward, rule.notified && at.leaf && !at.there());
    if (best.congestion <= rule.threshold_flits) return best.hop;
    offer_detours(at, detours);
    const Best other = shortest(at, congestion, rule, detours, false);
    const bool leaves = best.hop.port == kNone || other.congestion <= rule.threshold_flits;
    return leaves && other.hop.port != kNone ? other.hop : best.hop;
  });
}

static RoutingFacts setup(const Params& params, Network& net, Rule& rule) {
  rule.threshold_flits = params.count("threshold_flits");
  rule.notified = params.text("notifications") == "instant";
  rule.measure = measure_of(params, net);
  return {.classes = kClasses, .max_hops = kMostHops, .remote = rule.notified};
}

const Register<RoutingSpec> entry({
    .name = "fpar",
    .summary = "onward ports with short queues first, then detours, decided anew at every router (FPAR)",
    .topologies = {"dragonfly_plus"},
    .params = {integer(
                   "threshold_flits", 8, 0, 1 << 20, "flits",
                   "waiting flits of a port that do not count as congestion; a round trip of the link is not counted"),
               choice("notifications", "none", {"none", "instant"},
                      "instant = leaves see the queues of the global links of their spines, as an oracle"),
               congestion_param(), congestion_scope_param("port"), allocation_param("greedy")},
    .setup = with_rule<setup>,
    .route = route,
    .candidates = list_paths<true>,
    .widest = true,
});

}  // namespace flitgym::routing::dragonfly_plus::fpar
