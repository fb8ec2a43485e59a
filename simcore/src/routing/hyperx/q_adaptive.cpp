// Q-adaptive on HyperX. There is no published version; this one is flitgym's own. It keeps the principles of the
// Dragonfly version (Kang, Wang, Lan, HPDC 2021). The table is small and has two levels, hops are bounded, off-policy
// estimates travel back, and learning is hysteretic.
//
// Paths are DimWAR's: dimensions in order, in each the direct link or one deroute, at most 2 L hops, two VC classes.
// With this order a deroute has no effect on later dimensions: the packet enters the next dimension at the same router,
// whichever router it was derouted to. So the time to the destination is a sum over dimensions, and the table needs to
// know only one dimension at a time:
//   level 1  row: (dimension k, the destination's coordinate in it), sum S_k rows
//   level 2  column: the port, of dimension k
//   value    estimated ns from the decision here until the packet is aligned in dimension k
// This is not an approximation of a larger table. Its size grows with the widths, not with the number of routers.
//
// At the first router of a dimension the packet takes the port of least value if that value beats the direct port's by
// q_thld1 (relative). With probability epsilon it takes a random port. After a deroute it must take the direct link.
// The downstream router sends back the delay of the hop plus its own estimate (0 when aligned). The sender learns this
// sum at rate alpha if it is lower than the table's value, else at rate beta.
//
// The clock starts with the decision, not with the arrival in the input buffer as on the Dragonfly. The wait behind
// other packets is the same for every port, but on an input-queued router it can be a hundred times a hop. If the
// values included this wait, no relative gain would be visible.
//
// The values contain the queue of a deroute's second hop, which UGAL and DimWAR do not see. They do not contain the
// router's own queues, which UGAL and DimWAR see. Feedback takes a round trip, in which a port of the study's routers
// sends hundreds of flits. With the values alone, all packets would rush to the port that was best a moment ago.
// Therefore queue_weight adds the time that the flits in the port's output queue need. On a router without output
// queues it counts the flits of the VC class downstream (congestion and congestion_scope `auto`). Accepted load on 8x8
// under bit complement:
//   router        offered load                     without queue_weight  with queue_weight
//   sc19          0.45, packets of 1 to 16 flits   0.12                  0.45
//   input_queued  0.3, single flits                0.13                  0.27 (0.13 if the clock starts at the arrival)
#include "simcore/error.hpp"
#include "simcore/routing/congestion.hpp"
#include "simcore/routing/q_table.hpp"
#include "simcore/routing/relation.hpp"
#include "simcore/topology/hyperx.hpp"

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
              in_dimension = hx.dimension_of_port[in_port];
    const u64 difference = hx.difference(router, to);
    const bool from_link = in_dimension != HyperX::kNoDimension,
               derouted = from_link && hx.unaligned(difference, in_dimension);
    // Feedback to the upstream router, about the dimension of the last hop.
    detail.value = from_link ? 0.0f : -1.0f;
    detail.arrived = b.now;
    if (from_link) detail.row = rule.first_row[in_dimension] + hx.coordinate(to, in_dimension);
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

// First estimates, from link latencies alone: one hop to the aligned router, two hops through any other router.
void initialise(const Network& net, State& s) {
  const HyperX& hx = as_hyperx(net);
  const auto& rule = static_cast<const Rule&>(*net.routing);
  fill_table(net, s, [&](u32 router, u32 row, u32 port) {
    const u32 k = hx.dimension_of_port[port];
    // A row of another dimension.
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

// DimWAR's candidates: in the first unaligned dimension the direct link or any deroute, on class 0; after a deroute the
// direct link on class 1.
void candidates(const Network& net, State& s, Batch& b) {
  const HyperX& hx = as_hyperx(net);
  list_candidates(net, b, [&](u32 i, auto&& offer) {
    const Packet& p = s.packets[b.packet[i]];
    const u32 router = b.router[i], to = net.terminal_router[p.destination],
              in_dimension = hx.dimension_of_port[b.in_port[i]];
    if (router == to) return offer(net.terminal_port[p.destination], kAnyClass);
    const u64 difference = hx.difference(router, to);
    const u32 k = hx.first_unaligned(difference), direct = hx.port_towards(router, to, k, hx.link_of(p, k));
    if (in_dimension != HyperX::kNoDimension && hx.unaligned(difference, in_dimension)) return offer(direct, 1);
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
      .params = q_adaptive_params_with_queues(),
      .setup = setup,
      .route = route,
      .learn = q_learn,
  };
  spec.candidates = candidates;
  spec.operations = row_and_queue_operations;
  spec.agent_can_choose = false;  // the relation below offers the same candidates without the table
  return spec;
}());

RoutingFacts relation(const Params&, Network& net, std::shared_ptr<const ComponentData>&) {
  return {2, 2 * as_hyperx(net).dimensions};
}

const Register<RelationSpec> relation_entry({
    .name = "q_adaptive",
    .summary = "dimension by dimension, the direct link or one deroute in each: the paths that Q-adaptive explores",
    .topologies = {"hyperx"},
    .setup = relation,
    .candidates = candidates,
});

}  // namespace

}  // namespace flitgym::routing::hyperx::q_adaptive
