// How congested is an output? The one place that answers, for every adaptive routing.
#pragma once

#include "simcore/registry.hpp"
#include "simcore/state.hpp"

namespace flitgym {

enum class Congestion : u8 { kBoth, kOutputQueue, kCredits };

inline ParamSpec congestion_param() {
  return choice("congestion", "both", {"both", "output_queue", "credits"},
                "flits in the output queue plus downstream slots used, or one of the two (an input-queued router has no output queue)");
}

inline Congestion congestion_of(const Params& params) {
  const std::string& name = params.text("congestion");
  return name == "both" ? Congestion::kBoth : name == "credits" ? Congestion::kCredits : Congestion::kOutputQueue;
}

// Flits over all VCs of a port.
inline u32 port_congestion(const State& s, Congestion measure, u32 port) {
  const Port& o = s.ports[port];
  return measure == Congestion::kBoth ? o.load : measure == Congestion::kCredits ? o.load - o.queued : o.queued;
}

// Flits of one VC class of a port.
inline u32 class_congestion(const Network& net, const State& s, Congestion measure, u32 port, u32 vc_class) {
  u32 sum = 0;
  for (u32 vc = vc_class; vc < net.vcs; vc += net.routing_facts.classes) {
    const OutputVc& out = s.output_vcs[net.vc_id(port, vc)];
    if (measure != Congestion::kCredits) sum += out.count;
    if (measure != Congestion::kOutputQueue) sum += net.router.input_depth - out.credits;
  }
  return sum;
}

}  // namespace flitgym
