// The relation of a routing that only selects (external, agent, policy, random, biased). The registry finds it by name,
// on any topology. Any routing that lists its candidates also serves as a relation.
#pragma once

#include "simcore/registry.hpp"
#include "simcore/routing/choice.hpp"

namespace flitgym::routing {

std::vector<ParamSpec> relation_params();  // relation and the parameters of relations

// Reads these parameters and sets up the network's relation; returns its facts.
RoutingFacts take_relation(const Params&, Network&);

// Does a registered component run on this network? A component that relies on closed forms does not run where links are
// missing.
template <class Spec>
inline bool runs_on(const Spec& spec, const Network& net) {
  if constexpr (requires { spec.graph; })
    if (net.damaged && !spec.graph) return false;
  return spec.topologies.empty() || std::ranges::count(spec.topologies, net.topology_name) > 0;
}

// The setup of a component whose data is a rule, from RoutingFacts kSetup(const Params&, Network&, Rule&).
template <auto kSetup>
RoutingFacts with_rule(const Params& params, Network& net, std::shared_ptr<const ComponentData>& data) {
  return [&]<class Rule>(RoutingFacts (*setup)(const Params&, Network&, Rule&)) {
    auto rule = std::make_shared<Rule>();
    RoutingFacts facts = setup(params, net, *rule);
    if constexpr (requires { rule->measure; }) facts.sequential = rule->measure.sequential;
    data = rule;
    return facts;
  }(kSetup);
}

// Calls list(head, offer) for every request of the batch. Each call of offer(port, vc_class) adds a candidate.
template <class List>
inline void list_requests(const Network& net, State& s, Batch& b, List&& list) {
  b.offsets.resize(b.count + 1);
  const u32 most = 2 * net.radix;  // candidates of one request: each port, in two classes at most
  u32 n = 0;
  b.offsets[0] = 0;
  for (u32 i = 0; i < b.count; i++) {
    if (b.candidate_port.size() < n + most) {
      const std::size_t size = 2 * b.candidate_port.size() + most;
      b.candidate_port.resize(size);
      b.candidate_class.resize(size);
    }
    u16 *const ports = b.candidate_port.data(), *const classes = b.candidate_class.data();
    list(head(net, s, b, i), [&](u32 port, u32 vc_class) {
      ports[n] = static_cast<u16>(port);
      classes[n++] = static_cast<u16>(vc_class);
    });
    b.offsets[i + 1] = n;
  }
}
// The same for the packets that are not yet at their last router. There the terminal is the only candidate.
template <class List>
inline void list_candidates(const Network& net, State& s, Batch& b, List&& list) {
  list_requests(net, s, b, [&](const Head& at, auto&& offer) {
    if (at.arrived()) offer(net.terminal_port[at.packet.destination], kAnyClass);
    else list(at, offer);
  });
}

// The candidate of a routing without a choice: the hop that it takes.
template <void (*kRoute)(const Network&, State&, Batch&)>
void only_candidate(const Network& net, State& s, Batch& b) {
  kRoute(net, s, b);
  u32 i = 0;
  list_requests(net, s, b, [&](const Head&, auto&& offer) { offer(b.out_port[i], b.out_class[i]), i++; });
}

}  // namespace flitgym::routing
