// Up to the nearest common ancestor of source and destination, then down: all minimal paths of a fat tree. Any up port
// leads to a common ancestor. From there a single child leads down, by any of its parallel cables. `ascent` selects the
// port. One VC class is enough. Packets take upward channels by rising level and then downward channels, so there is no
// dependency cycle.
#include "routing/choice.hpp"
#include "routing/congestion.hpp"
#include "routing/relation.hpp"
#include "simcore/registry.hpp"
#include "topology/fat_tree.hpp"

namespace flitgym::routing::fat_tree::up_down {

namespace {

enum class Ascent : u8 { kAdaptive, kRandom, kTwoRandom, kDModK };

struct Rule : ComponentData {
  Ascent ascent = Ascent::kAdaptive;
  CongestionMeasure measure;
};

// The least congested port. The search begins at a port that rotates by packet and differs between routers; a tie goes
// to the first port found.
u32 least_congested(const Network& net, const State& s, const CongestionMeasure& measure, const Packet& p, u32 router,
                    const FatTree::Ports& ports) {
  const u32 turn = (p.source + p.sequence + router) % ports.count;
  u32 best = ports[turn], least = measure.of(net, s, net.port(router, best), 0);
  for (u32 k = 1; k < ports.count && least > 0; k++) {
    const u32 port = ports[turn + k < ports.count ? turn + k : turn + k - ports.count],
              flits = measure.of(net, s, net.port(router, port), 0);
    if (flits < least) least = flits, best = port;
  }
  return best;
}

u32 pick(const Network& net, const State& s, const Rule& rule, const FatTree& tree, const Packet& p, u32 router,
         u32 to) {
  const FatTree::Ports ports = tree.towards(router, to);
  if (ports.count == 1) return ports[0];
  switch (rule.ascent) {
    case Ascent::kAdaptive: return least_congested(net, s, rule.measure, p, router, ports);
    case Ascent::kRandom: return ports[below(route_draw(net, p, 0), ports.count)];
    case Ascent::kTwoRandom: {
      const u32 one = ports[below(route_draw(net, p, 0), ports.count)],
                other = ports[below(route_draw(net, p, 1), ports.count)];
      return rule.measure.of(net, s, net.port(router, one), 0) > rule.measure.of(net, s, net.port(router, other), 0)
                 ? other
                 : one;
    }
    case Ascent::kDModK: break;
  }
  return ports[tree.own_turn(router, to, p.destination)];
}

void route(const Network& net, State& s, Batch& b) {
  const FatTree& tree = as_fat_tree(net);
  const auto& rule = static_cast<const Rule&>(*net.routing);
  for (u32 i = 0; i < b.count; i++) {
    const Packet& p = s.packets[b.packet[i]];
    const u32 router = b.router[i], to = net.terminal_router[p.destination];
    choose(b, i, router == to ? ejection(net, p) : Hop{pick(net, s, rule, tree, p, router, to), 0});
  }
}

void candidates(const Network& net, State& s, Batch& b) {
  const FatTree& tree = as_fat_tree(net);
  list_candidates(net, b, [&](u32 i, auto&& offer) {
    const Packet& p = s.packets[b.packet[i]];
    const u32 router = b.router[i], to = net.terminal_router[p.destination];
    if (router == to) {
      offer(net.terminal_port[p.destination], kAnyClass);
      return;
    }
    const FatTree::Ports ports = tree.towards(router, to);
    for (u32 k = 0; k < ports.count; k++) offer(ports[k], 0);
  });
}

RoutingFacts setup(const Params& params, Network& net, std::shared_ptr<const ComponentData>& data) {
  auto rule = std::make_shared<Rule>();
  const std::string& ascent = params.text("ascent");
  rule->ascent = ascent == "adaptive"     ? Ascent::kAdaptive
                 : ascent == "random"     ? Ascent::kRandom
                 : ascent == "two_random" ? Ascent::kTwoRandom
                                          : Ascent::kDModK;
  rule->measure = measure_of(params, net);
  data = rule;
  RoutingFacts facts{1, net.topology->diameter};
  facts.minimal = true;
  return facts;
}

const Register<RoutingSpec> entry([] {
  RoutingSpec spec{
      .name = "up_down",
      .summary = "up to the nearest common ancestor, by the least congested port or another rule, then down",
      .topologies = {"fat_tree", "rail_optimised", "multi_plane_fat_tree"},
      .params =
          {choice("ascent", "adaptive", {"adaptive", "random", "two_random", "d_mod_k"},
                  "choice of the up port (and of parallel cables down): adaptive = the least congested; random = a "
                  "random one; two_random = the less congested of two random ones; d_mod_k = fixed by the destination"),
           congestion_param("both"), congestion_scope_param("port")},
      .setup = setup,
      .route = route,
  };
  spec.candidates = candidates;
  return spec;
}());

}  // namespace

}  // namespace flitgym::routing::fat_tree::up_down
