// Incremental adaptive routing on HyperX (McDonald, Isaev, Flores, Davis, Kim, SC 2019). At every router a relation
// offers candidates, and the candidate of least weight is taken. The weight is that of SuperSim's monolithicWeighted. A
// relation is a struct with
//   struct Rule : WeightRule            its parameters
//   static Reach reach(at, rule)        candidates of a packet that is not yet at its last router
//   static void offer(at, rule, out)    optional, if reach() does not cover all candidates: calls
//                                       out(port, vc_class, deroute) for every candidate
// The struct defines the routing (the least weight) and the list of candidates. The list is the action mask of an agent
// and the input of the proofs of deadlock freedom.
#pragma once

#include "routing/hyperx/lanes.hpp"
#include "routing/two_legs.hpp"
#include "simcore/topology/hyperx.hpp"

namespace flitgym::routing::hyperx {

// A packet at a router, as a relation sees it.
struct Where : Head {
  const HyperX& hx;
  u64 difference;        // of this router's coordinates and those of the destination's router, not 0
  u32 h = 0, unaligned;  // number of dimensions in which they differ; one bit per such dimension

  explicit __attribute__((always_inline)) Where(const Head& at)
      : Head(at), hx(as_hyperx(net)), difference(hx.difference(router, to)), unaligned(hx.unaligned_in(difference, h)) {
  }

  bool injected() const { return in_port < hx.terminals; }
  // Dimension of the last hop if that hop was a deroute, that is if the dimension is still unaligned; else
  // kNoDimension.
  u32 derouted_in() const {
    const u32 k = hx.dimension_of_port[in_port];
    return k != HyperX::kNoDimension && (unaligned >> k & 1) ? k : HyperX::kNoDimension;
  }
};

// Candidates at a router: the direct links of some dimensions, and deroutes in some of these. Each kind has one VC
// class.
struct Reach {
  u32 direct, deroute;  // bit per dimension
  u32 direct_class, deroute_class;
};

// Offers all parallel direct links of dimension k.
template <class Out>
inline void offer_direct(const Where& at, u32 k, u32 vc_class, Out&& out) {
  const u32 first = at.hx.port_towards(at.router, at.to, k, 0);
  for (u32 link = 0; link < at.hx.links[k]; link++) out(first + link, vc_class, false);
}
// Offers the deroutes in dimension k: the links to every other router of the line.
template <class Out>
inline void offer_deroutes(const Where& at, u32 k, u32 vc_class, Out&& out) {
  const u32 direct = at.hx.port_towards(at.router, at.to, k, 0), end = at.hx.end_of(k);
  for (u32 port = at.hx.base[k]; port < end; port++)
    if (port < direct || port >= direct + at.hx.links[k]) out(port, vc_class, true);
}
// visit(k) for each dimension of a set, in order.
template <class Visit>
inline void each_dimension(u32 set, Visit&& visit) {
  for (; set; set &= set - 1) visit(static_cast<u32>(std::countr_zero(set)));
}
template <class Out>
inline void offer_reach(const Where& at, const Reach& reach, Out&& out) {
  each_dimension(reach.direct, [&](u32 k) {
    offer_direct(at, k, reach.direct_class, out);
    if (reach.deroute >> k & 1) offer_deroutes(at, k, reach.deroute_class, out);
  });
}

// ---- The weight ----

struct WeightRule : Weights {
  CongestionMeasure measure;
  PortLanes lanes;  // used while Network::sensed is kept
  double weight(const Network& net, State& s, u32 packet, u32 router, u32 port, u32 vc_class) const override {
    const Head at = head_of(net, s, packet, router);
    const HyperX& hx = as_hyperx(net);
    const u32 h = hx.distance(hx.difference(router, at.to)), next = net.next_router(net.port(router, port));
    Congestion congestion(net, s, measure);
    congestion.begin(router);
    const double flits = congestion.of(router, port, vc_class);
    return hx.distance(hx.difference(next, at.to)) < h ? minimal(h, flits) : nonminimal(h, h + 1, flits);
  }
};
// Counts a product and a sum per candidate, although only deroutes need the sum, and the comparisons for the least
// weight.
inline Operations weight_operations(const Network&, double candidates) {
  return {.multiplications = candidates, .additions = candidates, .comparisons = std::max(candidates - 1, 0.0)};
}

// Where the study does not state its parameters, the defaults are those of SuperSim's HyperX configurations. There are
// no biases. Incremental routings sense the VCs of their class, and they weigh a deroute as if it doubled the path.
// With a VC class per hop, congestion_scope=port does not show how full the packet's class is. OmniWAR then chooses
// links whose class is full, and its throughput collapses beyond saturation.
inline std::vector<ParamSpec> weight_params(const std::string& hops = "normalized",
                                            const ParamSpec& scope = congestion_scope_param("class"),
                                            const std::string& allocation = "greedy") {
  return {
      real("congestion_bias_flits", 0, -1e6, 1e6, "flits",
           "the weight is hops x (congestion + this) + bias_flits for a non-minimal candidate and hops x congestion "
           "for a minimal one; the least weight wins, and a tie goes to minimal"),
      real("bias_flits", 0, -1e6, 1e6, "flits x hops", "added to the weight of a non-minimal candidate"),
      choice("detour_hops", hops, {"absolute", "normalized"},
             "hops in the weight of a non-minimal candidate: absolute = those of its path; normalized = twice those of "
             "the minimal path"),
      congestion_param(),
      scope,
      allocation_param(allocation),
  };
}
inline void see_ports(const Network& net, WeightRule& rule) {
  if (rule.measure.senses() != Occupancy::kNothing) rule.lanes.build(as_hyperx(net), Sensed::columns(net.radix_shift));
}
// Facts of a routing that takes the candidate of least weight.
inline RoutingFacts weighing(RoutingFacts facts, const WeightRule& rule) {
  facts.senses = rule.measure.senses();
  return facts;
}
inline void read_weight(const Params& params, Network& net, WeightRule& rule, bool chooses_hops = true) {
  rule.congestion_bias = params.real("congestion_bias_flits");
  rule.bias = params.real("bias_flits");
  rule.normalized = !chooses_hops || params.text("detour_hops") == "normalized";
  rule.measure = measure_of(params, net);
  see_ports(net, rule);
}

// The candidates of least weight so far. Either all of them are direct links, or all of them are deroutes.
class Best {
 public:
  void consider(const Hop& hop, double weight, bool deroute) {
    if (n_ > 0 &&
        (weight > weight_ + kWeightTolerance || (weight >= weight_ - kWeightTolerance && deroute && !deroute_)))
      return;
    if (n_ > 0 && (weight < weight_ - kWeightTolerance || deroute != deroute_)) n_ = 0;
    if (n_ == 0) weight_ = weight;
    deroute_ = deroute;
    hops_[n_++] = hop;  // at most a router's ports and one more
  }
  bool none() const { return n_ == 0; }
  bool deroute() const { return deroute_; }
  double weight() const { return weight_; }
  // Picks among equal candidates with equal probability.
  Hop pick(u64 bits) const { return hops_[n_ == 1 ? 0 : below(bits, n_)]; }
  Hop pick(const Network& net, const Packet& p) const { return pick(route_draw(net, p, 15)); }

 private:
  u32 n_ = 0;
  double weight_ = 0;
  bool deroute_ = false;
  Hop hops_[kMaxRadix + 1];
};

// The candidate of least weight. Reads eight ports of a dimension at a time from the contiguous rows of
// Network::sensed. Weights rise with congestion, so it is enough to compare the least congested direct link with the
// least congested deroute.
inline __attribute__((always_inline)) Hop least_weight(const Network& net, const u16* sensed, const WeightRule& rule,
                                                       const Where& at, const Reach& reach) {
  const u32 shift = net.sensed.column_shift, end = net.vcs << shift, step = net.routing_facts.classes << shift;
  const bool emptiest = rule.measure.scope == Scope::kVc;
  const u16* const rows = &sensed[net.sensed.row(at.router, 0)];
  const u64 from = at.hx.place[at.router], to = at.hx.place[at.to];
  const Dimension* const dimensions = rule.lanes.dimensions();
  // The rows of a class begin at its first VC.
  const u32 direct_row = reach.direct_class << shift, deroute_row = reach.deroute_class << shift;
  const auto of_port = [&](u32 first_row, u32 port) {
    u32 flits = first_row < end ? rows[first_row + port] : 0;
    for (u32 row = first_row + step; row < end; row += step)
      flits = emptiest ? std::min<u32>(flits, rows[row + port]) : flits + rows[row + port];
    return flits;
  };
  u16 ports[kMaxRadix + 1];  // the candidates of least weight, in order
  u32 n = 0, fewest = ~0u;
  const auto consider = [&](u32 port, u32 flits) {
    n = select(flits < fewest, 0u, n);
    ports[n] = static_cast<u16>(port);
    n += flits <= fewest;
    fewest = std::min(flits, fewest);
  };
  const auto pick = [&](u32 vc_class) {
    return Hop{ports[n == 1 ? 0 : below(route_draw(net, at.packet, 15), n)], vc_class};
  };

  const u32 deroute = deroute_row < end ? reach.deroute : 0;
  Lanes lowest = Lanes{} + kNoLane;
  each_dimension(reach.direct, [&](u32 k) {
    const Dimension& d = dimensions[k];
    const u32 direct = d.direct(from, to);
    for (u32 port = direct; port < direct + d.links; port++) consider(port, of_port(direct_row, port));
    if (!(deroute >> k & 1)) return;
    const u16* lanes = rule.lanes.deroutes(d, direct);
    for (u32 block = 0; block < d.blocks; block++, lanes += kLanes) {
      const u16* const column = &rows[d.first(block)];
      Lanes flits = load_lanes(column + deroute_row);
      for (u32 row = deroute_row + step; row < end; row += step) {
        const Lanes more = load_lanes(column + row);
        flits = emptiest ? least(flits, more) : flits + more;
      }
      lowest = least(lowest, flits | load_lanes(lanes));
    }
  });
  const i16 few = least(lowest);
  if (few == kNoLane || rule.nonminimal(at.h, at.h + 1, few) >= rule.minimal(at.h, fewest) - kWeightTolerance)
    return pick(reach.direct_class);
  n = 0;
  fewest = static_cast<u32>(few);
  each_dimension(deroute, [&](u32 k) {
    const Dimension& d = dimensions[k];
    const u32 direct = d.direct(from, to);
    for (u32 port = d.base; port < d.end; port++)
      if (port - direct >= d.links) consider(port, of_port(deroute_row, port));
  });
  return pick(reach.deroute_class);
}

template <class Relation>
static void weighted_route(const Network& net, State& s, Batch& b) {
  const auto& rule = static_cast<const typename Relation::Rule&>(*net.relation);
  const u16* const sensed = net.sensed.kept() ? net.sensed.memory.of(s) : nullptr;
  Congestion congestion(net, s, rule.measure);
  const auto weigh = [&](u32 i) {
    const Where at(head(net, s, b, i));
    const Reach reach = Relation::reach(at, rule);
    if (sensed) return choose(b, i, least_weight(net, sensed, rule, at, reach));
    congestion.begin(at.router);
    Best best;
    offer_reach(at, reach, [&](u32 port, u32 vc_class, bool deroute) {
      const double q = congestion.of(at.router, port, vc_class);
      best.consider({port, vc_class}, deroute ? rule.nonminimal(at.h, at.h + 1, q) : rule.minimal(at.h, q), deroute);
    });
    const Hop hop = best.pick(net, at.packet);
    congestion.promise(hop, at.packet.flits);
    choose(b, i, hop);
  };
  // The processor cannot predict the branch on whether a packet is at its last router. So a first loop gives every
  // request of a block the port to the terminal, and lists the requests not at their last router.
  constexpr u32 kBlock = 64;
  u32 going_on[kBlock];
  for (u32 first = 0; first < b.count; first += kBlock) {
    u32 n = 0;
    for (u32 i = first; i < std::min(first + kBlock, b.count); i++) {
      const Packet& p = s.packets[b.packet[i]];
      choose(b, i, ejection(net, p));
      going_on[n] = i;
      n += b.router[i] != net.terminal_router[p.destination];
    }
    for (u32 k = 0; k < n; k++) weigh(going_on[k]);
  }
}

// Lists all candidates of the relation, direct links first.
template <class Relation>
static void incremental_candidates(const Network& net, State& s, Batch& b) {
  const auto& rule = static_cast<const typename Relation::Rule&>(*net.relation);
  list_candidates(net, s, b, [&](const Head& from, auto&& offer) {
    const Where at(from);
    for (const bool wanted : {false, true}) {
      const auto out = [&](u32 port, u32 vc_class, bool deroute) {
        if (deroute == wanted) offer(port, vc_class);
      };
      if constexpr (requires { Relation::offer(at, rule, out); }) Relation::offer(at, rule, out);
      else offer_reach(at, Relation::reach(at, rule), out);
    }
  });
}

template <class Relation>
RoutingSpec incremental(RoutingSpec spec) {
  spec.topologies = {"hyperx"};
  if (!spec.route) spec.route = weighted_route<Relation>;
  spec.candidates = incremental_candidates<Relation>;
  spec.operations = weight_operations;
  return spec;
}

}  // namespace flitgym::routing::hyperx
