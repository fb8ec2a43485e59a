// VAL and UGAL on any graph: two legs of shortest paths through a random router (Valiant 1982). VAL always takes them.
// UGAL takes them if the queues of the source router favour it (Singh 2005: hops x congestion of the first hop, ties to
// minimal). The VC class is the number of hops done, which only grows. Without failures, the number of classes is
// twice the diameter.
#include <algorithm>

#include "simcore/routing/paths.hpp"

namespace flitgym::routing::graph::two_legs {

namespace {

struct Rule : ComponentData {
  Pick pick = Pick::kPacket;
  CongestionMeasure measure;
  double bias_flits = 0;
  u32 candidates = 1;
  bool always = false;
  Kept<u32> intermediate;
};

// A random router other than the packet's source and destination router.
u32 draw_middle(const Network& net, const Packet& p, u32 router, u32 to, u32 k) {
  const u32 low = std::min(router, to), high = std::max(router, to);
  if (net.routers < 3) return kNone;
  u32 middle = below(route_draw(net, p, k), net.routers - 2);
  if (middle >= low) middle++;
  if (middle >= high) middle++;
  return middle;
}

// The intermediate router of the packet, or kNone for a minimal path. A router that failures have cut off is skipped.
u32 decide(const Network& net, const Congestion& congestion, const Graph& g, const Rule& rule, const Packet& p,
           u32 router, u32 to) {
  const u32 direct = distance(net, g, router, to);
  const u32 port = rule.always ? 0 : pick_minimal(net, g, rule.pick, congestion, p, router, to, 0);
  double least = 0;
  u32 chosen = kNone;
  for (u32 k = 0; k < rule.candidates; k++) {
    const u32 middle = draw_middle(net, p, router, to, k);
    if (middle == kNone) return kNone;
    const u32 hops = distance(net, g, router, middle);
    if (hops > g.diameter) continue;
    if (rule.always) return middle;
    const u32 first = pick_minimal(net, g, rule.pick, congestion, p, router, middle, 0);
    const double weight =
        (hops + distance(net, g, middle, to)) * static_cast<double>(congestion.of(router, first, 0, first == port)) +
        rule.bias_flits;
    const double minimal = direct * static_cast<double>(congestion.of(router, port, 0, first == port));
    if (weight >= minimal || (chosen != kNone && weight >= least)) continue;
    least = weight;
    chosen = middle;
  }
  return chosen;
}

// The router that the packet is heading for. At the intermediate router the second leg begins.
u32 target(Packet& p, u32 intermediate, u32 router, u32 to) {
  if (p.phase == kToIntermediate && router == intermediate) p.phase = kFromIntermediate;
  return p.phase == kToIntermediate ? intermediate : to;
}

void route(const Network& net, State& s, Batch& b) {
  const auto& rule = static_cast<const Rule&>(*net.routing);
  const Graph& graph = graph_now(net, s);
  u32* const intermediates = rule.intermediate.of(s);
  Congestion congestion(net, s, rule.measure);
  for (u32 i = 0; i < b.count; i++) {
    Packet& p = s.packets[b.packet[i]];
    u32& intermediate = intermediates[b.packet[i]];
    const u32 router = b.router[i], to = net.terminal_router[p.destination], vc_class = hop_class(net, p);
    if (router == to && p.phase != kToIntermediate) {
      choose(b, i, ejection(net, p));
      continue;
    }
    congestion.begin(router);
    if (p.phase == kUndecided) {
      p.phase = kMinimal;
      if (const u32 middle = decide(net, congestion, graph, rule, p, router, to); middle != kNone) {
        intermediate = middle;
        take_detour(p);
      }
    }
    // Failures may have cut the intermediate router off.
    if (p.phase == kToIntermediate && net.damaged && distance(net, graph, router, intermediate) > graph.diameter)
      p.phase = kFromIntermediate;
    const u32 next = target(p, intermediate, router, to);
    const Hop hop = next == router
                        ? ejection(net, p)
                        : Hop{pick_minimal(net, graph, rule.pick, congestion, p, router, next, vc_class), vc_class};
    congestion.promise(hop, p.flits);
    choose(b, i, hop);
  }
}

// ---- The relation: minimal ports, and the first ports of the paths through the routers that the packet draws ----

void candidates(const Network& net, State& s, Batch& b) {
  const auto& rule = static_cast<const Rule&>(*net.relation);
  const Graph& graph = graph_now(net, s);
  const u32* const intermediates = rule.intermediate.of(s);
  list_candidates(net, b, [&](u32 i, auto&& offer) {
    Packet p = s.packets[b.packet[i]];
    const u32 router = b.router[i], to = net.terminal_router[p.destination], vc_class = hop_class(net, p);
    const u32 bound = p.phase == kUndecided ? to : target(p, intermediates[b.packet[i]], router, to);
    if (router == bound) return offer(net.terminal_port[p.destination], kAnyClass);
    std::vector<u8> offered(net.radix, 0);
    const auto once = [&](u32 k) {
      if (!offered[k]) offer(k, vc_class);
      offered[k] = 1;
    };
    u32 detours = 0;
    const auto offer_detours = [&] {
      for (u32 k = 0; p.phase == kUndecided && k < rule.candidates; k++)
        if (const u32 middle = draw_middle(net, p, router, to, k);
            middle != kNone && distance(net, graph, router, middle) <= graph.diameter) {
          each_minimal(net, graph, router, middle, once);
          detours++;
        }
    };
    if (rule.always) offer_detours();
    if (detours == 0) each_minimal(net, graph, router, bound, once);
    if (!rule.always) offer_detours();
  });
}

// Records a choice that was made outside the routing: minimal if the port is minimal, else through the first drawn
// router to which the port leads.
void chosen(const Network& net, State& s, Batch& b, u32 i) {
  const auto& rule = static_cast<const Rule&>(*net.relation);
  const Graph& graph = graph_now(net, s);
  Packet& p = s.packets[b.packet[i]];
  u32& intermediate = rule.intermediate.of(s)[b.packet[i]];
  const u32 router = b.router[i], to = net.terminal_router[p.destination];
  if (p.phase != kUndecided) {
    target(p, intermediate, router, to);
    return;
  }
  p.phase = kMinimal;
  if (router == to) return;
  const auto leads = [&](u32 end) {
    bool found = false;
    each_minimal(net, graph, router, end, [&](u32 k) { found |= k == b.out_port[i]; });
    return found;
  };
  if (!rule.always && leads(to)) return;
  for (u32 k = 0; k < rule.candidates; k++) {
    const u32 middle = draw_middle(net, p, router, to, k);
    if (middle == kNone || distance(net, graph, router, middle) > graph.diameter || !leads(middle)) continue;
    intermediate = middle;
    take_detour(p);
    return;
  }
}

RoutingFacts facts_of(Network& net, const Rule& rule) {
  need_distances(net);
  const u32 hops = hops_in_all(net, longest_path(net));
  RoutingFacts facts{hops, hops};
  facts.sequential = rule.measure.sequential;
  return facts;
}

RoutingFacts setup_valiant(const Params& params, Network& net, std::shared_ptr<const ComponentData>& data) {
  auto rule = std::make_shared<Rule>();
  rule->always = true;
  rule->pick = pick_of(params);
  rule->measure = allocating_measure_of(params, net);
  rule->measure.sequential &= rule->pick == Pick::kQueue;
  rule->intermediate = declare_intermediate(net);
  data = rule;
  return facts_of(net, *rule);
}

RoutingFacts setup_ugal(const Params& params, Network& net, std::shared_ptr<const ComponentData>& data) {
  auto rule = std::make_shared<Rule>();
  rule->pick = pick_of(params);
  rule->measure = allocating_measure_of(params, net);
  rule->bias_flits = params.real("bias_flits");
  rule->candidates = params.count("candidates");
  rule->intermediate = declare_intermediate(net);
  data = rule;
  return facts_of(net, *rule);
}

const Register<RoutingSpec> valiant([] {
  RoutingSpec spec{
      .name = "valiant",
      .summary = "shortest paths through a random router (VAL)",
      .params = {pick_param("packet"), congestion_param("both"), congestion_scope_param("port"), allocation_param()},
      .setup = setup_valiant,
      .route = route,
  };
  spec.candidates = candidates;
  spec.chosen = chosen;
  spec.graph = true;
  return spec;
}());

const Register<RoutingSpec> ugal([] {
  RoutingSpec spec{
      .name = "ugal",
      .summary = "a shortest path, or two through a random router, by the queues of the source router (UGAL)",
      .params = {pick_param("packet"),
                 real("bias_flits", 0, -1e6, 1e6, "flits x hops",
                      "added to the weight of the path through a random router"),
                 congestion_param("both"), congestion_scope_of_paths_param("port"), allocation_param("greedy"),
                 integer("candidates", 1, 1, 15, "", "number of random intermediates compared")},
      .setup = setup_ugal,
      .route = route,
  };
  spec.candidates = candidates;
  spec.chosen = chosen;
  spec.graph = true;
  return spec;
}());

}  // namespace

}  // namespace flitgym::routing::graph::two_legs
