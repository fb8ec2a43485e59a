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

namespace {

struct Rule : ComponentData {
  u32 threshold_flits = 0;
  bool notified = false;
  CongestionMeasure measure;
};

// Flits that wait at a port. Used slots downstream include the flits and credits of a round trip, which a link at full
// rate has in flight. They do not count.
u32 waiting(const Network& net, const Rule& rule, u32 port, u32 flits) {
  if (rule.measure.parts == Occupancy::kOutputQueue) return flits;
  const Channel& channel = net.channels[port];
  const u32 cycles = net.hop_cycles(port) + net.delays[net.channels[channel.peer].credit_line];
  const u32 in_flight = cycles / channel.flit_cycles;
  return flits > in_flight ? flits - in_flight : 0;
}

// Flits that wait at a spine's best link to the destination's group.
u32 beyond_spine(const Network& net, const State& s, const DragonflyPlus& df, const Rule& rule, const Position& at,
                 u32 port) {
  const u32 spine = net.next_router(net.port(at.router, port));
  u32 least = ~0u;
  df.each_across(spine, at.to_group, [&](u32 k) {
    const u32 across = net.port(spine, k);
    least = std::min(least, waiting(net, rule, across, rule.measure.of(net, s, across, 0)));
  });
  return least;
}

// The port with the fewest waiting flits. The search begins at a port that rotates by packet and differs between
// routers. `notified`: a leaf counts the spine's queue where it is the longer one.
Best shortest(const Network& net, const State& s, const Congestion& congestion, const DragonflyPlus& df,
              const Rule& rule, const Packet& p, const Position& at, const Ports& ports, u32 vc_class, bool notified) {
  Best best;
  for (u32 n = 0; n < ports.count && best.congestion > 0; n++) {
    const u32 k = ports.port[(p.source + p.sequence + at.router + n) % ports.count];
    u32 flits = waiting(net, rule, net.port(at.router, k), congestion.of(at.router, k, vc_class));
    if (notified) flits = std::max(flits, beyond_spine(net, s, df, rule, at, k));
    if (flits < best.congestion) best = {k, flits};
  }
  return best;
}

void route(const Network& net, State& s, Batch& b) {
  const DragonflyPlus& df = as_dragonfly_plus(net);
  const auto& rule = static_cast<const Rule&>(*net.routing);
  Congestion congestion(net, s, rule.measure);
  Ports onward, detours;
  for (u32 i = 0; i < b.count; i++) {
    const Packet& p = s.packets[b.packet[i]];
    const Position at = position(net, df, p, b.router[i]);
    if (at.router == at.to) {
      choose(b, i, ejection(net, p));
      continue;
    }
    congestion.begin(at.router);
    list_onward(df, at, onward);
    const u32 vc_class = onward_class(p, at);
    const bool notified = rule.notified && at.leaf && !at.there();
    const Best best = shortest(net, s, congestion, df, rule, p, at, onward, vc_class, notified);
    if (best.congestion <= rule.threshold_flits) {
      congestion.promise({best.port, vc_class}, p.flits);
      choose(b, i, {best.port, vc_class});
      continue;
    }
    list_detours(df, p, at, detours);
    const Best other = shortest(net, s, congestion, df, rule, p, at, detours, 0, false);
    const bool detour = other.port != kNone && (best.port == kNone || other.congestion <= rule.threshold_flits);
    const Hop hop = detour ? Hop{other.port, 0} : Hop{best.port, vc_class};
    congestion.promise(hop, p.flits);
    choose(b, i, hop);
  }
}

RoutingFacts setup(const Params& params, Network& net, std::shared_ptr<const ComponentData>& data) {
  auto rule = std::make_shared<Rule>();
  rule->threshold_flits = params.count("threshold_flits");
  rule->notified = params.text("notifications") == "instant";
  rule->measure = allocating_measure_of(params, net);
  data = rule;
  RoutingFacts facts{kClasses, kMostHops};
  facts.remote = rule->notified;
  facts.sequential = rule->measure.sequential;
  return facts;
}

const Register<RoutingSpec> entry([] {
  RoutingSpec spec{
      .name = "fpar",
      .summary = "onward ports with short queues first, then detours, decided anew at every router (FPAR)",
      .topologies = {"dragonfly_plus"},
      .params =
          {integer("threshold_flits", 8, 0, 1 << 20, "flits",
                   "waiting flits of a port that do not count as congestion; a round trip of the link is not counted"),
           choice("notifications", "none", {"none", "instant"},
                  "instant = leaves see the queues of the global links of their spines, as an oracle"),
           congestion_param(), congestion_scope_param("port"), allocation_param("greedy")},
      .setup = setup,
      .route = route,
  };
  spec.candidates = every_path;
  spec.widest = true;
  return spec;
}());

}  // namespace

}  // namespace flitgym::routing::dragonfly_plus::fpar
