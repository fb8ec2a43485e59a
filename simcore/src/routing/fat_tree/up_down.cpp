// Up to the nearest common ancestor of source and destination, then down: all minimal paths of a fat tree. Any up port
// leads to a common ancestor. From there a single child leads down, by any of its parallel cables. `ascent` selects the
// port. One VC class is enough. Packets take upward channels by rising level and then downward channels, so there is no
// dependency cycle.
//
// With more classes, the destination of a packet selects its class. If a terminal accepts too little, the packets that
// wait for it then delay only the packets of one class.
//
// Sources of the classes by destination: Nachiondo, Flich, Duato, "Buffer Management Strategies to Reduce HoL
// Blocking", IEEE TPDS 21(6), 2010; Guay, Bogdanski, Reinemo, Lysne, Skeie, "vFtree - A Fat-Tree Routing Algorithm
// Using Virtual Lanes to Alleviate Congestion", IPDPS 2011.
#include "simcore/routing/declared.hpp"
#include "simcore/topology/fat_tree.hpp"

namespace flitgym::routing::fat_tree::up_down {

enum class Ascent : u8 { kAdaptive, kRandom, kTwoRandom, kDModK };

struct Rule : ComponentData {
  Ascent ascent = Ascent::kAdaptive;
  CongestionMeasure measure;
};

// The second term separates destinations at distances that are multiples of `classes`, as in a shuffle. Distances that
// are multiples of its square still have a common class.
static u32 class_of(const Network& net, const Packet& p) {
  const u32 classes = net.routing_facts.classes;
  return (p.destination + p.destination / classes) % classes;
}

static u32 pick(const Network& net, const Congestion& congestion, const Rule& rule, const FatTree& tree,
                const Packet& p, u32 router, u32 to, u32 vc_class) {
  const FatTree::Ports ports = tree.towards(router, to);
  if (ports.count == 1) return ports[0];
  switch (rule.ascent) {
    case Ascent::kAdaptive:
      return ports[congestion.least(router, ports, ports.count, turn_of(p, router, ports.count), vc_class)];
    case Ascent::kRandom: return ports[below(route_draw(net, p, 0), ports.count)];
    case Ascent::kTwoRandom: {
      const u32 one = ports[below(route_draw(net, p, 0), ports.count)],
                other = ports[below(route_draw(net, p, 1), ports.count)];
      return congestion.of(router, one, vc_class) > congestion.of(router, other, vc_class) ? other : one;
    }
    case Ascent::kDModK: break;
  }
  return ports[tree.own_turn(router, to, p.destination)];
}

static void route(const Network& net, State& s, Batch& b) {
  const FatTree& tree = as_fat_tree(net);
  const auto& rule = static_cast<const Rule&>(*net.relation);
  Congestion congestion(net, s, rule.measure);
  for (u32 i = 0; i < b.count; i++) {
    const Packet& p = s.packets[b.packet[i]];
    const u32 router = b.router[i], to = net.terminal_router[p.destination], vc_class = class_of(net, p);
    if (router == to) {
      choose(b, i, ejection(net, p));
      continue;
    }
    congestion.begin(router);
    const Hop hop = {pick(net, congestion, rule, tree, p, router, to, vc_class), vc_class};
    congestion.promise(hop, p.flits);
    choose(b, i, hop);
  }
}

static void candidates(const Network& net, State& s, Batch& b) {
  list_candidates(net, s, b, [&](const Head& at, auto&& offer) {
    const FatTree::Ports ports = as_fat_tree(net).towards(at.router, at.to);
    for (u32 k = 0; k < ports.count; k++) offer(ports[k], class_of(net, at.packet));
  });
}

static RoutingFacts setup(const Params& params, Network& net, Rule& rule) {
  const std::string& ascent = params.text("ascent");
  rule.ascent = ascent == "adaptive"     ? Ascent::kAdaptive
                : ascent == "random"     ? Ascent::kRandom
                : ascent == "two_random" ? Ascent::kTwoRandom
                                         : Ascent::kDModK;
  rule.measure = allocating_measure_of(params, net);
  rule.measure.sequential &= rule.ascent == Ascent::kAdaptive || rule.ascent == Ascent::kTwoRandom;
  return {.classes = params.count("vc_classes"), .max_hops = net.topology->diameter, .minimal = true};
}

// As many classes as the relation `detours` needs, so both have the same buffers.
static RoutingFacts setup_by_destination(const Params&, Network& net, std::shared_ptr<const ComponentData>&) {
  return {.classes = net.topology->diameter + 2, .max_hops = net.topology->diameter, .minimal = true};
}

const std::vector<std::string> kTrees = {"fat_tree", "rail_optimised", "multi_plane_fat_tree"};

const Register<RoutingSpec> entry({
    .name = "up_down",
    .summary = "up to the nearest common ancestor, by the least congested port or another rule, then down",
    .topologies = kTrees,
    .params = {choice("ascent", "adaptive", {"adaptive", "random", "two_random", "d_mod_k"},
                      "choice of the up port (and of parallel cables down): adaptive = the least congested; random = a "
                      "random one; two_random = the less congested of two random ones; d_mod_k = fixed by the "
                      "destination"),
               congestion_param("both"), congestion_scope_param("port"), allocation_param(),
               integer("vc_classes", 1, 1, kMaxVcs, "",
                       "VC classes; the destination of a packet selects its class, so packets for a terminal that "
                       "accepts too little delay one class only")},
    .setup = with_rule<setup>,
    .route = route,
    .candidates = candidates,
});

const Register<RelationSpec> by_destination({
    .name = "up_down_by_destination",
    .summary = "all paths of up_down; the destination selects one of as many VC classes as `detours` has",
    .topologies = kTrees,
    .setup = setup_by_destination,
    .candidates = candidates,
    .preferred = true,
});

}  // namespace flitgym::routing::fat_tree::up_down
