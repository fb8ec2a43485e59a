// Clos-AD (Kim, Dally, Abts, ISCA 2007, for the flattened butterfly): UGAL with three changes.
//   1. The intermediate router is one of the closest common ancestors. A detour perturbs only dimensions in which
//      source and destination differ.
//   2. The intermediate router is not drawn but found on the way. In each of those dimensions, in order, a non-minimal
//      packet takes the channel with the shortest queue. A dummy queue represents staying at the present coordinate.
//   3. A router makes its decisions one after the other, and each decision sees the earlier ones (sequential
//      allocation).
// The source router decides as UGAL does. It compares the minimal path with the shortest queue of the first dimension
// in which source and destination differ. A packet can stay at its coordinate only in later dimensions, so a
// non-minimal packet always perturbs the first dimension. If the shortest queue there belongs to a direct link, the
// packet is minimal.
//
// The dummy queue is as long as the mean of the dimension's queues (flitgym's choice). If all queues are equal, staying
// is then as likely as each channel.
//
// Class 0 leads to the intermediate router, in ascending dimensions. Class 1 is used from there on and on minimal
// paths, in dimension order.
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

// The shortest queue of dimension k. Ties are broken at random, with a separate draw for each dimension that the packet
// perturbs at this router.
Middle shortest(const Network& net, const HyperX& hx, const Congestion& congestion, const Packet& p, u32 router, u32 k,
                bool may_stay) {
  Best best;
  double sum = 0;
  for (u32 port = hx.base[k]; port < hx.end_of(k); port++) {
    const double q = congestion.of(router, port, 0);
    sum += q;
    best.consider({port, 0}, q, false);
  }
  const double mean = sum / (hx.end_of(k) - hx.base[k]);
  if (may_stay) best.consider({kNone, 0}, mean, false);
  const Hop hop = best.pick(draw(net.seed, route_draw(net, p, 15), k));
  return {hop.port, best.weight()};
}

// Next hop of a packet on its way to the intermediate router. `first` is the lowest dimension that the packet may still
// perturb. If the packet stays in all of them, this router is the intermediate router and the second leg begins.
Hop towards_middle(const Network& net, const HyperX& hx, const Congestion& congestion, Packet& p, u32 router, u32 to,
                   u32 first) {
  for (u64 rest = hx.difference(router, to); rest;) {
    const u32 k = hx.first_unaligned(rest);
    rest = hx.without(rest, k);
    if (k < first) continue;
    if (const Middle middle = shortest(net, hx, congestion, p, router, k, true); middle.port != kNone)
      return {middle.port, 0};
  }
  p.phase = kFromIntermediate;
  return follow_hyperx_legs(net, hx, p, kNone, router);
}

Hop decide(const Network& net, const HyperX& hx, const Rule& rule, const Congestion& congestion, Packet& p, u32 router,
           u32 to) {
  const u64 difference = hx.difference(router, to);
  const u32 h = hx.distance(difference), k = hx.first_unaligned(difference),
            direct = hx.port_towards(router, to, k, hx.link_of(p, k));
  const Middle middle = shortest(net, hx, congestion, p, router, k, false);
  const double minimal = rule.minimal(h, congestion.of(router, direct, 1));
  p.phase = kMinimal;
  // The shortest queue is that of a direct link.
  if (middle.port - hx.port_towards(router, to, k, 0) < hx.links[k]) return {middle.port, 1};
  if (rule.nonminimal(h, 2 * h, middle.congestion) >= minimal - kWeightTolerance) return {direct, 1};
  take_detour(p);
  return {middle.port, 0};
}

void route(const Network& net, State& s, Batch& b) {
  const HyperX& hx = as_hyperx(net);
  const auto& rule = static_cast<const Rule&>(*net.routing);
  Congestion congestion(net, s, rule.measure);
  for (u32 i = 0; i < b.count; i++) {
    Packet& p = s.packets[b.packet[i]];
    const u32 router = b.router[i], to = net.terminal_router[p.destination],
              in_dimension = hx.dimension_of_port[b.in_port[i]];
    congestion.begin(router);
    Hop hop;
    if (p.phase == kUndecided && router != to) hop = decide(net, hx, rule, congestion, p, router, to);
    else if (p.phase == kToIntermediate) hop = towards_middle(net, hx, congestion, p, router, to, in_dimension + 1);
    else hop = follow_hyperx_legs(net, hx, p, kNone, router);
    congestion.promise(hop, p.flits);
    choose(b, i, hop);
  }
}

RoutingFacts setup(const Params& params, Network& net, std::shared_ptr<const ComponentData>& data) {
  auto rule = std::make_shared<Rule>();
  read_weight(params, net, *rule, false);
  data = rule;
  return weighing({2, 2 * as_hyperx(net).dimensions}, *rule);
}

// The comparison gives a detour twice the hops of the minimal path. A detour has this length if it perturbs every
// dimension. So `detour_hops` has no effect here.
std::vector<ParamSpec> params() {
  auto specs = weight_params("absolute", "port", "sequential");
  std::erase_if(specs, [](const ParamSpec& p) { return p.key == "detour_hops"; });
  return specs;
}

// An undecided packet may take the direct links of the first unaligned dimension on class 1, and the other links of
// that dimension on class 0. A packet on its way to the intermediate router may take any link of a later unaligned
// dimension on class 0. It may also take its direct link towards the destination on class 1.
void candidates(const Network& net, State& s, Batch& b) {
  const HyperX& hx = as_hyperx(net);
  list_candidates(net, b, [&](u32 i, auto&& offer) {
    Packet p = s.packets[b.packet[i]];
    const u32 router = b.router[i], to = net.terminal_router[p.destination];
    const auto offer_towards = [&](u32 first_link, u32 end_link, u32 k) {
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
      offer_towards(0, hx.links[lowest], lowest);
      const u32 direct = hx.port_towards(router, to, lowest, 0);
      for (u32 port = hx.base[lowest]; port < hx.end_of(lowest); port++)
        if (port - direct >= hx.links[lowest]) offer(port, 0);
      return;
    }
    const u32 link = hx.link_of(p, lowest);
    offer_towards(link, link + 1, lowest);
    const u32 in_dimension = hx.dimension_of_port[b.in_port[i]];
    for (u64 rest = difference; rest;) {
      const u32 k = hx.first_unaligned(rest);
      rest = hx.without(rest, k);
      if (in_dimension != HyperX::kNoDimension && k <= in_dimension) continue;
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
      .summary = "minimal or through a common ancestor, by the shortest queues and in sequence (Clos-AD)",
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
