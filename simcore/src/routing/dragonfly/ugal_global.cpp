// UGAL-G: the oracle. It decides as UGALg does, but also sees queues at other routers. By default these are the queues
// of the global channels of the source group, the definition of Kim et al. (ISCA 2008, 4.2). With scope=path it
// sees the queues of every channel of both paths.
#include "routing/dragonfly/ugal_global.hpp"

namespace flitgym::routing::dragonfly::ugal_global {

namespace {

constexpr LegClasses kClasses = {0, 1, 1, 1, 2};

void route(const Network& net, State& s, Batch& b) {
  const Dragonfly& df = as_dragonfly(net);
  const auto& rule = static_cast<const UgalRule&>(*net.routing);
  u32* const intermediates = rule.intermediate.of(s);
  for (u32 i = 0; i < b.count; i++) {
    if (i + 4 < b.count) __builtin_prefetch(&intermediates[b.packet[i + 4]], 1);
    Packet& p = s.packets[b.packet[i]];
    u32& intermediate = intermediates[b.packet[i]];
    const Ends e = ends(net, df, p);
    if (p.phase == kUndecided) {
      p.phase = kMinimal;
      double least = -1;
      for (u32 k = 0; k < rule.candidates && e.source_group != e.destination_group; k++) {
        const u32 middle = random_router_elsewhere(net, df, e.source_group, e.destination_group, route_draw(net, p, k));
        if (middle == kNone) break;
        const double q = seen_through(net, s, df, rule, p, b.router[i], df.group(middle), e);
        if (least < 0 || q < least) {
          least = q;
          intermediate = df.group(middle);
        }
      }
      if (least >= 0 && rule.diverts(seen_on_minimal_path(net, s, df, rule, p, b.router[i], e), least)) take_detour(p);
    }
    choose(b, i, follow_legs<false>(net, df, kClasses, p, intermediate, b.router[i], e));
  }
}

RoutingFacts setup(const Params& params, Network& net, std::shared_ptr<const ComponentData>& data) {
  auto rule = std::make_shared<OracleRule>();
  read_ugal(params, *rule);
  rule->measure = {congestion_of(params, net), Scope::kPort};
  rule->whole_path = params.text("scope") == "path";
  rule->intermediate = declare_intermediate(net, true);
  data = rule;
  RoutingFacts facts{3, 5};
  facts.remote = true;
  return facts;
}

std::vector<ParamSpec> params() {
  auto specs = ugal_params(1, true);
  // The oracle measures whole channels.
  std::erase_if(specs, [](const ParamSpec& p) { return p.key == "congestion_scope"; });
  specs.push_back(choice(
      "scope", "source_group", {"source_group", "path"},
      "queues that it sees: source_group = global channels of the source group; path = every channel of both paths"));
  return specs;
}

const Register<RoutingSpec> entry(two_legs<false, false, kClasses>({
    .name = "ugal_global",
    .summary = "minimal or through a random group, by local and remote queues: an oracle (UGAL-G)",
    .topologies = {"dragonfly"},
    .params = params(),
    .setup = setup,
    .route = route,
}));

}  // namespace

}  // namespace flitgym::routing::dragonfly::ugal_global
