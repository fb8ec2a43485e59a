// UGAL (Singh 2005) on HyperX. Only the source router decides, between the minimal path in dimension order and the path
// through a random router (VAL's). It compares the weights of SC'19: hops x congestion of the first hop, biases on the
// non-minimal side, ties to minimal. A drawn intermediate that is the source or destination router is skipped. A packet
// without an intermediate is minimal.
#include <algorithm>

#include "routing/hyperx/incremental.hpp"
#include "routing/hyperx/legs.hpp"
#include "simcore/registry.hpp"

namespace flitgym::routing::hyperx::ugal {

namespace {

struct Rule : WeightRule {
  u32 candidates = 1;
  Kept<u32> intermediate;
};

void decide(const Network& net, const HyperX& hx, const Rule& rule, const Congestion& congestion, Packet& p,
            u32& intermediate, u32 router, u32 to) {
  const u32 h = hx.distance(hx.difference(router, to)), direct = hx.dor_port(router, to, p);
  double least = 0;
  u32 chosen = kNone;
  for (u32 n = 0; n < rule.candidates; n++) {
    const u32 middle = below(route_draw(net, p, n), net.routers);
    if (middle == router || middle == to) continue;
    const u32 port = hx.dor_port(router, middle, p), hops = detour_hops(hx, router, middle, to);
    const double weight = rule.nonminimal(h, hops, congestion.of(router, port, 0, port == direct));
    const double minimal = rule.minimal(h, congestion.of(router, direct, 1, port == direct));
    if (weight >= minimal - kWeightTolerance || (chosen != kNone && weight >= least)) continue;
    least = weight;
    chosen = middle;
  }
  if (chosen == kNone) return;
  intermediate = chosen;
  p.phase = kToIntermediate;
}

void route(const Network& net, State& s, Batch& b) {
  const HyperX& hx = as_hyperx(net);
  const auto& rule = static_cast<const Rule&>(*net.routing);
  Congestion congestion(net, s, rule.measure);
  u32* const intermediates = rule.intermediate.of(s);
  for (u32 i = 0; i < b.count; i++) {
    Packet& p = s.packets[b.packet[i]];
    u32& intermediate = intermediates[b.packet[i]];
    const u32 router = b.router[i], to = net.terminal_router[p.destination];
    congestion.begin(router);
    if (p.phase == kUndecided) {
      p.phase = kMinimal;
      if (router != to) decide(net, hx, rule, congestion, p, intermediate, router, to);
    }
    const Hop hop = follow_hyperx_legs(net, hx, p, intermediate, router);
    congestion.promise(hop, p.flits);
    choose(b, i, hop);
  }
}

RoutingFacts setup(const Params& params, Network& net, std::shared_ptr<const ComponentData>& data) {
  auto rule = std::make_shared<Rule>();
  read_weight(params, net, *rule);
  rule->candidates = params.count("candidates");
  rule->intermediate = declare_intermediate(net);
  data = rule;
  return weighing({2, 2 * as_hyperx(net).dimensions}, *rule);
}

std::vector<ParamSpec> params() {
  auto specs = weight_params("absolute", "port");
  std::ranges::replace_if(
      specs, [](const ParamSpec& p) { return p.key == "congestion_scope"; }, congestion_scope_of_paths_param("port"));
  specs.push_back(integer("candidates", 1, 1, 15, "", "number of random intermediates compared"));
  return specs;
}

const Rule& relation(const Network& net) { return static_cast<const Rule&>(*net.relation); }
void candidates(const Network& net, State& s, Batch& b) {
  hyperx_leg_candidates<false>(net, s, b, relation(net).intermediate, relation(net).candidates);
}
void chosen(const Network& net, State& s, Batch& b, u32 i) {
  hyperx_leg_chosen(net, s, b, i, relation(net).intermediate, relation(net).candidates);
}

const Register<RoutingSpec> entry([] {
  RoutingSpec spec{
      .name = "ugal",
      .summary = "minimal or through a random router, by the queues of the source router (UGAL)",
      .topologies = {"hyperx"},
      .params = params(),
      .setup = setup,
      .route = route,
  };
  spec.candidates = candidates;
  spec.chosen = chosen;
  spec.operations = weight_operations;
  return spec;
}());

}  // namespace

}  // namespace flitgym::routing::hyperx::ugal
