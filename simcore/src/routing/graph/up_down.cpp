// Up*/down* on any graph (Schroeder et al., Autonet, IEEE JSAC 9(8), 1991), also with links that fail. A channel leads
// up if its end precedes its beginning in a fixed order of the routers. A packet takes the shortest path of the present
// graph that does not turn from down to up. So channels wait for each other in this order only, and one VC class is
// enough. On a fat tree the order is that of its levels, and all paths of routing/fat_tree/up_down.cpp remain that the
// failures have left.
//
// After a failure, a packet that goes down may find no path that continues down. It then escapes to class 1 and goes up
// and down again. Class 1 uses only links that never fail, in the order of a tree of these links. Packets never leave
// class 1, and each class has its own fixed order. So two classes are free of deadlock for any number of failures. A
// source without a path in class 0 uses class 1, too, because levels need not connect all routers of a damaged tree.
#include <algorithm>
#include <numeric>

#include "routing/graph/paths.hpp"
#include "simcore/error.hpp"
#include "simcore/limits.hpp"
#include "tables/levels.hpp"
#include "tables/up_down.hpp"

namespace flitgym::routing::graph::up_down {

namespace {

constexpr u16 kNoPath = 0xffff;

// Hops of the shortest paths on one graph.
struct Ways {
  std::vector<u16> down;  // [to, from] of a path that only leads down; kNoPath: there is none
  std::vector<u16> any;   // [to, from] of a path that leads up and then down
};

struct Rule : ComponentData {
  Pick pick = Pick::kQueue;
  CongestionMeasure measure;
  std::vector<u32> place[2];                      // by VC class: position of each router from the top down
  std::vector<std::shared_ptr<const Ways>> ways;  // class 0, by epoch
  Ways escape;                                    // class 1
  Graph lasting;                                  // links that never fail
  bool up(u32 vc_class, u32 from, u32 to) const { return place[vc_class][to] < place[vc_class][from]; }
};

Ways ways_of(const Network& net, const Graph& g, const std::vector<u32>& place) {
  const std::size_t n = net.routers;
  claim_memory(4 * n * n, "routing.up_down", "the paths between " + std::to_string(n) + " routers");
  Ways ways{std::vector<u16>(n * n, kNoPath), std::vector<u16>(n * n, kNoPath)};
  std::vector<u32> order(n), queue;
  for (u32 r = 0; r < n; r++) order[place[r]] = r;
  const auto each_upward = [&](u32 router, auto&& visit) {
    each_link(net, g, router, [&](u32 k) {
      if (const u32 next = net.next_router(net.port(router, k)); place[next] < place[router]) visit(next);
    });
  };
  for (u32 to = 0; to < n; to++) {
    worked(2 * net.router_ports);
    u16 *const down = &ways.down[to * n], *const any = &ways.any[to * n];
    queue.assign(1, to);
    down[to] = 0;
    for (std::size_t head = 0; head < queue.size(); head++)
      each_upward(queue[head], [&](u32 above) {
        if (down[above] != kNoPath) return;
        down[above] = static_cast<u16>(down[queue[head]] + 1);
        queue.push_back(above);
      });
    for (const u32 router : order) {
      any[router] = down[router];
      each_upward(router, [&](u32 above) {
        if (any[above] != kNoPath) any[router] = std::min<u16>(any[router], static_cast<u16>(any[above] + 1));
      });
    }
  }
  return ways;
}

// visit(port) for each port of the shortest legal paths in a VC class. Returns whether there is any.
template <class Visit>
bool each_port(const Network& net, const Rule& rule, const Graph& g, const Ways& ways, u32 vc_class, u32 router, u32 to,
               bool came_down, Visit&& visit) {
  const std::size_t row = std::size_t{to} * net.routers;
  const u32 here = came_down ? ways.down[row + router] : ways.any[row + router];
  if (here == kNoPath) return false;
  each_link(net, g, router, [&](u32 k) {
    const u32 next = net.next_router(net.port(router, k));
    const bool up = rule.up(vc_class, router, next);
    const u32 rest = up ? ways.any[row + next] : ways.down[row + next];
    if (!(up && came_down) && rest + 1 == here) visit(k);
  });
  return true;
}

// Writes the ports of request i, and returns their number and sets their VC class.
u32 ports_of(const Network& net, const State& s, const Batch& b, u32 i, u32 to, u16 (&ports)[kMaxRadix],
             u32& vc_class) {
  const auto& rule = static_cast<const Rule&>(*net.relation);
  const u32 router = b.router[i], input = net.port(router, b.in_port[i]);
  const bool arrived = net.is_link(input);
  const u32 before = arrived ? net.router_of_port(net.channels[input].peer) : kNone;
  u32 n = 0;
  const auto add = [&](u32 k) { ports[n++] = static_cast<u16>(k); };
  const bool escaped = arrived && b.in_vc[i] % net.routing_facts.classes == 1;
  vc_class = 0;
  const std::size_t epoch = rule.ways.size() == 1 ? 0 : s.part.totals.epoch;
  if (!escaped && each_port(net, rule, *net.graphs[epoch], *rule.ways[epoch], 0, router, to,
                            arrived && !rule.up(0, before, router), add))
    return n;
  vc_class = 1;
  each_port(net, rule, rule.lasting, rule.escape, 1, router, to, escaped && !rule.up(1, before, router), add);
  if (n == 0)  // only a restored snapshot can hold such a packet
    throw CoreError("routing.up_down: a packet at router " + net.router_name(router) + " has no path");
  return n;
}

void route(const Network& net, State& s, Batch& b) {
  const auto& rule = static_cast<const Rule&>(*net.routing);
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
    choose(b, i, {pick_port(net, s, rule.pick, rule.measure, p, b.router[i], ports, n, vc_class), vc_class});
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

std::vector<u32> places(const std::vector<u32>& rank) {
  std::vector<u32> order(rank.size()), place(rank.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](u32 a, u32 b) { return rank[a] < rank[b]; });
  for (u32 k = 0; k < order.size(); k++) place[order[k]] = k;
  return place;
}

// The ranks of class 0: those of a tree, or else the hops from a root.
std::vector<u32> ranks(const tables::ChannelGraph& g) {
  constexpr u32 kTableSwitches = 2048;  // a table per root takes minutes on larger networks
  tables::Levels levels;
  const Params no_roots("routing.up_down", tables::root_params(), {});
  if (tables::find_levels("up_down", no_roots, g, levels)) return levels.rank;
  std::vector<std::vector<u32>> all;
  for (const u32 root : tables::likely_roots(g, std::vector<u8>(g.switches, 1)))
    all.push_back(tables::ranks_below(g, {root}));
  tables::ForwardingTable table = tables::empty_table(g, "up_down");
  const u32 best = g.switches > kTableSwitches ? 0 : tables::best_up_down_table(g, all, table);
  return all[best == kNone ? 0 : best];
}

// Links of all graphs. The escape reaches every router that has a link at any time.
void keep_lasting(const Network& net, Rule& rule) {
  for (const auto& g : net.graphs)
    for (u32 p = 0; p < g->down.size(); p++)
      if (g->down[p]) {
        if (rule.lasting.down.empty()) rule.lasting.down.assign(net.router_ports, 0);
        rule.lasting.down[p] = 1;
      }
  std::vector<u32> rank(net.routers, kNone), queue;
  const auto reach = [&](u32 r, u32 hops) {
    if (rank[r] == kNone) rank[r] = hops, queue.push_back(r);
  };
  // The root is the router with the most links, so that paths are short and some of its links are seldom full.
  u32 root = 0, most = 0;
  for (u32 r = 0; r < net.routers; r++) {
    u32 links = 0;
    each_link(net, rule.lasting, r, [&](u32) { links++; });
    if (links > most) root = r, most = links;
  }
  reach(root, 0);
  for (std::size_t head = 0; head < queue.size(); head++)
    each_link(net, rule.lasting, queue[head],
              [&](u32 k) { reach(net.next_router(net.port(queue[head], k)), rank[queue[head]] + 1); });
  const Graph whole;
  for (u32 r = 0; r < net.routers; r++)
    each_link(net, whole, r, [&](u32) {
      if (rank[r] == kNone)
        throw ConfigError(
            "routing.up_down: links that never fail must connect all routers, for packets that lose "
            "their path, but they do not connect router " +
            net.router_name(r) + " to router " + net.router_name(root));
    });
  rule.place[1] = places(rank);
  rule.escape = ways_of(net, rule.lasting, rule.place[1]);
}

RoutingFacts setup(const Params& params, Network& net, std::shared_ptr<const ComponentData>& data) {
  auto rule = std::make_shared<Rule>();
  const std::string& pick = params.text("legal_ports");
  rule->pick = pick == "packet" ? Pick::kPacket : pick == "flow" ? Pick::kFlow : Pick::kQueue;
  rule->measure = measure_of(params, net);
  rule->place[0] = places(ranks(tables::channel_graph(net)));
  u32 longest = 0;
  bool whole = net.graphs.size() == 1;
  for (std::size_t e = 0; e < net.graphs.size(); e++) {
    for (std::size_t k = 0; k < e && rule->ways.size() == e; k++)
      if (net.graphs[k]->down == net.graphs[e]->down) rule->ways.push_back(rule->ways[k]);
    if (rule->ways.size() == e)
      rule->ways.push_back(std::make_shared<const Ways>(ways_of(net, *net.graphs[e], rule->place[0])));
  }
  std::vector<u32> ends(net.terminal_router.begin(), net.terminal_router.end());  // routers with terminals
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  for (const u32 a : ends)
    for (std::size_t k = 0; whole && k < ends.size(); k++) {
      const u32 hops = rule->ways[0]->any[std::size_t{a} * net.routers + ends[k]];
      whole &= hops != kNoPath;
      longest = std::max(longest, hops);
    }
  RoutingFacts facts{1, longest};
  if (!whole) {
    keep_lasting(net, *rule);
    facts.classes = 2;
    // In class 0 a packet goes up and then down, by the order. The escape takes a shortest path.
    for (const u16 hops : rule->escape.any)
      if (hops != kNoPath) longest = std::max<u32>(longest, hops);
    facts.max_hops = 2 * (net.routers - 1) + longest;
  }
  facts.escapes = true;
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
                 congestion_param("both"), congestion_scope_param("port")},
      .setup = setup,
      .route = route,
  };
  spec.candidates = candidates;
  spec.graph = true;
  return spec;
}());

}  // namespace

}  // namespace flitgym::routing::graph::up_down
