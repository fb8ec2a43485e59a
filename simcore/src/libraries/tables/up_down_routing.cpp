// Up*/down* on any graph, also with links that fail. A packet takes the shortest up*/down* path of the present graph
// (simcore/routing/escape.hpp). So channels wait for each other in one order, and one VC class is enough. On a fat tree
// the order is that of its levels, and all paths of routing/fat_tree/up_down.cpp remain that the failures have left.
//
// After a failure, a packet that goes down may find no path that continues down. It then escapes to class 1 and goes up
// and down again. Class 1 uses only links that never fail, in the order of a tree of these links. Packets never leave
// class 1, and each class has its own fixed order. So two classes are free of deadlock for any number of failures. A
// source without a path in class 0 uses class 1, too, because levels need not connect all routers of a damaged tree.
#include "simcore/routing/escape.hpp"
#include "simcore/routing/paths.hpp"
#include "tables/up_down.hpp"

namespace flitgym::routing::graph::up_down {

struct UpDown : PickedPorts {
  struct Rule : PickedPorts::Rule {
    std::vector<u32> place;                                // class 0: position of each router from the top down
    std::vector<std::shared_ptr<const UpDownHops>> paths;  // class 0, by epoch
    Escape escape;                                         // class 1
  };
  template <class Out>
  static void offer(const Head& at, const Rule& rule, Out&& out) {
    const Network& net = at.net;
    const u32 input = net.port(at.router, at.in_port);
    const bool arrived = net.is_link(input), escaped = arrived && at.in_vc % net.routing_facts.classes == 1;
    const std::size_t epoch = rule.paths.size() == 1 ? 0 : at.s.part.totals.epoch;
    if (!escaped && each_port(net, *net.graphs[epoch], rule.place, *rule.paths[epoch], at.router, at.to,
                              arrived && !leads_up(rule.place, net.router_of_port(net.channels[input].peer), at.router),
                              [&](u32 k) { out(k, 0u); }))
      return;
    u16 ports[kMaxRadix];
    const u32 n = rule.escape.ports(net, at.router, escaped ? input : kNone, at.to, ports);
    for (u32 k = 0; k < n; k++) out(ports[k], 1u);
  }
};

// The ranks of class 0: those of a tree, or else the hops from a root.
std::vector<u32> ranks(const tables::ChannelGraph& g) {
  constexpr u32 kTableSwitches = 2048;  // a table per root takes minutes on larger networks
  const Params no_roots("routing.up_down", tables::root_params(), {}, 0);
  if (const auto levels = tables::find_levels("up_down", no_roots, g)) return levels->rank;
  std::vector<std::vector<u32>> all;
  for (const u32 root : tables::likely_roots(g, std::vector<u8>(g.switches, 1)))
    all.push_back(tables::hops_to(g, root));
  tables::ForwardingTable table = tables::empty_table(g, "up_down");
  const u32 best = g.switches > kTableSwitches ? 0 : tables::best_up_down_table(g, all, table);
  return all[best == kNone ? 0 : best];
}

RoutingFacts setup(const Params& params, Network& net, UpDown::Rule& rule) {
  UpDown::read(params, net, rule, "legal_ports");
  rule.place = places(ranks(tables::channel_graph(net)));
  u32 longest = 0;
  bool whole = net.graphs.size() == 1;
  for (u32 e = 0; e < net.graphs.size(); e++)
    if (const u32 same = first_alike(net, e); same < e) rule.paths.push_back(rule.paths[same]);
    else
      rule.paths.push_back(
          std::make_shared<const UpDownHops>(up_down_hops(net, *net.graphs[e], rule.place, "routing.up_down")));
  std::vector<u32> ends(net.terminal_router.begin(), net.terminal_router.end());  // routers with terminals
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  for (const u32 a : ends)
    for (std::size_t k = 0; whole && k < ends.size(); k++) {
      const u32 hops = rule.paths[0]->any[std::size_t{a} * net.routers + ends[k]];
      whole &= hops != kNoHops;
      longest = std::max(longest, hops);
    }
  RoutingFacts facts{1, longest};
  if (!whole) {
    rule.escape = make_escape(net, "routing.up_down");
    facts.classes = 2;
    // In class 0 a packet goes up and then down, by the order. The escape takes a shortest path.
    facts.max_hops = 2 * (net.routers - 1) + std::max(longest, rule.escape.longest);
  }
  facts.escapes = true;
  return facts;
}

const Register<RoutingSpec> entry(declared<UpDown>({
    .name = "up_down",
    .summary = "up and then down by an order of the routers, also around links that fail; one or two VC classes",
    .params = {choice("legal_ports", "queue", {"packet", "flow", "queue"},
                      "choice among the ports of the shortest legal paths: packet = in turns, packet by packet; flow "
                      "= one port per source and destination; queue = the least congested port"),
               congestion_param("both"), congestion_scope_param("port"), allocation_param()},
    .setup = with_rule<setup>,
    .graph = true,
}));

}  // namespace flitgym::routing::graph::up_down
