// Q-adaptive on HyperX. There is no published version; this one is flitgym's own. It keeps the principles of the
// Dragonfly version (Kang, Wang, Lan, HPDC 2021): bounded hops, off-policy estimates that travel back, and hysteretic
// learning.
//
// Paths are DimWAR's: dimensions in order, in each the direct link or one deroute, at most 2 L hops, two VC classes.
// With this order a deroute has no effect on later dimensions: the packet enters the next dimension at the same router,
// whichever router it was derouted to. So the time to the destination is a sum over dimensions, and the table needs to
// know only one dimension at a time:
//   row      dimension k and the destination's coordinate in it, sum S_k rows
//   column   the port, of dimension k
//   value    estimated ns from the decision here until the packet is aligned in dimension k
//
// At the first router of a dimension the packet takes the port of least value if that value beats the direct port's by
// q_thld1 (relative). With probability epsilon it takes a random port. After a deroute it must take the direct link.
//
// The clock starts with the decision, not with the arrival in the input buffer as on the Dragonfly. The wait behind
// other packets is the same for every port, but on an input-queued router it can be a hundred times a hop, and would
// hide every relative gain. Feedback takes a round trip, in which a port of the study's routers sends hundreds of
// flits. So queue_weight adds the time that the flits in the port's output queue need. On a router without output
// queues it counts the flits of the VC class downstream. Accepted load on 8x8 under bit complement:
//   router        offered load                     without queue_weight  with queue_weight
//   sc19          0.45, packets of 1 to 16 flits   0.12                  0.45
//   input_queued  0.3, single flits                0.13                  0.27 (0.13 if the clock starts at the arrival)
#include "simcore/routing/q_table.hpp"
#include "simcore/topology/hyperx.hpp"

namespace flitgym::routing::hyperx::q_adaptive {

struct Paths {
  using Fact = bool;  // whether the port is the direct one
  using Rule = ComponentData;
  // DimWAR's candidates: in the first unaligned dimension the direct link or any deroute, on class 0; after a deroute
  // the direct link on class 1.
  template <class Out>
  static void offer(const Head& at, const Rule&, Out&& out) {
    const HyperX& hx = as_hyperx(at.net);
    const u64 difference = hx.difference(at.router, at.to);
    const u32 k = hx.first_unaligned(difference), direct = hx.dor_port(at.router, at.to, at.packet),
              came_by = hx.dimension_of_port[at.in_port];
    if (came_by != HyperX::kNoDimension && hx.unaligned(difference, came_by)) return out(direct, 1u, true);
    out(direct, 0u, true);
    for (u32 port = hx.base[k]; port < hx.end_of(k); port++)
      if (port != direct) out(port, 0u, false);
  }
};

struct QAdaptive : Paths {
  struct Rule : QueuedRule {
    std::vector<u32> first_row;  // [L]
    u32 row_in(const HyperX& hx, u32 k, u32 to) const { return first_row[k] + hx.coordinate(to, k); }
  };
  // Feedback to the upstream router, about the dimension of the last hop.
  static void begin(const Head& at, const Rule& rule) {
    const HyperX& hx = as_hyperx(at.net);
    PacketDetail& detail = at.s.details[at.id];
    const u32 k = hx.dimension_of_port[at.in_port];
    const bool from_link = k != HyperX::kNoDimension;
    detail.value = from_link ? 0.0f : -1.0f;
    detail.arrived = at.now;
    if (from_link) detail.row = rule.row_in(hx, k, at.to);
  }
  static u32 select(const Head& at, const Rule& rule, const Congestion&, const Offered<bool>& offered) {
    const HyperX& hx = as_hyperx(at.net);
    const u32 k = hx.dimension_of_port[offered[0]];
    const float* const row = rule.table.row(at.s, at.router, rule.row_in(hx, k, at.to));
    if (offered.hop[0].vc_class == 1) {  // after a deroute
      at.s.details[at.id].value = row[offered[0] - hx.terminals];
      return 0;
    }
    if (explores(at.net, at.s, rule, at.packet))
      return offered.find(hx.base[k] + below(route_draw(at.net, at.packet, 1), hx.end_of(k) - hx.base[k]));
    return prefer(at, rule, row, offered).index;
  }
};

// First estimates, from link latencies alone: one hop to the aligned router, two hops through any other router.
static void initialise(const Network& net, State& s) {
  const HyperX& hx = as_hyperx(net);
  const auto& rule = static_cast<const QAdaptive::Rule&>(*net.routing);
  fill_table(net, s, [&](u32 router, u32 row, u32 port) {
    const u32 k = hx.dimension_of_port[port];
    // A row of another dimension.
    if (row < rule.first_row[k] || row >= rule.first_row[k] + hx.widths[k]) return kUnreachable;
    const auto link = static_cast<float>(net.link_ns(net.port(router, port)));
    return hx.coordinate_behind(router, k, port) == row - rule.first_row[k] ? link : 2 * link;
  });
}

static RoutingFacts setup(const Params& params, Network& net, QAdaptive::Rule& rule) {
  const HyperX& hx = as_hyperx(net);
  read_queued(params, net, rule);
  rule.row = [](const Network& network, u32 router, const Packet& p) {
    const HyperX& own = as_hyperx(network);
    const u32 to = network.terminal_router[p.destination];
    return static_cast<const QAdaptive::Rule&>(*network.routing)
        .row_in(own, own.first_unaligned(own.difference(router, to)), to);
  };
  u32 rows = 0;
  for (u32 k = 0; k < hx.dimensions; k++) {
    rule.first_row.push_back(rows);
    rows += hx.widths[k];
  }
  shape_table(net, rule, rows, "q_adaptive: (dimension, destination coordinate) x non-terminal port", initialise);
  return {.classes = 2,
          .max_hops = 2 * hx.dimensions,
          .senses = rule.queue_weight > 0 ? rule.measure.senses() : Occupancy::kNothing};
}

const Register<RoutingSpec> entry(declared<QAdaptive>({
    .name = "q_adaptive",
    .summary = "two-level Q-table per router, dimension by dimension, at most two hops in each (flitgym's own, after "
               "Kang et al.)",
    .topologies = {"hyperx"},
    .params = q_adaptive_params_with_queues(),
    .setup = with_rule<setup>,
    .learn = q_learn,
    .agent_can_choose = false,  // the relation below offers the same candidates without the table
    .operations = row_and_queue_operations,
}));

static RoutingFacts setup_paths(const Params&, Network& net, ComponentData&) {
  return {2, 2 * as_hyperx(net).dimensions};
}

const Register<RelationSpec> relation_entry({
    .name = "q_adaptive",
    .summary = "dimension by dimension, the direct link or one deroute in each: the paths that Q-adaptive explores",
    .topologies = {"hyperx"},
    .setup = with_rule<setup_paths>,
    .candidates = candidates_declared<Paths>,
});

}  // namespace flitgym::routing::hyperx::q_adaptive
