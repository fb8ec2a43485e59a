// Clos-AD (Kim, Dally, Abts, ISCA 2007, for the flattened butterfly): UGAL with three changes. The intermediate router
// is one of the closest common ancestors: only dimensions in which source and destination differ are perturbed. It is
// not drawn but found on the way: a non-minimal packet takes, in each of those dimensions in order, the channel with
// the shortest queue, where a dummy queue stands for staying at the present coordinate. And decisions of a router are
// made one after the other, each seeing those before it (sequential allocation). The decision is UGAL's: minimal path
// against the shortest queue of the first of those dimensions. That dimension, unlike the later ones, offers no
// staying, so a non-minimal packet perturbs it always; where its shortest queue is the direct one, it is minimal. The
// length of the dummy queue is ours: the mean of the dimension's queues, since staying takes a like share of the
// packets. Class 0 up to the intermediate router, dimensions ascending; class 1 from there and on minimal paths, in
// dimension order.
#include "routing/hyperx/incremental.hpp"
#include "routing/hyperx/legs.hpp"
#include "simcore/registry.hpp"

namespace flitgym::routing::hyperx::clos_ad {

namespace {

struct Rule : WeightRule {};

struct Middle {
  u32 port = kNone;  // kNone: stay
  double congestion = 0;
};

// The shortest queue of dimension k, ties at random: a draw of its own for each dimension that a packet perturbs at one
// router.
Middle shortest(const Network& net, const State& s, const HyperX& hx, const Rule& rule, const Promises& promises,
                const Packet& p, u32 router, u32 k, bool may_stay) {
  Best best;
  double sum = 0;
  for (u32 port = hx.base[k]; port < hx.end_of(k); port++) {
    const double q = promises.ahead(rule.measure, s, net.port(router, port), 0);
    sum += q;
    best.consider({port, 0}, q, false);
  }
  const double mean = sum / (hx.end_of(k) - hx.base[k]);
  if (may_stay) best.consider({kNone, 0}, mean, false);
  const Hop hop = best.pick(draw(net.seed, route_draw(net, p, 15), k));
  return {hop.port, best.weight()};
}

// On the way to the intermediate router: the next hop there, or none if this is it. `first` is the lowest dimension
// left.
Hop towards_middle(const Network& net, const State& s, const HyperX& hx, const Rule& rule, const Promises& promises,
                   Packet& p, u32 router, u32 to, u32 first) {
  for (u64 rest = hx.difference(router, to); rest;) {
    const u32 k = hx.first_unaligned(rest);
    rest = hx.without(rest, k);
    if (k < first) continue;
    if (const Middle middle = shortest(net, s, hx, rule, promises, p, router, k, true); middle.port != kNone)
      return {middle.port, 0};
  }
  p.phase = kFromIntermediate;
  return follow_hyperx_legs(net, hx, p, kNone, router);
}

Hop decide(const Network& net, const State& s, const HyperX& hx, const Rule& rule, const Promises& promises, Packet& p,
           u32 router, u32 to) {
  const u64 difference = hx.difference(router, to);
  const u32 h = hx.distance(difference), k = hx.first_unaligned(difference),
            direct = hx.port_towards(router, to, k, hx.link_of(p, k));
  const Middle middle = shortest(net, s, hx, rule, promises, p, router, k, false);
  const double minimal = rule.minimal(h, promises.ahead(rule.measure, s, net.port(router, direct), 1));
  p.phase = kMinimal;
  // the shortest is a direct one
  if (middle.port - hx.port_towards(router, to, k, 0) < hx.links[k]) return {middle.port, 1};
  if (rule.nonminimal(h, 2 * h, middle.congestion) >= minimal - kWeightTolerance) return {direct, 1};
  take_detour(p);
  return {middle.port, 0};
}

void route(const Network& net, State& s, Batch& b) {
  const HyperX& hx = as_hyperx(net);
  const auto& rule = static_cast<const Rule&>(*net.routing);
  Promises promises(net, b, rule);
  for (u32 i = 0; i < b.count; i++) {
    Packet& p = s.packets[b.packet[i]];
    const u32 router = b.router[i], to = net.terminal_router[p.destination],
              came_by = hx.dimension_of_port[b.in_port[i]];
    Hop hop;
    if (p.phase == kUndecided && router != to) hop = decide(net, s, hx, rule, promises, p, router, to);
    else if (p.phase == kToIntermediate) hop = towards_middle(net, s, hx, rule, promises, p, router, to, came_by + 1);
    else hop = follow_hyperx_legs(net, hx, p, kNone, router);
    promises.add(router, hop, p.flits);
    choose(b, i, hop);
  }
}

RoutingFacts setup(const Params& params, Network& net, std::shared_ptr<const ComponentData>& data) {
  auto rule = std::make_shared<Rule>();
  read_weight(params, net, *rule, false);
  data = rule;
  return weighing({2, 2 * as_hyperx(net).dimensions}, *rule);
}

// A detour that perturbs every dimension is twice as long as the minimal path, so the word `detour_hops` has nothing to
// say.
std::vector<ParamSpec> params() {
  auto specs = weight_params("absolute", "port", true);
  std::erase_if(specs, [](const ParamSpec& p) { return p.key == "detour_hops"; });
  return specs;
}

// Undecided: the direct links on class 1, any other of the first unaligned dimension on class 0. On the way to the
// middle: on class 0 any of an unaligned dimension that is left, or the rest of the way on class 1.
void candidates(const Network& net, State& s, Batch& b) {
  const HyperX& hx = as_hyperx(net);
  list_candidates(net, b, [&](u32 i, auto&& offer) {
    Packet p = s.packets[b.packet[i]];
    const u32 router = b.router[i], to = net.terminal_router[p.destination];
    const auto rest_of_the_way = [&](u32 first_link, u32 end_link, u32 k) {
      for (u32 link = first_link; link < end_link; link++) offer(hx.port_towards(router, to, k, link), 1);
    };
    if (router == to || p.phase == kMinimal || p.phase == kFromIntermediate) {
      if (p.phase == kToIntermediate) p.phase = kFromIntermediate;
      const Hop hop = follow_hyperx_legs(net, hx, p, kNone, router);
      return offer(hop.port, hop.vc_class);
    }
    const u64 difference = hx.difference(router, to);
    const u32 lowest = hx.first_unaligned(difference);
    if (p.phase == kUndecided) {
      rest_of_the_way(0, hx.links[lowest], lowest);
      const u32 direct = hx.port_towards(router, to, lowest, 0);
      for (u32 port = hx.base[lowest]; port < hx.end_of(lowest); port++)
        if (port - direct >= hx.links[lowest]) offer(port, 0);
      return;
    }
    const u32 link = hx.link_of(p, lowest);
    rest_of_the_way(link, link + 1, lowest);
    const u32 came_by = hx.dimension_of_port[b.in_port[i]];
    for (u64 rest = difference; rest;) {
      const u32 k = hx.first_unaligned(rest);
      rest = hx.without(rest, k);
      if (came_by != HyperX::kNoDimension && k <= came_by) continue;
      for (u32 port = hx.base[k]; port < hx.end_of(k); port++) offer(port, 0);
    }
  });
}

void chosen(const Network& net, State& s, Batch& b, u32 i) {
  Packet& p = s.packets[b.packet[i]];
  if (b.router[i] == net.terminal_router[p.destination]) return;
  if (p.phase == kUndecided) p.phase = b.out_class[i] == 0 ? kToIntermediate : kMinimal;
  else if (p.phase == kToIntermediate && b.out_class[i] == 1) p.phase = kFromIntermediate;
}

const Register<RoutingSpec> entry([] {
  RoutingSpec spec{
      .name = "clos_ad",
      .summary = "minimal, or by the shortest queues through a common ancestor, decided in sequence (Clos-AD)",
      .topologies = {"hyperx"},
      .params = params(),
      .setup = setup,
      .route = route,
  };
  spec.candidates = candidates;
  spec.chosen = chosen;
  return spec;
}());

}  // namespace

}  // namespace flitgym::routing::hyperx::clos_ad
