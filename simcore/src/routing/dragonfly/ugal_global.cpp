// UGAL-G: the oracle. It decides as UGALg does, but also sees queues at other routers. By default these are the queues
// of the global channels of the source group, the definition of Kim et al. (ISCA 2008, 4.2). With scope=path it
// sees the queues of every channel of both paths.
#include "routing/dragonfly/two_legs.hpp"

namespace flitgym::routing::dragonfly::ugal_global {

namespace {

constexpr LegClasses kClasses = {0, 1, 1, 1, 2};

struct Seen {
  u32 congestion = 0, hops = 0;
};

// Walks from `router` to `group`, or to the router `to` if one is given. Sums the congestion that the oracle sees.
Seen walk(const Network& net, const State& s, const Dragonfly& df, const UgalRule& rule, u32 link, u32& router,
          u32 group, u32 to) {
  const u32 home = df.group(router);
  Seen seen;
  while (df.group(router) != group || (to != kNone && router != to)) {
    const u32 k = to != kNone ? df.towards(router, to, link) : df.exit(router, group, link), port = net.port(router, k);
    if (rule.whole_path || (df.group(router) == home && df.is_global(k)))
      seen.congestion += port_congestion(s, rule.measure.parts, port);
    seen.hops++;
    router = net.router_of_port(net.channels[port].peer);
  }
  return seen;
}

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
        u32 at = b.router[i];
        const Seen there = walk(net, s, df, rule, df.link_of(p), at, df.group(middle), kNone);
        const Seen on = walk(net, s, df, rule, df.link_of(p), at, e.destination_group, e.destination_router);
        const double q = (there.congestion + (rule.whole_path ? on.congestion : 0)) *
                         (rule.hop_weighted ? there.hops + on.hops : 1.0);
        if (least < 0 || q < least) {
          least = q;
          intermediate = df.group(middle);
        }
      }
      u32 at = b.router[i];
      const Seen direct = walk(net, s, df, rule, df.link_of(p), at, e.destination_group, e.destination_router);
      if (least >= 0 && rule.diverts(direct.congestion * (rule.hop_weighted ? direct.hops : 1.0), least))
        take_detour(p);
    }
    choose(b, i, follow_legs<false>(net, df, kClasses, p, intermediate, b.router[i], e));
  }
}

RoutingFacts setup(const Params& params, Network& net, std::shared_ptr<const ComponentData>& data) {
  auto rule = std::make_shared<UgalRule>();
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
