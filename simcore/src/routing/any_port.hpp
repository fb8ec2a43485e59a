// The relation of Q-routing: any port for the first hops, then the minimal one. The VC class is the hops done, which only grow,
// so nothing waits in a circle, on any topology.
#pragma once

#include "simcore/params.hpp"
#include "simcore/state.hpp"

namespace flitgym {

struct AnyPort : ComponentData {
  u32 max_hops = 0;  // any port at routers reached by fewer hops
};

inline ParamSpec any_port_param() { return integer("max_hops", 2, 1, 16, "hops", "of relation=q_routing: any port at routers reached by fewer hops, then the minimal one"); }

inline void any_port_candidates(const Network& net, State& s, Batch& b) {
  const u32 max_hops = static_cast<const AnyPort&>(*net.relation).max_hops;
  b.offsets.assign(1, 0);
  b.candidate_port.clear();
  b.candidate_class.clear();
  for (u32 i = 0; i < b.count; i++) {
    const Packet& p = s.packets[b.packet[i]];
    const u32 router = b.router[i], k_min = net.topology->minimal_port(net, router, p);
    const bool there = router == net.terminal_router[p.destination];
    const auto vc_class = static_cast<u16>(there ? (p.hops > 0 ? p.hops - 1 : 0) : p.hops);
    const auto offer = [&](u32 port) {
      b.candidate_port.push_back(static_cast<u16>(port));
      b.candidate_class.push_back(vc_class);
    };
    offer(k_min);
    if (!there && p.hops < max_hops)
      for (u32 k = net.topology->first_port; k < net.radix; k++)
        if (k != k_min && net.channels[net.port(router, k)].kind != PortKind::kUnused) offer(k);
    b.offsets.push_back(static_cast<u32>(b.candidate_port.size()));
  }
}

inline RoutingFacts any_port(u32 max_hops, Network& net, std::shared_ptr<const ComponentData>& data) {
  auto relation = std::make_shared<AnyPort>();
  relation->max_hops = max_hops;
  data = relation;
  net.candidates = any_port_candidates;
  const u32 most = max_hops + net.topology->diameter;
  return {most, most};
}

}  // namespace flitgym
