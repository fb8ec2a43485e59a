// The congestion of an output port. All adaptive routings measure it with these functions.
#pragma once

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

  // Does the measure distinguish the VC classes of a port? `shared`: both compared paths leave by the same port.
  bool by_class(bool shared) const { return scope != Scope::kPort && (scope != Scope::kHybrid || shared); }
  // The part of the congestion that State keeps in Network::sensed for a routing that uses this measure alone.
  Occupancy senses() const { return scope == Scope::kClass || scope == Scope::kVc ? parts : Occupancy::kNothing; }
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

}  // namespace flitgym::routing
