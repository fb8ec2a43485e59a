// Agents at the source. A source chooses one of several fixed paths for each packet or flowlet (source_paths.hpp), from
// the delays and marks that its delivered packets return (source_returns.hpp). Routers only follow the path. The VC
// class is the number of hops done, as for VAL and UGAL on any graph (two_legs.cpp).
//
// After the description of Spritz in its abstract (Bonato, Kubicek, Kabbani, Ghalayini, Besta, Hoefler, "Spritz:
// Path-Aware Load Balancing in Low-Diameter Networks", arXiv:2602.19567, 2026): senders explore paths and keep good
// ones (Spritz-Scout), or spray packets over weighted paths (Spritz-Spray). The weights here are our own:
// 1 / (delay x (1 + mark_weight x marks)) ^ sharpness. choice=recycle keeps good paths as REPS does (reps.cpp).
//
// Differences from Spritz: the network is lossless, so no packet is trimmed, lost or sent again, and feedback consists
// of delays and marks only. Acknowledgements take no bandwidth. Routers know about failed links, so a packet on a
// broken path takes longer instead of being lost. The source does not know about failed links beyond its own router.
#include "routing/graph/source_rule.hpp"

namespace flitgym::routing::graph::source_paths {

constexpr u32 kScout = 15;  // number of the random draw that selects a path; other draws belong to the seam

static u32 draw_path(const Network& net, const Packet& p, const PathList& usable) {
  return below(route_draw(net, p, kScout), usable.count);
}

// The oldest returned path of an unmarked packet that was not used, or a random path.
static u32 recycle(const Network& net, const Packet& p, const PathList& usable, const SourceMemory::Row& row) {
  for (u32 k = 0; k < SourceMemory::kGood; k++) {
    u8& path = row.good[(row.keys[3] + k) % SourceMemory::kGood];  // the next to be overwritten is the oldest
    const u32 at = usable.find_number(path);
    path = kNoPath;
    if (at < usable.count) return at;
  }
  return draw_path(net, p, usable);
}

// The estimated delay of path k, longer if its packets were marked. A path without a returned packet counts as idle.
// The estimate returns to that of an idle path with time, because other sources change. If packets are on their way and
// none returns, the delay is at least the time since the last return.
static double score(const Network& net, const SourceRule& rule, const Packet& p, u32 router, const PathList& usable,
                    u32 k, const SourceMemory::Row& row, Cycle now) {
  const u32 path = usable.number[k];
  const double idle = SourceRule::idle_ns(net, p, router, usable.port[k], usable.middle[k]);
  if (!row.holds(net.terminal_router[p.destination])) return idle;
  const Cycle silent = now - row.waits[2 * path + 1];
  const double fresh = rule.memory_cycles / (rule.memory_cycles + silent);
  double delay = idle + fresh * std::max(row.delay[path] - idle, 0.0);
  if (row.waits[2 * path] > 0) delay = std::max(delay, silent * net.cycle_ns);
  return delay * (1 + rule.mark_weight * fresh * row.mark[path]);
}

// Draws a path with a probability in proportion to its weight.
static u32 weigh(const Network& net, const SourceRule& rule, const Packet& p, u32 router, const PathList& usable,
                 const SourceMemory::Row& row, Cycle now) {
  std::array<double, kMostPaths> scores, sums;
  double least = 0;
  for (u32 k = 0; k < usable.count; k++) {
    scores[k] = score(net, rule, p, router, usable, k, row, now);
    if (k == 0 || scores[k] < least) least = scores[k];
  }
  double sum = 0;
  for (u32 k = 0; k < usable.count; k++) {
    const double ratio = least / scores[k];
    double weight = 1;
    for (u32 n = 0; n < rule.sharpness; n++) weight *= ratio;
    sums[k] = sum += weight;
  }
  const double drawn = unit(route_draw(net, p, kScout)) * sum;
  u32 k = 0;
  while (k + 1 < usable.count && sums[k] <= drawn) k++;
  return k;
}

static u32 choose_path(const Network& net, State& s, const SourceRule& rule, const Packet& p, u32 router,
                       const PathList& usable, Cycle now) {
  const u32 to = net.terminal_router[p.destination];
  switch (rule.choice) {
    case SourceChoice::kFlow: return below(mix64(mix64(u64{p.source} << 32 | p.destination) + net.seed), usable.count);
    case SourceChoice::kSpray: return draw_path(net, p, usable);
    case SourceChoice::kRecycle: return recycle(net, p, usable, rule.memory.open(net, s, p.source, to));
    default: return weigh(net, rule, p, router, usable, rule.memory.open(net, s, p.source, to), now);
  }
}

// After the choice of a port.
static void chosen(const Network& net, State& s, Batch& b, u32 i) {
  const auto& rule = static_cast<const SourceRule&>(*net.relation);
  const u32 id = b.packet[i], router = b.router[i], port = net.port(router, b.out_port[i]);
  Packet& p = s.packets[id];
  if (p.phase == kUndecided) {
    p.phase = kMinimal;
    const u32 to = net.terminal_router[p.destination];
    if (router == to) return;
    rule.decided.of(s)[id] = b.now;
    const PathList list = rule.paths.of(net, router, to);
    if (const u32 k = list.find(b.out_port[i]); k < list.count) {
      rule.path.of(s)[id] = static_cast<u8>(k);
      if (list.middle[k] != kNone) {
        rule.intermediate.of(s)[id] = list.middle[k];
        p.phase = kToIntermediate;
      }
      const SourceMemory::Row row = rule.memory.open(net, s, p.source, to);
      row.keys[1] = b.now;
      row.keys[2] = k;
      if (row.waits[2 * k]++ == 0) row.waits[2 * k + 1] = b.now;
    }
  } else if (p.phase == kToIntermediate && rule.target(net, s, id, router) == net.terminal_router[p.destination]) {
    p.phase = kFromIntermediate;
  }
  if (net.is_link(port) && rule.measure.of(net, s, port, b.out_class[i]) >= rule.mark_flits) rule.marked.of(s)[id] = 1;
}

static void route(const Network& net, State& s, Batch& b) {
  const auto& rule = static_cast<const SourceRule&>(*net.relation);
  const Graph& graph = graph_now(net, s);
  rule.hear(net, s, b.now);
  for (u32 i = 0; i < b.count; i++) {
    const Packet& p = s.packets[b.packet[i]];
    const u32 router = b.router[i];
    if (const u32 target = rule.target(net, s, b.packet[i], router); target == router) {
      choose(b, i, ejection(net, p));
    } else if (p.phase == kUndecided) {
      const PathList usable = rule.usable(net, s, p, router, b.now);
      const u32 k = usable.count > 1 ? choose_path(net, s, rule, p, router, usable, b.now) : 0;
      choose(b, i, {usable.count ? usable.port[k] : rule.next_port(net, s, graph, b.packet[i], router, target), 0});
    } else {
      choose(b, i, {rule.next_port(net, s, graph, b.packet[i], router, target), hop_class(net, p)});
    }
    chosen(net, s, b, i);
  }
}

static void candidates(const Network& net, State& s, Batch& b) {
  const auto& rule = static_cast<const SourceRule&>(*net.relation);
  rule.hear(net, s, b.now);
  list_requests(net, s, b, [&](const Head& at, auto&& offer) {
    const Packet& p = at.packet;
    const u32 target = rule.target(net, s, at.id, at.router);
    if (target == at.router) return offer(net.terminal_port[p.destination], kAnyClass);
    if (p.phase == kUndecided) {
      const PathList usable = rule.usable(net, s, p, at.router, b.now);
      if (usable.count && rule.deciders == Deciders::kRouters) return offer(usable.port[draw_path(net, p, usable)], 0u);
      for (u32 k = 0; k < usable.count; k++) offer(usable.port[k], 0);
      if (usable.count) return;
    }
    if (rule.deciders == Deciders::kSource)
      return offer(rule.next_port(net, s, graph_now(net, s), at.id, at.router, target), hop_class(net, p));
    offer_minimal(at, target, offer);
  });
}

static void delivered(const Network& net, State& s, u32 packet) {
  const auto& rule = static_cast<const SourceRule&>(*net.relation);
  const u32 number = rule.path.of(s)[packet];
  if (number == kNoPath) return;
  const Packet& p = s.packets[packet];
  const u32 from = net.terminal_router[p.source], to = net.terminal_router[p.destination];
  const Cycle now = s.part.totals.now;
  rule.hear(net, s, now);
  const auto back = static_cast<Cycle>(flight(net, graph_now(net, s), to, from) / net.cycle_ns);
  rule.returns.send(s, now, now + back, p.destination,
                    {kNone, p.source, number * 2 + rule.marked.of(s)[packet], now - rule.decided.of(s)[packet], to});
}

static u32 intermediate_of(const Network& net, const State& s, u32 packet, u32 router, u32 port) {
  const auto& rule = static_cast<const SourceRule&>(*net.relation);
  const Packet& p = s.packets[packet];
  const u32 to = net.terminal_router[p.destination];
  if (p.phase == kToIntermediate) return rule.intermediate.of(s)[packet];
  if (p.phase != kUndecided || router == to) return kNone;
  const PathList list = rule.paths.of(net, router, to);
  const u32 k = list.find(port);
  return k < list.count ? list.middle[k] : kNone;
}

static RoutingFacts setup_routing(const Params& params, Network& net, SourceRule& rule) {
  const std::string& name = params.text("choice");
  rule.choice = name == "learned"   ? SourceChoice::kLearned
                : name == "recycle" ? SourceChoice::kRecycle
                : name == "spray"   ? SourceChoice::kSpray
                                    : SourceChoice::kFlow;
  rule.sharpness = params.count("sharpness");
  rule.mark_weight = params.real("mark_weight");
  rule.memory_cycles = params.real("memory_ns") / net.cycle_ns;
  return setup_source_rule(params, net, rule);
}

static RoutingFacts setup_relation(const Params& params, Network& net, SourceRule& rule) {
  const std::string& who = params.text("decisions");
  rule.deciders = who == "source" ? Deciders::kSource : who == "both" ? Deciders::kBoth : Deciders::kRouters;
  return setup_source_rule(params, net, rule);
}

static std::vector<ParamSpec> relation_specs() {
  const auto all = relation_params();
  return joined(source_params(), {*std::ranges::find(all, "decisions", &ParamSpec::key)});
}

const Register<RoutingSpec> routing({
    .name = "source_paths",
    .summary = "the source chooses one of several fixed paths, from returned delays and marks (after Spritz)",
    .params = joined(
        {choice("choice", "learned", {"learned", "recycle", "spray", "flow"},
                "learned = drawn with weights that fall with the returned delays and marks; recycle = a path whose "
                "packet returned unmarked, else random (as REPS); spray = random; flow = one path per source and "
                "destination (as ECMP)"),
         integer("sharpness", 8, 0, 64, "", "choice=learned: power of the weights; 0 = equal weights"),
         real("mark_weight", 1, 0, 100, "",
              "choice=learned: part of its delay that a path whose packets are all marked counts as longer"),
         real("memory_ns", 2000, 1, 1e9, "ns",
              "choice=learned: time without a return after which half of the delay above that of an idle path is "
              "forgotten")},
        source_params()),
    .setup = with_rule<setup_routing>,
    .route = route,
    .candidates = candidates,
    .chosen = chosen,
    .delivered = delivered,
    .waypoint = intermediate_of,
    .graph = true,
});

const Register<RelationSpec> relation({
    .name = "source_paths",
    .summary = "paths at the source, minimal or through an intermediate router; routers follow the path",
    .params = relation_specs(),
    .setup = with_rule<setup_relation>,
    .candidates = candidates,
    .chosen = chosen,
    .delivered = delivered,
    .waypoint = intermediate_of,
    .graph = true,
});

}  // namespace flitgym::routing::graph::source_paths

namespace flitgym::routing::graph {

double SourceRule::weight(const Network& net, State& s, u32 packet, u32 router, u32 port, u32 vc_class) const {
  const Packet& p = s.packets[packet];
  const u32 to = net.terminal_router[p.destination];
  const PathList list = paths.of(net, router, to);
  const u32 k = list.find(port);
  return choice == SourceChoice::kLearned && p.phase == kUndecided && k < list.count
             ? source_paths::score(net, *this, p, router, list, k, memory.row(net, s, p.source, to), s.part.totals.now)
             : ComponentData::weight(net, s, packet, router, port, vc_class);
}

}  // namespace flitgym::routing::graph
