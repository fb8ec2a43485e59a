// The congestion of an output port. All adaptive routings measure it with these functions.
#pragma once

#include <algorithm>
#include <vector>

#include "routing/choice.hpp"
#include "simcore/error.hpp"
#include "simcore/registry.hpp"
#include "simcore/state.hpp"

namespace flitgym::routing {

enum class Scope : u8 { kPort, kClass, kVc, kHybrid };

// A routing may have the default `auto`: the flits ahead of a packet at this router. With output queues, these are the
// flits of all classes in the port's queue. Without output queues, these are the buffer slots in use downstream, of the
// packet's own class.
inline ParamSpec congestion_param(std::string fallback = "both") {
  const bool automatic = fallback == "auto";
  ParamSpec spec = choice("congestion", std::move(fallback), {"both", "output_queue", "credits"},
                          "both = flits in the output queue plus slots in use downstream; output_queue = only the "
                          "former; credits = only the latter (an input-queued router has no output queue)");
  if (automatic)
    spec.choices.push_back("auto"), spec.doc += "; auto = output_queue, or credits on a router without output queues";
  return spec;
}
inline ParamSpec congestion_scope_param(std::string fallback) {
  const bool automatic = fallback == "auto";
  ParamSpec spec = choice("congestion_scope", std::move(fallback), {"port", "class", "vc"},
                          "VCs that count: port = all VCs of the port, class = the VCs of the packet's VC class, vc = "
                          "the emptiest VC of that class");
  if (automatic)
    spec.choices.push_back("auto"), spec.doc += "; auto = port, or class on a router without output queues";
  return spec;
}
inline ParamSpec allocation_param(std::string fallback = "sequential") {
  return choice("allocation", std::move(fallback), {"greedy", "sequential"},
                "greedy = heads that a router routes in the same cycle see the same congestion; sequential = a router "
                "routes one head after another, and a port is congested also by the flits that it has promised to it: "
                "those of packets that have a route and still wait in an input buffer");
}
// For routings that compare two paths, which may leave by the same port.
inline ParamSpec congestion_scope_of_paths_param(std::string fallback) {
  ParamSpec spec = congestion_scope_param(std::move(fallback));
  spec.choices.push_back("hybrid");
  spec.doc += "; hybrid = port, but class where both paths leave by the same port (UGAL-L_VCH)";
  return spec;
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
    throw ConfigError("routing." + net.routing_name +
                      ".congestion: output_queue is always 0 on a router without output buffers "
                      "(router.output_buffer_flits is 0); use credits or both");
  if (name == "auto") return queues ? Occupancy::kOutputQueue : Occupancy::kCredits;
  return name == "both" ? Occupancy::kBoth : name == "credits" ? Occupancy::kCredits : Occupancy::kOutputQueue;
}
inline CongestionMeasure measure_of(const Params& params, const Network& net) {
  std::string scope = params.text("congestion_scope");
  if (scope == "auto") scope = net.router.output_depth > 0 ? "port" : "class";
  return {congestion_of(params, net), scope == "port"    ? Scope::kPort
                                      : scope == "class" ? Scope::kClass
                                      : scope == "vc"    ? Scope::kVc
                                                         : Scope::kHybrid};
}
// The same for a routing with the parameter `allocation`.
inline CongestionMeasure allocating_measure_of(const Params& params, const Network& net) {
  CongestionMeasure measure = measure_of(params, net);
  measure.sequential = params.text("allocation") == "sequential";
  return measure;
}

// The congestion that the decisions of a batch see. Sequential allocation includes the promised flits of the router
// whose decisions are being made (Kim, Dally, Abts, "Adaptive routing in high-radix Clos network", SC 2006). Without
// them, all heads of a cycle take the same port, and so do heads of later cycles while these wait for the switch. The
// requests of a batch are in the order of their input VCs (RoutingFacts::sequential).
class Congestion {
 public:
  Congestion(const Network& net, const State& s, const CongestionMeasure& measure)
      : net_(net), s_(s), measure_(measure),
        promised_(measure.sequential ? net.radix * net.routing_facts.classes + kForeignClasses : 0) {}
  // The next decisions are those of `router`.
  void begin(u32 router) {
    if (measure_.sequential && router != router_) count_promised(router);
  }
  // Flits ahead of a packet that would leave `router` by the router-local port `k`.
  u32 of(u32 router, u32 k, u32 vc_class, bool shared = false) const {
    u32 flits = measure_.of(net_, s_, net_.port(router, k), vc_class, shared);
    if (!measure_.sequential) return flits;
    const u32* const own = &promised_[k * net_.routing_facts.classes];
    if (measure_.by_class(shared)) return flits + own[vc_class];
    for (u32 c = 0; c < net_.routing_facts.classes; c++) flits += own[c];
    return flits;
  }
  // A decision of that router. Ports to terminals are never compared, so their flits are not counted.
  void promise(const Hop& hop, u32 flits) {
    if (measure_.sequential && hop.vc_class != kAnyClass)
      promised_[hop.port * net_.routing_facts.classes + hop.vc_class] += flits;
  }

 private:
  void count_promised(u32 router) {
    router_ = router;
    const bool single = net_.most_packet_flits == 1;
    const u32 classes = net_.routing_facts.classes;
    std::fill_n(promised_.begin(), net_.radix * classes, 0u);
    const InputVc* const inputs = &s_.input_vcs[net_.vc_id(net_.port(router, 0), 0)];
    for (u32 v = 0; v < net_.radix << net_.vc_shift; v++)
      if (const InputVc& in = inputs[v]; in.routed())
        promised_[in.out_port * classes + (classes == 1 ? 0 : in.out_vc % classes)] +=
            single ? 1 : s_.packets[packet_of(in.front)].flits - in.sent;
  }
  const Network& net_;
  const State& s_;
  const CongestionMeasure& measure_;
  u32 router_ = kNone;
  // A packet from a foreign snapshot can have any number of hops (8 bits), and verify_routes() refuses a class beyond
  // the last one only after the routing has used it.
  static constexpr u32 kForeignClasses = 256;
  std::vector<u32> promised_;  // by port and VC class, for router_
};

}  // namespace flitgym::routing
