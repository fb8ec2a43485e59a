// Polarized routing on any graph. Sources: Camarero, Martinez, Beivide, "Polarized routing: an efficient and versatile
// algorithm for large direct networks", HOTI 2021. The same authors, "Polarized routing for large interconnection
// networks", IEEE Micro 42(2), 2022. The rules are those of the authors' simulator CAMINOS.
//
// A packet from s to t at router c has the weight D(c, s) - D(c, t), with distances D in hops. The weight rises from
// -D(s, t) to D(s, t). A hop must not lower the weight. If a hop leaves the weight unchanged, it must lead away from s
// while c is closer to s than to t, and towards t otherwise. Minimal paths and many longer paths obey these rules. The
// routing takes the candidate with the lowest cost. The cost is the queue plus `penalty_flits` times (2 - the rise of
// the weight).
//
// Differences from the paper:
// - A router where no hop obeys the rules (a corner) offers the minimal ports. The paper only admits topologies without
//   corners.
// - Polarized paths may have up to 4 D - 3 hops on a graph of diameter D. Here `path_hops` bounds them, so that the
//   number of VC classes is bounded. The default is the lesser of 4 D - 3 and 2 D, the path of Valiant's algorithm.
// - The VC class is the number of hops done. It only grows, so there is no dependency cycle.
#include "simcore/routing/paths.hpp"

namespace flitgym::routing::graph::polarized {

struct Polarized {
  using Fact = u32;  // the rise of the weight, 0 to 2
  struct Rule : ComponentData {
    u32 budget = 0;  // most hops of a path while no link fails
    u32 penalty = 0;
    CongestionMeasure measure;
    double weight(const Network& net, State& s, u32 packet, u32 router, u32 port, u32 vc_class) const override {
      Congestion congestion(net, s, measure);
      congestion.begin(router);
      double found = ComponentData::weight(net, s, packet, router, port, vc_class);
      const Head at = head_of(net, s, packet, router);
      offer(at, *this, [&](u32 k, u32 of_class, u32 rise) {
        if (k == port) found = Polarized::weight(at, *this, congestion, {k, of_class}, rise);
      });
      return found;
    }
  };
  template <class Out>
  static void offer(const Head& at, const Rule& rule, Out&& out) {
    const Network& net = at.net;
    const Graph& g = graph_now(net, at.s);
    const u32 from = net.terminal_router[at.packet.source], vc_class = hop_class(net, at.packet);
    const u32 behind = distance(net, g, at.router, from), ahead = distance(net, g, at.router, at.to);
    bool any = false;
    each_link(net, g, at.router, [&](u32 k) {
      const u32 next = net.next_router(net.port(at.router, k));
      const u32 left = distance(net, g, next, at.to), away = distance(net, g, next, from);
      const i32 rise = static_cast<i32>(away - behind) + static_cast<i32>(ahead - left);
      const bool obeys = rise > 0 || (rise == 0 && (behind < ahead ? away > behind : left < ahead));
      if (!obeys || at.packet.hops + 1u + left > rule.budget) return;
      out(k, vc_class, static_cast<u32>(rise));
      any = true;
    });
    if (!any) each_minimal(net, g, at.router, at.to, [&](u32 k) { out(k, vc_class, 0u); });
  }
  static u32 weight(const Head& at, const Rule& rule, const Congestion& congestion, const Hop& hop, u32 rise) {
    return congestion.of(at.router, hop.port, hop.vc_class) + (2 - rise) * rule.penalty;
  }
};

// A minimal port comes first, as agents expect. It is added if the rules admit none.
static void candidates(const Network& net, State& s, Batch& b) {
  const Graph& g = graph_now(net, s);
  list_candidates(net, s, b, [&](const Head& at, auto&& offer) {
    OfferedBy<Polarized> all;
    Polarized::offer(at, rule_of<Polarized>(net), all);
    const auto lower = [&](const Hop& hop) {
      return distance(net, g, net.next_router(net.port(at.router, hop.port)), at.to) <
             distance(net, g, at.router, at.to);
    };
    if (std::stable_partition(all.hop, all.hop + all.count, lower) == all.hop)
      offer(net.topology->minimal_port(net, g, at.router, at.packet), hop_class(net, at.packet));
    for (u32 k = 0; k < all.count; k++) offer(all[k], all.hop[k].vc_class);
  });
}

static RoutingFacts setup(const Params& params, Network& net, Polarized::Rule& rule) {
  rule.measure = measure_of(params, net);
  rule.penalty = static_cast<u32>(params.integer("penalty_flits"));
  need_distances(net);
  const u32 diameter = longest_path(net);
  const i64 wanted = params.integer("path_hops");
  if (wanted >= 0 && wanted < diameter)
    throw ConfigError("routing.polarized.path_hops: ", wanted, " is below the diameter ", diameter,
                      " of the network; use at least ", diameter, ", or -1 for the default");
  rule.budget = wanted >= 0 ? static_cast<u32>(wanted) : std::min(2 * diameter, 4 * std::max(1u, diameter) - 3);
  const u32 hops = hops_in_all(net, rule.budget > diameter ? rule.budget - diameter : 0);
  return {.classes = hops, .max_hops = hops};
}

const Register<RoutingSpec> entry({
    .name = "polarized",
    .summary = "the least congested of all paths that lead away from the source, then to the destination (Polarized)",
    .params = {integer("path_hops", -1, -1, kMaxVcs, "hops",
                       "hops of the longest path, and number of VC classes; -1 = twice the diameter D, or 4 D - 3 if "
                       "this is less"),
               integer("penalty_flits", 16, 0, 1 << 20, "flits",
                       "cost of a unit by which a hop raises the weight by less than 2"),
               congestion_param("both"), congestion_scope_param("port"), allocation_param()},
    .setup = with_rule<setup>,
    .route = route_declared<Polarized>,
    .candidates = candidates,
    .graph = true,
});

}  // namespace flitgym::routing::graph::polarized
