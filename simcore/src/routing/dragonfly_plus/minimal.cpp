// MIN on a Dragonfly+: up to a spine with a link to the destination's group, across, and down. Traffic within a group
// goes up to any spine, and down. Several ports are used in turns, by flow, or by the shortest queue. One VC class is
// enough, because packets use channels in the order up, across, down.
#include "routing/dragonfly_plus/paths.hpp"
#include "simcore/routing/paths.hpp"

namespace flitgym::routing::dragonfly_plus::minimal {

namespace {

struct Rule : ComponentData {
  graph::Pick pick = graph::Pick::kPacket;
  CongestionMeasure measure;
};

void route(const Network& net, State& s, Batch& b) {
  const DragonflyPlus& df = as_dragonfly_plus(net);
  const auto& rule = static_cast<const Rule&>(*net.routing);
  Congestion congestion(net, s, rule.measure);
  Ports ports;
  for (u32 i = 0; i < b.count; i++) {
    const Packet& p = s.packets[b.packet[i]];
    const Position at = position(net, df, p, b.router[i]);
    if (at.router == at.to) {
      choose(b, i, ejection(net, p));
      continue;
    }
    congestion.begin(at.router);
    list_onward(df, at, ports);
    u32 port = ports.port[(p.source + p.sequence + at.router) % ports.count];
    if (rule.pick == graph::Pick::kFlow)
      port = ports.port[below(mix64(mix64(u64{p.source} << 32 | p.destination) + at.router), ports.count)];
    else if (rule.pick == graph::Pick::kQueue) port = least_congested(congestion, p, at.router, ports, 0).port;
    congestion.promise({port, 0}, p.flits);
    choose(b, i, {port, 0});
  }
}

void candidates(const Network& net, State& s, Batch& b) {
  const DragonflyPlus& df = as_dragonfly_plus(net);
  list_candidates(net, b, [&](u32 i, auto&& offer) {
    const Packet& p = s.packets[b.packet[i]];
    const Position at = position(net, df, p, b.router[i]);
    if (at.router == at.to) return offer(net.terminal_port[p.destination], kAnyClass);
    Ports ports;
    list_onward(df, at, ports);
    std::sort(ports.port, ports.port + ports.count);
    const u16* const end = std::unique(ports.port, ports.port + ports.count);
    for (const u16* k = ports.port; k != end; k++) offer(*k, 0u);
  });
}

RoutingFacts setup(const Params& params, Network& net, std::shared_ptr<const ComponentData>& data) {
  auto rule = std::make_shared<Rule>();
  rule->pick = graph::pick_of(params);
  rule->measure = allocating_measure_of(params, net);
  rule->measure.sequential &= rule->pick == graph::Pick::kQueue;
  data = rule;
  RoutingFacts facts{1, kMinimalHops};
  facts.minimal = true;
  facts.sequential = rule->measure.sequential;
  return facts;
}

const Register<RoutingSpec> entry([] {
  RoutingSpec spec{
      .name = "minimal",
      .summary = "up, across and down, always (MIN)",
      .topologies = {"dragonfly_plus"},
      .params = {graph::pick_param("packet"), congestion_param("both"), congestion_scope_param("port"),
                 allocation_param()},
      .setup = setup,
      .route = route,
  };
  spec.candidates = candidates;
  return spec;
}());

}  // namespace

}  // namespace flitgym::routing::dragonfly_plus::minimal
