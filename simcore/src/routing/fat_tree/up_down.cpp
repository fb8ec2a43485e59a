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

// The second term separates destinations at distances that are multiples of `classes`, as in a shuffle. Distances that
// are multiples of its square still have a common class.
static u32 class_of(const Network& net, const Packet& p) {
  const u32 classes = net.routing_facts.classes;
  return (p.destination + p.destination / classes) % classes;
}

struct UpDown {
  struct Rule : ComponentData {
    Ascent ascent = Ascent::kAdaptive;
    CongestionMeasure measure;
  };
  template <class Out>
  static void offer(const Head& at, const Rule&, Out&& out) {
    const FatTree::Ports ports = as_fat_tree(at.net).towards(at.router, at.to);
    const u32 vc_class = class_of(at.net, at.packet);
    for (u32 k = 0; k < ports.count; k++) out(ports[k], vc_class);
  }
  static u32 select(const Head& at, const Rule& rule, const Congestion& congestion, const Offered<>& offered) {
    const u32 n = offered.count;
    const auto drawn = [&](u32 draw) { return below(route_draw(at.net, at.packet, draw), n); };
    if (n == 1) return 0;
    switch (rule.ascent) {
      case Ascent::kAdaptive:
        return congestion.least(at.router, offered, n, turn_of(at.packet, at.router, n), offered.hop[0].vc_class);
      case Ascent::kRandom: return drawn(0);
      case Ascent::kTwoRandom: {
        const u32 one = drawn(0), other = drawn(1);
        return congestion.of(at.router, offered.hop[one]) > congestion.of(at.router, offered.hop[other]) ? other : one;
      }
      case Ascent::kDModK: break;
    }
    return as_fat_tree(at.net).own_turn(at.router, at.to, at.packet.destination);
  }
};

static RoutingFacts setup(const Params& params, Network& net, UpDown::Rule& rule) {
  const std::string& ascent = params.text("ascent");
  rule.ascent = ascent == "adaptive"     ? Ascent::kAdaptive
                : ascent == "random"     ? Ascent::kRandom
                : ascent == "two_random" ? Ascent::kTwoRandom
                                         : Ascent::kDModK;
  rule.measure = measure_of(params, net);
  rule.measure.sequential &= rule.ascent == Ascent::kAdaptive || rule.ascent == Ascent::kTwoRandom;
  return {.classes = params.count("vc_classes"), .max_hops = net.topology->diameter, .minimal = true};
}

// As many classes as the relation `detours` needs, so both have the same buffers.
static RoutingFacts setup_by_destination(const Params&, Network& net, UpDown::Rule&) {
  return {.classes = net.topology->diameter + 2, .max_hops = net.topology->diameter, .minimal = true};
}

const std::vector<std::string> kTrees = {"fat_tree", "rail_optimised", "multi_plane_fat_tree"};

const Register<RoutingSpec> entry(declared<UpDown>({
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
}));

const Register<RelationSpec> by_destination({
    .name = "up_down_by_destination",
    .summary = "all paths of up_down; the destination selects one of as many VC classes as `detours` has",
    .topologies = kTrees,
    .setup = with_rule<setup_by_destination>,
    .candidates = candidates_declared<UpDown>,
    .preferred = true,
});

}  // namespace flitgym::routing::fat_tree::up_down
