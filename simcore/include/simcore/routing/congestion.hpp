// The congestion of an output port. All adaptive routings measure it with these functions.
#pragma once

#include "simcore/registry.hpp"
#include "simcore/routing/choice.hpp"

namespace flitgym::routing {

enum class Scope : u8 { kPort, kClass, kVc, kHybrid };

// A routing may have the default `auto`: the flits ahead of a packet at this router. With output queues, these are the
// flits of all classes in the port's queue. Without output queues, these are the buffer slots in use downstream, of the
// packet's own class.
inline ParamSpec with_choice(ParamSpec spec, const std::string& value, const std::string& meaning) {
  spec.choices.push_back(value);
  spec.doc += "; " + value + " = " + meaning;
  return spec;
}
inline ParamSpec congestion_param(const std::string& fallback = "both") {
  const ParamSpec spec = choice("congestion", fallback, {"both", "output_queue", "credits"},
                                "both = flits in the output queue plus slots in use downstream; output_queue = only "
                                "the former; credits = only the latter (an input-queued router has no output queue)");
  return fallback != "auto" ? spec
                            : with_choice(spec, fallback, "output_queue, or credits on a router without output queues");
}
inline ParamSpec congestion_scope_param(const std::string& fallback) {
  const ParamSpec spec = choice("congestion_scope", fallback, {"port", "class", "vc"},
                                "VCs that count: port = all VCs of the port, class = the VCs of the packet's VC class, "
                                "vc = the emptiest VC of that class");
  return fallback != "auto" ? spec : with_choice(spec, fallback, "port, or class on a router without output queues");
}
inline ParamSpec allocation_param(std::string fallback = "sequential") {
  return choice("allocation", std::move(fallback), {"greedy", "sequential"},
                "greedy = heads that a router routes in the same cycle see the same congestion; sequential = a router "
                "routes one head after another, and a port is congested also by the flits that it has promised to it: "
                "those of packets that have a route and still wait in an input buffer");
}
// For routings that compare two paths, which may leave by the same port.
inline ParamSpec congestion_scope_of_paths_param(const std::string& fallback) {
  return with_choice(congestion_scope_param(fallback), "hybrid",
                     "port, but class where both paths leave by the same port (UGAL-L_VCH)");
}

// Congestion of a port in flits, over all its VCs.
inline u32 port_congestion(const State& s, Occupancy measure, u32 port) {
  const Port& o = s.ports[port];
  return measure == Occupancy::kBoth ? o.load : measure == Occupancy::kCredits ? o.load - o.queued : o.queued;
}

// Congestion of one VC in flits, for a port to another router. Routings never measure ports to terminals.
inline u32 vc_congestion(const Network& net, const State& s, Occupancy measure, u32 port, u32 vc) {
  const OutputVc& out = s.output_vcs[net.vc_id(port, vc)];
  const u32 used = net.router.input_depth - out.credits;
  return measure == Occupancy::kBoth ? out.count + used : measure == Occupancy::kCredits ? used : out.count;
}

struct CongestionMeasure {
  Occupancy parts = Occupancy::kBoth;
  Scope scope = Scope::kPort;
  bool sequential = false;

  // Does the measure distinguish the VC classes of a port? `shared`: both compared paths leave by the same port.
  bool by_class(bool shared) const { return scope != Scope::kPort && (scope != Scope::kHybrid || shared); }
  // The part of the congestion that State keeps in Network::sensed for a routing that uses this measure alone.
  Occupancy senses() const {
    return !sequential && (scope == Scope::kClass || scope == Scope::kVc) ? parts : Occupancy::kNothing;
  }
  // Flits ahead of a packet that would leave by `port` in `vc_class`.
  u32 of(const Network& net, const State& s, u32 port, u32 vc_class, bool shared = false) const {
    if (!by_class(shared)) return port_congestion(s, parts, port);
    const u16* const sensed = net.sensed.parts == parts ? net.sensed.memory.of(s) : nullptr;
    u32 sum = 0, least = ~0u;
    for (u32 vc = vc_class; vc < net.vcs; vc += net.routing_facts.classes) {
      const u32 flits = sensed ? sensed[net.sensed.at(port, vc)] : vc_congestion(net, s, parts, port, vc);
      sum += flits;
      if (flits < least) least = flits;
    }
    return scope == Scope::kVc ? least : sum;
  }
};

// Throws if the router lacks the queue to measure: every port would look idle to an adaptive routing.
inline Occupancy congestion_of(const Params& params, const Network& net) {
  const std::string& name = params.text("congestion");
  const bool queues = net.router.output_depth > 0;
  if (name == "output_queue" && !queues)
    throw ConfigError("routing.", net.routing_name,
                      ".congestion: output_queue is always 0 on a router without output buffers "
                      "(router.output_buffer_flits is 0); use credits or both");
  if (name == "auto") return queues ? Occupancy::kOutputQueue : Occupancy::kCredits;
  return name == "both" ? Occupancy::kBoth : name == "credits" ? Occupancy::kCredits : Occupancy::kOutputQueue;
}
inline CongestionMeasure measure_of(const Params& params, const Network& net) {
  std::string scope = params.text("congestion_scope");
  if (scope == "auto") scope = net.router.output_depth > 0 ? "port" : "class";
  return {.parts = congestion_of(params, net),
          .scope = scope == "port"    ? Scope::kPort
                   : scope == "class" ? Scope::kClass
                   : scope == "vc"    ? Scope::kVc
                                      : Scope::kHybrid,
          .sequential = params.values().contains("allocation") && params.text("allocation") == "sequential"};
}

// The congestion that the decisions of a batch see. Sequential allocation includes the promised flits of the router
// whose decisions are being made (Kim, Dally, Abts, "Adaptive routing in high-radix Clos network", SC 2006). Without
// promised flits, all heads of a cycle take the same port. Heads of later cycles also take it while the first heads
// wait for the switch. The requests of a batch are in the order of their input VCs (RoutingFacts::sequential).
class Congestion {
 public:
  Congestion(const Network& net, const State& s, const CongestionMeasure& measure)
      : net_(net), s_(s), measure_(measure), classes_(net.routing_facts.classes),
        by_class_(measure.sequential && measure.scope != Scope::kPort && classes_ > 1) {
    if (measure.sequential) std::fill_n(ports_, net.radix, Promised{});
    if (by_class_) of_class_.resize(net.radix * classes_ + kForeignClasses);
  }
  // The next decisions are those of `router`.
  void begin(u32 router) {
    if (measure_.sequential && router != router_) router_ = router, visit_++;
  }
  // Flits ahead of a packet that would leave `router` by the router-local port `k`.
  __attribute__((always_inline)) u32 of(u32 router, u32 k, u32 vc_class, bool shared = false) const {
    const u32 flits = measure_.of(net_, s_, net_.port(router, k), vc_class, shared);
    if (!measure_.sequential) return flits;
    if (Promised& p = at(k); !p.counted) p.counted = true, count_routed(k);
    return flits + (by_class_ && measure_.by_class(shared) ? of_class_[k * classes_ + vc_class] : ports_[k].flits);
  }
  u32 of(u32 router, const Hop& hop) const { return of(router, hop.port, hop.vc_class); }
  // The index of the least congested of n ports. The search begins at `turn`, and a tie goes to the first port found.
  template <class Ports>
  u32 least(u32 router, const Ports& ports, u32 n, u32 turn, u32 vc_class) const {
    u32 best = turn, least = of(router, ports[best], vc_class);
    for (u32 k = 1; k < n && least > 0; k++) {
      const u32 at = turn + k < n ? turn + k : turn + k - n, flits = of(router, ports[at], vc_class);
      if (flits < least) least = flits, best = at;
    }
    return best;
  }
  // A decision of that router. Ports to terminals are never compared, so their flits are not counted.
  void promise(const Hop& hop, u32 flits) {
    if (!measure_.sequential || hop.vc_class == kAnyClass) return;
    at(hop.port).flits += flits;
    if (by_class_) of_class_[hop.port * classes_ + hop.vc_class] += flits;
  }

 private:
  // Flits that a router has promised to one of its ports. The number is out of date unless `visit` equals `visit_`.
  struct Promised {
    u32 visit, flits;
    bool counted;  // whether `flits` includes the packets that earlier cycles have routed
  };
  Promised& at(u32 k) const {
    if (ports_[k].visit != visit_) {
      ports_[k] = {visit_, 0, false};
      if (by_class_) std::fill_n(&of_class_[k * classes_], classes_, 0u);
    }
    return ports_[k];
  }
  // A packet with a route to the port requests the switch, is parked at its output VC, or owns this VC and waits for
  // flits.
  __attribute__((noinline)) void count_routed(u32 k) const {
    const u32 port = net_.port(router_, k), first = net_.vc_id(net_.port(router_, 0), 0), words = net_.request_words;
    const bool alike = net_.most_packet_flits == 1 && !by_class_ && net_.request_mask != 0;
    const u64* const mask = &s_.requests[std::size_t{net_.port(router_, net_.request_port(k))} * words];
    for (u32 word = 0; word < words; word++)
      if (alike) ports_[k].flits += static_cast<u32>(std::popcount(mask[word]));
      else
        for (u64 m = mask[word]; m; m &= m - 1) {
          const u32 v = first | (word * 64 + static_cast<u32>(std::countr_zero(m)));
          if (s_.input_vcs[v].out_port == k) count(v);
        }
    for (u32 vc = 0; vc < net_.vcs; vc++) {
      const u32 u = net_.vc_id(port, vc);
      for (u16 bit = s_.output_vcs[u].parked; bit != kNoVc; bit = s_.park_next[first | bit]) count(first | bit);
      if (net_.most_packet_flits == 1 || net_.request_mask == 0) continue;
      if (const u32 owner = s_.owners[u]; owner != kNone && s_.input_vcs[owner].count == 0) count(owner);
    }
  }
  void count(u32 v) const {
    const InputVc& in = s_.input_vcs[v];
    const u32 flits = net_.most_packet_flits == 1 ? 1u : s_.packets[packet_of(in.front)].flits - in.sent;
    ports_[in.out_port].flits += flits;
    if (by_class_) of_class_[in.out_port * classes_ + in.out_vc % classes_] += flits;
  }
  const Network& net_;
  const State& s_;
  const CongestionMeasure& measure_;
  const u32 classes_;
  const bool by_class_;  // some comparisons distinguish the VC classes of a port
  u32 router_ = kNone, visit_ = 0;
  // A packet from a foreign snapshot can have up to 255 hops, so its VC class may be invalid. The routing uses this
  // class before verify_routes() refuses it.
  static constexpr u32 kForeignClasses = 256;
  mutable Promised ports_[kMaxRadix];
  mutable std::vector<u32> of_class_;  // promised flits by port and VC class
};

// As route_heads(), with hop_of(head, congestion).
template <class HopOf>
inline void route_by_congestion(const Network& net, State& s, Batch& b, const CongestionMeasure& measure,
                                HopOf&& hop_of) {
  Congestion congestion(net, s, measure);
  route_heads(net, s, b, [&](const Head& at) {
    congestion.begin(at.router);
    const Hop hop = hop_of(at, congestion);
    congestion.promise(hop, at.packet.flits);
    return hop;
  });
}

}  // namespace flitgym::routing
