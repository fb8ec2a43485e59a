// Up*/down* on any graph, also with links that fail. A packet takes the shortest up*/down* path of the present graph
// (simcore/routing/escape.hpp). So channels wait for each other in one order, and one VC class is enough. On a fat tree
// the order is that of its levels, and all paths of routing/fat_tree/up_down.cpp remain that the failures have left.
//
// After a failure, a packet that goes down may find no path that continues down. It then escapes to class 1 and goes up
// and down again. Class 1 uses only links that never fail, in the order of a tree of these links. Packets never leave
// class 1, and each class has its own fixed order. So two classes are free of deadlock for any number of failures. A
// source without a path in class 0 uses class 1, too, because levels need not connect all routers of a damaged tree.
#include <algorithm>

#include "simcore/routing/escape.hpp"
#include "simcore/routing/paths.hpp"
#include "tables/levels.hpp"
#include "tables/up_down.hpp"

namespace flitgym::routing::graph::up_down {

namespace {

struct Rule : ComponentData {
  Pick pick = Pick::kQueue;
  CongestionMeasure measure;
  std::vector<u32> place;                         // class 0: position of each router from the top down
  std::vector<std::shared_ptr<const Ways>> ways;  // class 0, by epoch
  Escape escape;                                  // class 1
};

// Writes the ports of request i, and returns their number and sets their VC class.
u32 ports_of(const Network& net, const State& s, const Batch& b, u32 i, u32 to, u16 (&ports)[kMaxRadix],
             u32& vc_class) {
  const auto& rule = static_cast<const Rule&>(*net.relation);
  const u32 router = b.router[i], input = net.port(router, b.in_port[i]);
  const bool arrived = net.is_link(input);
  u32 n = 0;
  const bool escaped = arrived && b.in_vc[i] % net.routing_facts.classes == 1;
  vc_class = 0;
  const std::size_t epoch = rule.ways.size() == 1 ? 0 : s.part.totals.epoch;
  if (!escaped && each_port(net, *net.graphs[epoch], rule.place, *rule.ways[epoch], router, to,
                            arrived && !leads_up(rule.place, net.router_of_port(net.channels[input].peer), router),
                            [&](u32 k) { ports[n++] = static_cast<u16>(k); }))
    return n;
  vc_class = 1;
  return rule.escape.ports(net, router, escaped ? input : kNone, to, ports);
}

void route(const Network& net, State& s, Batch& b) {
  const auto& rule = static_cast<const Rule&>(*net.routing);
  Congestion congestion(net, s, rule.measure);
  u16 ports[kMaxRadix];
  u32 vc_class = 0;
  for (u32 i = 0; i < b.count; i++) {
    const Packet& p = s.packets[b.packet[i]];
    const u32 to = net.terminal_router[p.destination];
    if (b.router[i] == to) {
      choose(b, i, ejection(net, p));
      continue;
    }
    const u32 n = ports_of(net, s, b, i, to, ports, vc_class);
    congestion.begin(b.router[i]);
    const Hop hop = {pick_port(rule.pick, congestion, p, b.router[i], ports, n, vc_class), vc_class};
    congestion.promise(hop, p.flits);
    choose(b, i, hop);
  }
}

void candidates(const Network& net, State& s, Batch& b) {
  u16 ports[kMaxRadix];
  u32 vc_class = 0;
  list_candidates(net, b, [&](u32 i, auto&& offer) {
    const Packet& p = s.packets[b.packet[i]];
    const u32 to = net.terminal_router[p.destination];
    if (b.router[i] == to) return offer(net.terminal_port[p.destination], kAnyClass);
    const u32 n = ports_of(net, s, b, i, to, ports, vc_class);
    for (u32 k = 0; k < n; k++) offer(ports[k], vc_class);
  });
}

// The ranks of class 0: those of a tree, or else the hops from a root.
std::vector<u32> ranks(const tables::ChannelGraph& g) {
  constexpr u32 kTableSwitches = 2048;  // a table per root takes minutes on larger networks
  tables::Levels levels;
  const Params no_roots("routing.up_down", tables::root_params(), {}, 0);
  if (tables::find_levels("up_down", no_roots, g, levels)) return levels.rank;
  std::vector<std::vector<u32>> all;
  for (const u32 root : tables::likely_roots(g, std::vector<u8>(g.switches, 1)))
    all.push_back(tables::ranks_below(g, {root}));
  tables::ForwardingTable table = tables::empty_table(g, "up_down");
  const u32 best = g.switches > kTableSwitches ? 0 : tables::best_up_down_table(g, all, table);
  return all[best == kNone ? 0 : best];
}

RoutingFacts setup(const Params& params, Network& net, std::shared_ptr<const ComponentData>& data) {
  auto rule = std::make_shared<Rule>();
  const std::string& pick = params.text("legal_ports");
  rule->pick = pick == "packet" ? Pick::kPacket : pick == "flow" ? Pick::kFlow : Pick::kQueue;
  rule->measure = allocating_measure_of(params, net);
  rule->measure.sequential &= rule->pick == Pick::kQueue;
  rule->place = places(ranks(tables::channel_graph(net)));
  u32 longest = 0;
  bool whole = net.graphs.size() == 1;
  for (u32 e = 0; e < net.graphs.size(); e++)
    if (const u32 same = first_alike(net, e); same < e) rule->ways.push_back(rule->ways[same]);
    else
      rule->ways.push_back(std::make_shared<const Ways>(ways_of(net, *net.graphs[e], rule->place, "routing.up_down")));
  std::vector<u32> ends(net.terminal_router.begin(), net.terminal_router.end());  // routers with terminals
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  for (const u32 a : ends)
    for (std::size_t k = 0; whole && k < ends.size(); k++) {
      const u32 hops = rule->ways[0]->any[std::size_t{a} * net.routers + ends[k]];
      whole &= hops != kNoWay;
      longest = std::max(longest, hops);
    }
  RoutingFacts facts{1, longest};
  if (!whole) {
    rule->escape = make_escape(net, "routing.up_down");
    facts.classes = 2;
    // In class 0 a packet goes up and then down, by the order. The escape takes a shortest path.
    facts.max_hops = 2 * (net.routers - 1) + std::max(longest, rule->escape.longest);
  }
  facts.escapes = true;
  facts.sequential = rule->measure.sequential;
  data = rule;
  return facts;
}

const Register<RoutingSpec> entry([] {
  RoutingSpec spec{
      .name = "up_down",
      .summary = "up and then down by an order of the routers, also around links that fail; one or two VC classes",
      .params = {choice("legal_ports", "queue", {"packet", "flow", "queue"},
                        "choice among the ports of the shortest legal paths: packet = in turns, packet by packet; flow "
                        "= one port per source and destination; queue = the least congested port"),
                 congestion_param("both"), congestion_scope_param("port"), allocation_param()},
      .setup = setup,
      .route = route,
  };
  spec.candidates = candidates;
  spec.graph = true;
  return spec;
}());

}  // namespace

}  // namespace flitgym::routing::graph::up_down
