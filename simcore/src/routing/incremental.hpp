// Incremental adaptive routing on HyperX: at every router a relation offers candidates, and the one of least weight is taken
// (McDonald, Isaev, Flores, Davis, Kim, SC 2019; the weight as in SuperSim's monolithicWeighted). A relation is a struct with
//   struct Rule : WeightRule                           its parameters
//   static void offer(at, rule, out)                   calls out(port, vc_class, deroute) for everything that may be chosen
// from which come both the routing (the least weight) and the list of candidates (the action mask of an agent, and what the
// proofs of freedom from deadlock walk through).
#pragma once

#include "routing/choice.hpp"
#include "routing/congestion.hpp"
#include "routing/relation.hpp"
#include "simcore/error.hpp"
#include "topology/hyperx.hpp"

namespace flitgym {

// A packet at a router, as a relation sees it.
struct Where {
  const HyperX& hx;
  const Packet& packet;
  u32 router, to;         // this router, and the destination's
  u32 in_port, in_class;  // class of the VC it came in on; meaningless behind a terminal
  u64 difference;         // of the two routers' coordinates, not 0
  const State& s;
  u32 packet_id;

  bool injected() const { return in_port < hx.terminals; }
  // The dimension of the last hop if that was a deroute: it is still unaligned; else kNoDimension.
  u32 derouted_in() const {
    const u32 k = hx.dimension_of_port[in_port];
    return k != HyperX::kNoDimension && hx.unaligned(difference, k) ? k : HyperX::kNoDimension;
  }
};

// The direct links of dimension k, all of its parallel ones.
template <class Out>
inline void offer_direct(const Where& at, u32 k, u32 vc_class, Out&& out) {
  const u32 first = at.hx.port_towards(at.router, at.to, k, 0);
  for (u32 link = 0; link < at.hx.links[k]; link++) out(first + link, vc_class, false);
}
// And those to every other router of the line.
template <class Out>
inline void offer_deroutes(const Where& at, u32 k, u32 vc_class, Out&& out) {
  const u32 direct = at.hx.port_towards(at.router, at.to, k, 0), end = at.hx.end_of(k);
  for (u32 port = at.hx.base[k]; port < end; port++)
    if (port < direct || port >= direct + at.hx.links[k]) out(port, vc_class, true);
}
template <class Visit>
inline void for_each_unaligned(const Where& at, Visit&& visit) {
  for (u64 rest = at.difference; rest;) {
    const u32 k = at.hx.first_unaligned(rest);
    visit(k);
    rest = at.hx.without(rest, k);
  }
}

// ---- The weight ----

struct WeightRule : ComponentData {
  double congestion_bias = 0, bias = 0;
  CongestionMeasure measure;
  bool sequential = false, normalized = false;
  Scratch<u32> promised;  // sequential: flits, by port and VC class

  // h: hops to go on the minimal path from here; hops: on this candidate's path.
  double minimal(u32 h, double congestion) const { return h * congestion; }
  double nonminimal(u32 h, u32 hops, double congestion) const { return (normalized ? 2 * h : hops) * (congestion + congestion_bias) + bias; }
};
inline constexpr double kWeightTolerance = 1e-6;  // weights this close are equal; minimal wins

// Defaults as in SuperSim's HyperX configurations, as far as the study's own are not known: no biases; incremental routings sense
// the VCs of their class and weigh a deroute as if it doubled the way. With a VC class per hop, a whole port says too little:
// OmniWAR then keeps to links whose own class is full, and its throughput collapses beyond saturation.
inline std::vector<ParamSpec> weight_params(const std::string& hops = "normalized", const std::string& scope = "class", bool sequential = false) {
  return {
      real("congestion_bias_flits", 0, -1e6, 1e6, "flits", "non-minimal weight = hops x (congestion + this) + bias_flits, minimal = hops x congestion; the least wins, ties to minimal"),
      real("bias_flits", 0, -1e6, 1e6, "flits x hops", "added to the weight of a non-minimal candidate"),
      choice("detour_hops", hops, {"absolute", "normalized"}, "the non-minimal path's hops as they are, or twice the minimal path's"),
      congestion_param(),
      congestion_scope_param(scope),
      choice("allocation", sequential ? "sequential" : "greedy", {"greedy", "sequential"},
             "decisions of one cycle at a router do not see each other, or each sees those before it"),
  };
}
inline void read_weight(const Params& params, Network& net, WeightRule& rule, bool chooses_hops = true) {
  rule.congestion_bias = params.real("congestion_bias_flits");
  rule.bias = params.real("bias_flits");
  rule.normalized = chooses_hops && params.text("detour_hops") == "normalized";
  rule.measure = measure_of(params, net);
  rule.sequential = params.text("allocation") == "sequential";
  if (!rule.sequential) return;
  MemoryShape shape;
  shape.name = "promised";
  shape.meaning = "flits that earlier decisions of the cycle send to the port, by VC class";
  shape.per = Per::kVcClass;
  rule.promised = declare_scratch<u32>(net, shape);
}

// The congestion that a decision sees. With sequential allocation it counts the flits promised to the output, and to its class
// where the measure tells classes apart, by decisions earlier in this cycle.
class Promises {
 public:
  Promises(const Network& net, Batch& b, const WeightRule& rule) : net_(net), b_(b), flits_(rule.sequential ? rule.promised.of(b) : nullptr) {}
  ~Promises() {
    for (u32 i = 0; flits_ && i < b_.count; i++)
      if (b_.out_class[i] != kAnyClass) *of(net_.port(b_.router[i], b_.out_port[i]), b_.out_class[i]) = 0;
  }
  Promises(const Promises&) = delete;
  Promises& operator=(const Promises&) = delete;
  u32 ahead(const CongestionMeasure& measure, const State& s, u32 port, u32 vc_class, bool shared = false) const {
    u32 flits = measure.of(net_, s, port, vc_class, shared);
    if (!flits_) return flits;
    if (measure.by_class(shared)) return flits + *of(port, vc_class);
    for (u32 c = 0; c < net_.routing_facts.classes; c++) flits += *of(port, c);
    return flits;
  }
  // Nobody weighs the ports of terminals.
  void add(u32 router, const Hop& hop, u32 flits) {
    if (flits_ && hop.vc_class != kAnyClass) *of(net_.port(router, hop.port), hop.vc_class) += flits;
  }

 private:
  u32* of(u32 port, u32 vc_class) const { return &flits_[std::size_t{port} * net_.routing_facts.classes + vc_class]; }
  const Network& net_;
  const Batch& b_;
  u32* const flits_;  // promised; null: greedy allocation
};

// The candidates of least weight so far, all of one kind.
class Best {
 public:
  void consider(const Hop& hop, double weight, bool deroute) {
    if (n_ > 0 && (weight > weight_ + kWeightTolerance || (weight >= weight_ - kWeightTolerance && deroute && !deroute_))) return;
    if (n_ > 0 && (weight < weight_ - kWeightTolerance || deroute != deroute_)) n_ = 0;
    if (n_ == 0) weight_ = weight;
    deroute_ = deroute;
    hops_[n_++] = hop;  // at most a router's ports and one more
  }
  bool none() const { return n_ == 0; }
  bool deroute() const { return deroute_; }
  double weight() const { return weight_; }
  // Equal ones with equal probability.
  Hop pick(u64 bits) const { return hops_[n_ == 1 ? 0 : below(bits, n_)]; }
  Hop pick(const Network& net, const Packet& p) const { return pick(route_draw(net, p, 15)); }

 private:
  u32 n_ = 0;
  double weight_ = 0;
  bool deroute_ = false;
  Hop hops_[kMaxRadix + 1];
};

template <class Relation>
void weighted_route(const Network& net, State& s, Batch& b) {
  const HyperX& hx = hyperx(net);
  const auto& rule = static_cast<const typename Relation::Rule&>(*net.routing);
  Promises promises(net, b, rule);
  for (u32 i = 0; i < b.count; i++) {
    Packet& p = s.packets[b.packet[i]];
    const u32 router = b.router[i], to = net.terminal_router[p.destination];
    if (router == to) {
      choose(b, i, ejection(net, p));
      continue;
    }
    const Where at{hx, p, router, to, b.in_port[i], b.in_vc[i] % net.routing_facts.classes, hx.difference(router, to), s, b.packet[i]};
    const u32 h = hx.distance(at.difference);
    Best best;
    Relation::offer(at, rule, [&](u32 port, u32 vc_class, bool deroute) {
      const double q = promises.ahead(rule.measure, s, net.port(router, port), vc_class);
      best.consider({port, vc_class}, deroute ? rule.nonminimal(h, h + 1, q) : rule.minimal(h, q), deroute);
    });
    const Hop hop = best.pick(net, p);
    promises.add(router, hop, p.flits);
    choose(b, i, hop);
  }
}

// Lists everything the relation offers, direct candidates first.
template <class Relation>
void incremental_candidates(const Network& net, State& s, Batch& b) {
  const HyperX& hx = hyperx(net);
  const auto& rule = static_cast<const typename Relation::Rule&>(*net.relation);
  list_candidates(net, b, [&](u32 i, auto&& offer) {
    const Packet& p = s.packets[b.packet[i]];
    const u32 router = b.router[i], to = net.terminal_router[p.destination];
    if (router == to) {
      const Hop out = ejection(net, p);
      offer(out.port, out.vc_class);
    } else {
      const Where at{hx, p, router, to, b.in_port[i], b.in_vc[i] % net.routing_facts.classes, hx.difference(router, to), s, b.packet[i]};
      for (const bool wanted : {false, true})
        Relation::offer(at, rule, [&](u32 port, u32 vc_class, bool deroute) {
          if (deroute == wanted) offer(port, vc_class);
        });
    }
  });
}

template <class Relation>
RoutingSpec incremental(std::string name, std::string summary, std::vector<ParamSpec> params, decltype(RoutingSpec::setup) setup) {
  RoutingSpec spec{std::move(name), std::move(summary), {"hyperx"}, std::move(params), setup, weighted_route<Relation>};
  spec.candidates = incremental_candidates<Relation>;
  return spec;
}

}  // namespace flitgym
