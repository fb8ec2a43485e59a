// MIN on any graph: at every router a port of a shortest path. If there are several such ports, the choice is in turns,
// by flow or by the shortest queue. The VC class is the number of hops done, which only grows. Without failures, the
// number of classes is the diameter.
#include "simcore/routing/paths.hpp"

namespace flitgym::routing::graph::minimal {

namespace {

struct Rule : ComponentData {
  Pick pick = Pick::kPacket;
  CongestionMeasure measure;
};

void route(const Network& net, State& s, Batch& b) {
  const auto& rule = static_cast<const Rule&>(*net.routing);
  const Graph& graph = graph_now(net, s);
  Congestion congestion(net, s, rule.measure);
  for (u32 i = 0; i < b.count; i++) {
    const Packet& p = s.packets[b.packet[i]];
    const u32 router = b.router[i], to = net.terminal_router[p.destination], vc_class = hop_class(net, p);
    if (router == to) {
      choose(b, i, ejection(net, p));
      continue;
    }
    congestion.begin(router);
    const Hop hop = {pick_minimal(net, graph, rule.pick, congestion, p, router, to, vc_class), vc_class};
    congestion.promise(hop, p.flits);
    choose(b, i, hop);
  }
}

RoutingFacts setup(const Params& params, Network& net, std::shared_ptr<const ComponentData>& data) {
  auto rule = std::make_shared<Rule>();
  rule->pick = pick_of(params);
  rule->measure = allocating_measure_of(params, net);
  rule->measure.sequential &= rule->pick == Pick::kQueue;
  data = rule;
  need_distances(net);
  RoutingFacts facts{hops_in_all(net, 0), hops_in_all(net, 0)};
  facts.minimal = true;
  facts.sequential = rule->measure.sequential;
  return facts;
}

const Register<RoutingSpec> entry([] {
  RoutingSpec spec{
      .name = "minimal",
      .summary = "a shortest path; several are used in turns, by flow or by queue",
      .params = {pick_param("packet"), congestion_param("both"), congestion_scope_param("port"), allocation_param()},
      .setup = setup,
      .route = route,
  };
  spec.candidates = list_minimal_ports;
  spec.graph = true;
  return spec;
}());

}  // namespace

}  // namespace flitgym::routing::graph::minimal
