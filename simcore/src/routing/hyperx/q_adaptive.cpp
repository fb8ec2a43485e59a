// Q-adaptive on HyperX. Nobody has published one; this one is flitgym's own. It keeps what made the Dragonfly's work
// (Kang, Wang, Lan, HPDC 2021): a small two-level table, a bound on hops, off-policy estimates that travel back,
// hysteretic learning.
//
// Paths are DimWAR's: dimensions in order, in each the direct link or one deroute, at most 2 L hops, two VC classes. In
// that order a deroute changes nothing behind its dimension: wherever a packet is derouted to, it enters the next
// dimension at the same router. So the time to the destination is a sum over dimensions, and the table need only know
// one of them at a time:
//   level 1  row: (dimension k, the destination's coordinate in it), sum S_k rows
//   level 2  column: the port, of dimension k
//   value    estimated ns from the decision here until the packet is aligned in dimension k
// This is no approximation of a larger table, and it does not grow with the network but with its widths.
//
// At the first router of a dimension the packet takes the port of the least value if that beats the direct one's by
// q_thld1 (relative), or with probability epsilon a random one; after a deroute it must go directly. Downstream, the
// hop's delay plus the estimate from there (0 when aligned) goes back over the link and is learned: alpha for good
// news, beta for bad. The clock starts with the decision, not with the arrival in the input buffer as on the Dragonfly:
// the wait behind other packets is the same whatever port is taken, but on an input-queued router it can be a hundred
// times a hop, and no relative gain would be left to see. What UGAL and DimWAR cannot see, the queue of a deroute's
// second hop, is in these values. What they do see, the router's own queues, is not: an answer takes a round trip, in
// which a port of the study's routers sends hundreds of flits, so that all packets would rush to the port that was the
// best a moment ago. queue_weight adds the time that a port's own flits need: those of its output queue, or on a router
// without one those of the class downstream (congestion and congestion_scope `auto`). On 8x8 under bit complement, of
// load 0.45 in packets of 1 to 16 flits router sc19 accepts 0.12 without it and 0.45 with it; of 0.3 in single flits
// router input_queued accepts 0.13 without it and 0.27 with it, 0.13 if the clock started with the arrival.
#include "routing/congestion.hpp"
#include "routing/q_table.hpp"
#include "routing/relation.hpp"
#include "simcore/error.hpp"
#include "topology/hyperx.hpp"

namespace flitgym::routing::hyperx::q_adaptive {

namespace {

struct Rule : QRule {
  CongestionMeasure measure;
  double queue_weight = 0;
  std::vector<u32> first_row;  // [L]
};

void route(const Network& net, State& s, Batch& b) {
  const HyperX& hx = as_hyperx(net);
  const auto& rule = static_cast<const Rule&>(*net.routing);
  for (u32 i = 0; i < b.count; i++) {
    Packet& p = s.packets[b.packet[i]];
    PacketDetail& detail = s.details[b.packet[i]];
    const u32 router = b.router[i], to = net.terminal_router[p.destination], in_port = b.in_port[i],
              came_by = hx.dimension_of_port[in_port];
    const u64 difference = hx.difference(router, to);
    const bool between = came_by != HyperX::kNoDimension, derouted = between && hx.unaligned(difference, came_by);
    // The answer to the router before, about the dimension of the last hop.
    detail.value = between ? 0.0f : -1.0f;
    detail.arrived = b.now;
    if (between) detail.row = rule.first_row[came_by] + hx.coordinate(to, came_by);
    if (router == to) {
      choose(b, i, ejection(net, p));
      continue;
    }
    const u32 k = hx.first_unaligned(difference), direct = hx.port_towards(router, to, k, hx.link_of(p, k));
    const float* row = rule.table.row(s, router, rule.first_row[k] + hx.coordinate(to, k));
    const auto estimate = [&](u32 at) {
      const u32 id = net.port(router, at);
      const double queue = rule.queue_weight > 0 ? rule.queue_weight * rule.measure.of(net, s, id, 0) *
                                                       net.channels[id].flit_cycles * net.cycle_ns
                                                 : 0;
      return row[at - hx.terminals] + static_cast<float>(queue);
    };
    u32 port = direct;
    if (derouted) {
      detail.value = row[direct - hx.terminals];
    } else {
      const float minimal = estimate(direct);
      float least = minimal;
      u32 best = direct;
      for (u32 candidate = hx.base[k]; candidate < hx.end_of(k); candidate++)
        if (const float value = estimate(candidate); value < least) {
          least = value;
          best = candidate;
        }
      if (best != direct && (minimal - least) / minimal >= rule.q_thld1) port = best;
      if (rule.epsilon > 0 && !s.part.totals.frozen && unit(route_draw(net, p, 0)) < rule.epsilon)
        port = hx.base[k] + below(route_draw(net, p, 1), hx.end_of(k) - hx.base[k]);
    }
    choose(b, i, {port, derouted});
  }
}

// Links alone: one hop to the aligned router, two by any other.
void initialise(const Network& net, State& s) {
  const HyperX& hx = as_hyperx(net);
  const auto& rule = static_cast<const Rule&>(*net.routing);
  fill_table(net, s, [&](u32 router, u32 row, u32 port) {
    const u32 k = hx.dimension_of_port[port];
    // another dimension's row
    if (row < rule.first_row[k] || row >= rule.first_row[k] + hx.widths[k]) return kUnreachable;
    const auto link = static_cast<float>(net.link_ns(net.port(router, port)));
    return hx.coordinate_behind(router, k, port) == row - rule.first_row[k] ? link : 2 * link;
  });
}

RoutingFacts setup(const Params& params, Network& net, std::shared_ptr<const ComponentData>& data) {
  const HyperX& hx = as_hyperx(net);
  auto rule = std::make_shared<Rule>();
  read_rates(params, *rule);
  rule->measure = measure_of(params, net);
  rule->queue_weight = params.real("queue_weight");
  u32 rows = 0;
  for (u32 k = 0; k < hx.dimensions; k++) {
    rule->first_row.push_back(rows);
    rows += hx.widths[k];
  }
  shape_table(net, *rule, rows, "q_adaptive: (dimension, destination coordinate) x non-terminal port", initialise);
  data = rule;
  RoutingFacts facts{2, 2 * hx.dimensions};
  if (rule->queue_weight > 0) facts.senses = rule->measure.senses();
  return facts;
}

std::vector<ParamSpec> params() {
  auto specs = q_adaptive_params();
  specs.push_back(
      real("queue_weight", 4, 0, 1e6, "",
           "time that the flits of a port need, added to its estimate this many times; 0 = the table alone"));
  specs.push_back(congestion_param("auto"));
  specs.push_back(congestion_scope_param("auto"));
  return specs;
}

// DimWAR's: in the first unaligned dimension the direct links on class 0 and any deroute, behind a deroute the direct
// one on class 1.
void candidates(const Network& net, State& s, Batch& b) {
  const HyperX& hx = as_hyperx(net);
  list_candidates(net, b, [&](u32 i, auto&& offer) {
    const Packet& p = s.packets[b.packet[i]];
    const u32 router = b.router[i], to = net.terminal_router[p.destination],
              came_by = hx.dimension_of_port[b.in_port[i]];
    if (router == to) return offer(net.terminal_port[p.destination], kAnyClass);
    const u64 difference = hx.difference(router, to);
    const u32 k = hx.first_unaligned(difference), direct = hx.port_towards(router, to, k, hx.link_of(p, k));
    if (came_by != HyperX::kNoDimension && hx.unaligned(difference, came_by)) return offer(direct, 1);
    offer(direct, 0);
    for (u32 port = hx.base[k]; port < hx.end_of(k); port++)
      if (port != direct) offer(port, 0);
  });
}

const Register<RoutingSpec> entry([] {
  RoutingSpec spec{
      .name = "q_adaptive",
      .summary =
          "two-level Q-table per router, dimension by dimension, at most two hops in each (flitgym's own, after Kang "
          "et al.)",
      .topologies = {"hyperx"},
      .params = params(),
      .setup = setup,
      .route = route,
      .learn = q_learn,
  };
  spec.candidates = candidates;
  spec.agent_can_choose = false;  // who takes its candidates alone needs no table: the relation below
  return spec;
}());

RoutingFacts relation(const Params&, Network& net, std::shared_ptr<const ComponentData>&) {
  return {2, 2 * as_hyperx(net).dimensions};
}

const Register<RelationSpec> relation_entry({
    .name = "q_adaptive",
    .summary = "dimension by dimension, directly or by one deroute in each: what Q-adaptive explores",
    .topologies = {"hyperx"},
    .setup = relation,
    .candidates = candidates,
});

}  // namespace

}  // namespace flitgym::routing::hyperx::q_adaptive
