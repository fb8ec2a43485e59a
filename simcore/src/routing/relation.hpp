// The relation of somebody who only selects (external, agent, policy, random, biased): found in the registry by its
// name, on any topology, and any routing that lists its candidates is one.
#pragma once

#include "simcore/registry.hpp"
#include "simcore/state.hpp"

namespace flitgym::routing {

std::vector<ParamSpec> relation_params();  // relation, deroutes, max_hops

// Reads them and sets up the network's relation; returns its facts.
RoutingFacts take_relation(const Params&, Network&);

// Does an entry of the registry run on this network? What goes by closed forms does not where links are missing.
template <class Spec>
inline bool runs_on(const Spec& spec, const Network& net) {
  if (net.damaged && !spec.graph) return false;
  if (spec.topologies.empty()) return true;
  for (const std::string& name : spec.topologies)
    if (name == net.topology_name) return true;
  return false;
}

// list(i, offer) for every request i of the batch: what it offers, offer(port, vc_class), are the request's candidates.
template <class List>
inline void list_candidates(const Network& net, Batch& b, List&& list) {
  b.offsets.resize(b.count + 1);
  const u32 most = 2 * net.radix;  // of one request: each port, in two classes at most
  u32 n = 0;
  b.offsets[0] = 0;
  for (u32 i = 0; i < b.count; i++) {
    if (b.candidate_port.size() < n + most) {
      const std::size_t size = 2 * b.candidate_port.size() + most;
      b.candidate_port.resize(size);
      b.candidate_class.resize(size);
    }
    u16 *const ports = b.candidate_port.data(), *const classes = b.candidate_class.data();
    list(i, [&](u32 port, u32 vc_class) {
      ports[n] = static_cast<u16>(port);
      classes[n++] = static_cast<u16>(vc_class);
    });
    b.offsets[i + 1] = n;
  }
}

// Of a routing that has no choice: what it takes.
template <void (*kRoute)(const Network&, State&, Batch&)>
void only_candidate(const Network& net, State& s, Batch& b) {
  kRoute(net, s, b);
  list_candidates(net, b, [&](u32 i, auto&& offer) { offer(b.out_port[i], b.out_class[i]); });
}

}  // namespace flitgym::routing
