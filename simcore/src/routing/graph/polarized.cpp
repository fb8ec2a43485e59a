// Polarized routing on any graph. Sources: Camarero, Martinez, Beivide, "Polarized routing: an efficient and versatile
// algorithm for large direct networks", HOTI 2021. The same authors, "Polarized routing for large interconnection
// networks", IEEE Micro 42(2), 2022. The rules are those of the authors' simulator CAMINOS.
//
// A packet from s to t at router c has the weight D(c, s) - D(c, t), with distances D in hops. The weight rises from
// -D(s, t) to D(s, t). A hop must not lower the weight. If a hop leaves the weight unchanged, it must lead away from s
// while c is closer to s than to t, and towards t otherwise. Minimal paths and many longer paths obey these rules. The
// routing takes the candidate with the lowest cost. The cost is the queue plus `penalty_flits` times (2 - the rise of
// the weight).
//
// Differences from the paper:
// - A router where no hop obeys the rules (a corner) offers the minimal ports. The paper only admits topologies without
//   corners.
// - Polarized paths may have up to 4 D - 3 hops on a graph of diameter D. Here `path_hops` bounds them, so that the
//   number of VC classes is bounded. The default is the lesser of 4 D - 3 and 2 D, the path of Valiant's algorithm.
// - The VC class is the number of hops done. It only grows, so there is no dependency cycle.
#include <algorithm>

#include "simcore/routing/paths.hpp"

namespace flitgym::routing::graph::polarized {

namespace {

struct Rule : ComponentData {
  u32 budget = 0;  // most hops of a path while no link fails
  u32 penalty = 0;
  CongestionMeasure measure;
};

// visit(port, rise) for each candidate with the rise of the weight, 0 to 2.
template <class Visit>
void each_candidate(const Network& net, const Graph& g, u32 budget, const Packet& p, u32 router, u32 to,
                    Visit&& visit) {
  const u32 from = net.terminal_router[p.source];
  const u32 behind = distance(net, g, router, from), ahead = distance(net, g, router, to);
  bool any = false;
  each_link(net, g, router, [&](u32 k) {
    const u32 next = net.next_router(net.port(router, k));
    const u32 left = distance(net, g, next, to), away = distance(net, g, next, from);
    const i32 rise = static_cast<i32>(away - behind) + static_cast<i32>(ahead - left);
    const bool obeys = rise > 0 || (rise == 0 && (behind < ahead ? away > behind : left < ahead));
    if (!obeys || p.hops + 1u + left > budget) return;
    visit(k, static_cast<u32>(rise));
    any = true;
  });
  if (!any) each_minimal(net, g, router, to, [&](u32 k) { visit(k, 0u); });
}

void route(const Network& net, State& s, Batch& b) {
  const auto& rule = static_cast<const Rule&>(*net.routing);
  const Graph& graph = graph_now(net, s);
  u16 ports[kMaxRadix];
  u32 costs[kMaxRadix];
  Congestion congestion(net, s, rule.measure);
  for (u32 i = 0; i < b.count; i++) {
    const Packet& p = s.packets[b.packet[i]];
    const u32 router = b.router[i], to = net.terminal_router[p.destination], vc_class = hop_class(net, p);
    if (router == to) {
      choose(b, i, ejection(net, p));
      continue;
    }
    congestion.begin(router);
    u32 n = 0;
    each_candidate(net, graph, rule.budget, p, router, to, [&](u32 k, u32 rise) {
      costs[n] = congestion.of(router, k, vc_class) + (2 - rise) * rule.penalty;
      ports[n++] = static_cast<u16>(k);
    });
    // Equal candidates take turns, which differ between routers.
    u32 best = (p.source + p.sequence + router) % n;
    for (u32 k = 1, at = best; k < n; k++) {
      at = at + 1 < n ? at + 1 : 0;
      if (costs[at] < costs[best]) best = at;
    }
    const Hop hop = {ports[best], vc_class};
    congestion.promise(hop, p.flits);
    choose(b, i, hop);
  }
}

// A minimal port comes first, as agents expect. It is added if the rules admit none.
void candidates(const Network& net, State& s, Batch& b) {
  const u32 budget = static_cast<const Rule&>(*net.relation).budget;
  const Graph& graph = graph_now(net, s);
  list_candidates(net, b, [&](u32 i, auto&& offer) {
    const Packet& p = s.packets[b.packet[i]];
    const u32 router = b.router[i], to = net.terminal_router[p.destination], vc_class = hop_class(net, p);
    if (router == to) return offer(net.terminal_port[p.destination], kAnyClass);
    u16 ports[kMaxRadix];
    u32 n = 0;
    each_candidate(net, graph, budget, p, router, to, [&](u32 k, u32) { ports[n++] = static_cast<u16>(k); });
    const auto lower = [&](u32 k) {
      return distance(net, graph, net.next_router(net.port(router, k)), to) < distance(net, graph, router, to);
    };
    if (std::stable_partition(ports, ports + n, lower) == ports)
      offer(net.topology->minimal_port(net, graph, router, p), vc_class);
    for (u32 k = 0; k < n; k++) offer(ports[k], vc_class);
  });
}

RoutingFacts setup(const Params& params, Network& net, std::shared_ptr<const ComponentData>& data) {
  auto rule = std::make_shared<Rule>();
  rule->measure = allocating_measure_of(params, net);
  rule->penalty = static_cast<u32>(params.integer("penalty_flits"));
  need_distances(net);
  const u32 diameter = longest_path(net);
  const i64 wanted = params.integer("path_hops");
  if (wanted >= 0 && wanted < diameter)
    throw ConfigError("routing.polarized.path_hops: " + std::to_string(wanted) + " is below the diameter " +
                      std::to_string(diameter) + " of the network; use at least " + std::to_string(diameter) +
                      ", or -1 for the default");
  rule->budget = wanted >= 0 ? static_cast<u32>(wanted) : std::min(2 * diameter, 4 * std::max(1u, diameter) - 3);
  data = rule;
  const u32 most = hops_in_all(net, rule->budget > diameter ? rule->budget - diameter : 0);
  RoutingFacts facts{most, most};
  facts.sequential = rule->measure.sequential;
  return facts;
}

const Register<RoutingSpec> entry([] {
  RoutingSpec spec{
      .name = "polarized",
      .summary = "the least congested of all paths that lead away from the source, then to the destination (Polarized)",
      .params = {integer("path_hops", -1, -1, kMaxVcs, "hops",
                         "hops of the longest path, and number of VC classes; -1 = twice the diameter D, or 4 D - 3 if "
                         "this is less"),
                 integer("penalty_flits", 16, 0, 1 << 20, "flits",
                         "cost of a unit by which a hop raises the weight by less than 2"),
                 congestion_param("both"), congestion_scope_param("port"), allocation_param()},
      .setup = setup,
      .route = route,
  };
  spec.candidates = candidates;
  spec.graph = true;
  return spec;
}());

}  // namespace

}  // namespace flitgym::routing::graph::polarized
