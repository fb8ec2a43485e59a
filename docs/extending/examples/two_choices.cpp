// The power of two choices (Mitzenmacher, IEEE TPDS 12, 2001): draw two minimal ports at random
// and take the port with the shorter queue.
#include "simcore/routing/paths.hpp"

namespace flitgym::routing::graph::two_choices {

namespace {

struct Rule : ComponentData {
  CongestionMeasure measure;  // defines the length of a queue
};

// The relation: every port on a minimal path. The VC class is the number of hops done, which
// only grows, so packets cannot wait for each other in a cycle.
void candidates(const Network& net, State& s, Batch& b) {
  const Graph& graph = graph_now(net, s);
  list_candidates(net, b, [&](u32 i, auto&& offer) {
    const Packet& p = s.packets[b.packet[i]];
    const u32 router = b.router[i], to = net.terminal_router[p.destination];
    if (router == to) offer(net.terminal_port[p.destination], kAnyClass);
    else
      each_minimal(net, graph, router, to, [&](u32 port) { offer(port, hop_class(net, p)); });
  });
}

// The selection.
void route(const Network& net, State& s, Batch& b) {
  const auto& rule = static_cast<const Rule&>(*net.routing);
  candidates(net, s, b);
  for (u32 i = 0; i < b.count; i++) {
    const auto queue = [&](u32 k) {
      return rule.measure.of(net, s, net.port(b.router[i], b.candidate_port[k]),
                             b.candidate_class[k]);
    };
    const Packet& p = s.packets[b.packet[i]];
    const u32 first = b.offsets[i], n = b.offsets[i + 1] - first;
    const u32 one = first + below(route_draw(net, p, 0), n),
              other = first + below(route_draw(net, p, 1), n);
    const u32 best = one == other || queue(one) <= queue(other) ? one : other;
    choose(b, i, {b.candidate_port[best], b.candidate_class[best]});
  }
}

RoutingFacts setup(const Params& params, Network& net,
                   std::shared_ptr<const ComponentData>& data) {
  auto rule = std::make_shared<Rule>();
  rule->measure = measure_of(params, net);
  data = rule;
  need_distances(net);
  // VC classes, hops of the longest path
  RoutingFacts facts{hops_in_all(net, 0), hops_in_all(net, 0)};
  facts.minimal = true;
  return facts;
}

const Register<RoutingSpec> entry([] {
  RoutingSpec spec{"two_choices",
                   "the shorter queue of two minimal ports drawn at random",
                   {},
                   {congestion_param(), congestion_scope_param("port")},
                   setup,
                   route};
  spec.candidates = candidates;
  spec.graph = true;  // uses the present links, so it goes around failed links
  return spec;
}());

}  // namespace

}  // namespace flitgym::routing::graph::two_choices
