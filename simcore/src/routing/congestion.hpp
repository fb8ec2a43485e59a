// How congested is an output? The one place that answers, for every adaptive routing on every topology.
#pragma once

#include "simcore/registry.hpp"
#include "simcore/state.hpp"

namespace flitgym {

enum class Congestion : u8 { kBoth, kOutputQueue, kCredits };
enum class Scope : u8 { kPort, kClass, kVc, kHybrid };

inline ParamSpec congestion_param(std::string fallback = "both") {
  return choice("congestion", std::move(fallback), {"both", "output_queue", "credits"},
                "flits in the output queue plus downstream slots used, or one of the two (an input-queued router has no output queue)");
}
inline ParamSpec congestion_scope_param(std::string fallback) {
  return choice("congestion_scope", std::move(fallback), {"port", "class", "vc", "hybrid"},
                "summed over all VCs of the port, over those of the packet's VC class, or of the class's emptiest VC alone; hybrid = ports, but classes where two paths share a port (UGAL-L_VCH)");
}

// Flits over all VCs of a port.
inline u32 port_congestion(const State& s, Congestion measure, u32 port) {
  const Port& o = s.ports[port];
  return measure == Congestion::kBoth ? o.load : measure == Congestion::kCredits ? o.load - o.queued : o.queued;
}

inline u32 vc_congestion(const Network& net, const State& s, Congestion measure, u32 port, u32 vc) {
  const OutputVc& out = s.output_vcs[net.vc_id(port, vc)];
  const u32 used = net.router.input_depth - out.credits;
  return measure == Congestion::kBoth ? out.count + used : measure == Congestion::kCredits ? used : out.count;
}

struct CongestionMeasure {
  Congestion parts = Congestion::kBoth;
  Scope scope = Scope::kPort;

  // Flits ahead of a packet that would leave by `port` in `vc_class`; `shared`: the path it is compared with has the same port.
  u32 of(const Network& net, const State& s, u32 port, u32 vc_class, bool shared = false) const {
    if (scope == Scope::kPort || (scope == Scope::kHybrid && !shared)) return port_congestion(s, parts, port);
    u32 sum = 0, least = ~0u;
    for (u32 vc = vc_class; vc < net.vcs; vc += net.routing_facts.classes) {
      const u32 flits = vc_congestion(net, s, parts, port, vc);
      sum += flits;
      if (flits < least) least = flits;
    }
    return scope == Scope::kVc ? least : sum;
  }
};

inline Congestion congestion_of(const Params& params) {
  const std::string& name = params.text("congestion");
  return name == "both" ? Congestion::kBoth : name == "credits" ? Congestion::kCredits : Congestion::kOutputQueue;
}
inline CongestionMeasure measure_of(const Params& params) {
  const std::string& scope = params.text("congestion_scope");
  return {congestion_of(params), scope == "port" ? Scope::kPort : scope == "class" ? Scope::kClass : scope == "vc" ? Scope::kVc : Scope::kHybrid};
}

}  // namespace flitgym
