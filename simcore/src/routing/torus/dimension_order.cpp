// Dimension order on a torus or a mesh (e-cube; Dally & Towles, 8.4.2): each dimension in turn, in the shorter
// direction. No dependency cycle spans several dimensions, because a packet never returns to an earlier dimension. A
// mesh has no dependency cycle within a dimension. A ring of up to three routers has none either, because no packet
// takes two hops in it. Longer rings use one of two methods.
//
// Method `dateline` (Dally & Seitz 1987; as in BookSim2): two VC classes. The dateline lies between the last router of
// a ring and router 0. A packet takes its class when it enters a ring and keeps it there: class 1 if it will pass the
// dateline, else class 0. Class 0 never uses the link at the dateline, so its channels form a line without a cycle.
// Class 1 has no cycle either, because no packet goes further than half a ring. A packet that passes the dateline
// starts in the upper half and ends in the lower half. So no packet of class 1 continues at the middle router, the
// farthest from the dateline.
//
// Method `bubble` (Puente et al., ICPP 1999; Angara): one VC, virtual cut-through, packets of one size. A packet enters
// a ring only where there is room for two packets, so after each entry the ring still has room for one packet
// somewhere. A packet that moves along the ring moves the free room backwards, and a packet that leaves adds room. The
// packet behind the free room can move into it, unless it waits to leave for a later dimension or for a terminal.
// Terminals accept everything, so the last dimension always makes progress. Hence the dimension before it makes
// progress too, and so on. Each of the parallel links along a dimension is a separate ring, so a packet keeps to one of
// them.
#include "routing/dimensions.hpp"
#include "simcore/routing/relation.hpp"
#include "simcore/topology/torus.hpp"

namespace flitgym::routing::torus::dimension_order {

struct Order : ComponentData {
  std::vector<u32> dimensions;
  std::vector<u8> dateline;  // [dimensions] 1: a ring that needs two VC classes
};

// The next dimension k of a packet, and the packet's present and final coordinate in it.
struct Turn : Head {
  const Torus& t;
  u32 k, from, to_coordinate, in_class;

  Turn(const Head& at, const Order& order) : Head(at), t(as_torus(net)), in_class(in_vc % net.routing_facts.classes) {
    const u16 *const here = t.at(router), *const there = t.at(to);
    const u32* next = order.dimensions.data();
    while (here[*next] == there[*next]) next++;
    k = *next, from = here[k], to_coordinate = there[k];
  }
  bool inside() const { return t.dimension_of_port[in_port] == k; }  // it arrived along k
  bool ascends() const { return t.ascends(net, packet, k, from, to_coordinate); }
  // VC class of the next hop; without a dateline, any class.
  u32 vc_class(const Order& order, bool ascending) const {
    if (!order.dateline[k]) return kAnyClass;
    if (inside()) return in_class;
    return ascending ? to_coordinate < from : to_coordinate > from;
  }
};

static void route(const Network& net, State& s, Batch& b) {
  const auto& order = static_cast<const Order&>(*net.relation);
  route_heads(net, s, b, [&](const Head& at) {
    const Turn turn(at, order);
    const bool ascending = turn.ascends();
    const u32 vc_class = net.routing_facts.classes == 1 ? 0 : turn.vc_class(order, ascending);
    return Hop{turn.t.first_port(turn.k, ascending) + turn.t.link_of(at.packet, turn.k), vc_class};
  });
}

// Lists both directions of a tie, all parallel links, and all VC classes if any class is allowed. With bubble flow
// control, a packet in a ring stays in it.
static void candidates(const Network& net, State& s, Batch& b) {
  const auto& order = static_cast<const Order&>(*net.relation);
  list_candidates(net, s, b, [&](const Head& at, auto&& offer) {
    const Turn turn(at, order);
    const Torus& t = turn.t;
    const u32 k = turn.k;
    const bool tie = t.tie(k, turn.from, turn.to_coordinate), stays = net.routing_facts.bubble && turn.inside();
    for (const bool ascending : {true, false}) {
      if (!tie && ascending != turn.ascends()) continue;
      const u32 vc_class = turn.vc_class(order, ascending);
      for (u32 link = 0; link < t.links[k]; link++) {
        if (stays && link != (at.in_port - t.base[k]) % t.links[k]) continue;
        for (u32 c = 0; c < net.routing_facts.classes; c++)
          if (vc_class == kAnyClass || vc_class == c) offer(t.first_port(k, ascending) + link, c);
      }
    }
  });
}

// Numbers the rings of bubble flow control: one per dimension, direction and parallel link. A packet that moves up
// arrives by the port that leads down.
static void name_rings(const Torus& t, const Order& order, Network& net) {
  net.ring_of_output.assign(net.radix, kNoRing);
  net.ring_of_input.assign(net.radix, kNoRing);
  for (const u32 k : order.dimensions) {
    if (!order.dateline[k]) continue;
    for (u32 n = 0; n < 2 * t.links[k]; n++) {
      const u32 out = t.base[k] + n, in = t.base[k] + (n + t.links[k]) % (2 * t.links[k]);
      net.ring_of_output[out] = net.ring_of_input[in] = static_cast<u16>(out);
    }
  }
}

static RoutingFacts setup(const Params& params, Network& net, Order& order) {
  const Torus& t = as_torus(net);
  order.dimensions = order_of(params, t.dimensions);
  for (u32 k = 0; k < t.dimensions; k++) order.dateline.push_back(t.ring[k] && t.widths[k] > 3);
  const bool rings = std::ranges::count(order.dateline, 1) > 0,
             bubble = rings && params.text("deadlock_avoidance") == "bubble";
  if (bubble) {
    name_rings(t, order, net);
    order.dateline.assign(t.dimensions, 0);
  }
  return {.classes = rings && !bubble ? 2u : 1u, .max_hops = t.diameter, .minimal = true, .bubble = bubble};
}

const Register<RoutingSpec> entry({
    .name = "dimension_order",
    .summary = "the shorter direction along each dimension, one dimension after the other",
    .topologies = {"torus", "mesh"},
    .params = {order_param(),
               choice("deadlock_avoidance", "dateline", {"dateline", "bubble"},
                      "on rings: dateline = two VC classes, by whether the packet passes from the last router to the "
                      "first; bubble = one VC, which a packet enters only if there is room for two packets")},
    .setup = with_rule<setup>,
    .route = route,
    .candidates = candidates,
});

}  // namespace flitgym::routing::torus::dimension_order
