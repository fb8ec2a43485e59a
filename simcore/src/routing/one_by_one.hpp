// A routing that decides request by request, as a rule:
//   struct Rule {
//     Rule(const Network&, State&);           what every decision reads, fetched once a cycle
//     Hop operator()(const Asking&) const;    the decision; FLITGYM_RULE before it makes it part of the loops below
//   };
// From it come both forms in which the core calls a routing. As a batch, between the halves of a cycle, where somebody
// else may look at the requests; and at once, request by request from the input VC to the switch, in one pass over memory.
// Both give the same bits: a rule reads nothing that applying another request's decision writes, which are its input VC's
// route and the masks of requests.
// A rule that wants to ask for memory ahead has
//     struct Sight { ... };
//     Sight look(const Asking&) const;        of some requests ahead of their decisions
//     Hop operator()(const Asking&, const Sight&) const;
#pragma once

#include "routing/choice.hpp"
#include "simcore/registry.hpp"
#include "stage/apply.hpp"

#define FLITGYM_RULE __attribute__((always_inline)) inline

namespace flitgym {

// The packet in front of an input VC of a router asks for a route.
struct Asking {
  u32 input_vc, packet, router;
};

// visit(i, who, hop) for each of `count` requests; asking(i) is who asks.
template <class Rule, class Ask, class Visit>
__attribute__((always_inline)) inline void each_decision(const Rule& rule, u32 count, Ask&& asking, Visit&& visit) {
  if constexpr (requires { typename Rule::Sight; }) {
    constexpr u32 kBlock = 16;
    typename Rule::Sight sights[kBlock];
    Asking block[kBlock];
    for (u32 first = 0; first < count; first += kBlock) {
      const u32 most = std::min(kBlock, count - first);
      for (u32 k = 0; k < most; k++) sights[k] = rule.look(block[k] = asking(first + k));
      for (u32 k = 0; k < most; k++) visit(first + k, block[k], rule(block[k], sights[k]));
    }
  } else {
    for (u32 i = 0; i < count; i++) {
      const Asking who = asking(i);
      visit(i, who, rule(who));
    }
  }
}

template <class Rule>
void route_batch(const Network& net, State& s, Batch& b) {
  const u32 *const ids = b.input_vc.data(), *const packets = b.packet.data(), *const routers = b.router.data();
  u16 *const ports = b.out_port.data(), *const classes = b.out_class.data();
  each_decision(
      Rule(net, s), b.count,
      [&](u32 i) __attribute__((always_inline)) { return Asking{ids[i], packets[i], routers[i]}; },
      [&](u32 i, const Asking&, const Hop& hop) __attribute__((always_inline)) {
        ports[i] = static_cast<u16>(hop.port);
        classes[i] = static_cast<u16>(hop.vc_class);
      });
}

template <class Rule, u32 kWords, bool kBusyPorts>
void route_each(Frame& f) {
  const u32* const routes = f.w.routes.data();
  const InputVc* const input_vcs = f.s.input_vcs.data();
  const u32 shift = f.net.radix_shift + f.net.vc_shift;
  const Apply<true, kWords, kBusyPorts> apply(f);
  each_decision(
      Rule(f.net, f.s), static_cast<u32>(f.w.routes.size()),
      [&](u32 i) __attribute__((always_inline)) {
        return Asking{routes[i], packet_of(input_vcs[routes[i]].front), routes[i] >> shift};
      },
      [&](u32, const Asking& who, const Hop& hop) __attribute__((always_inline)) {
        apply(who.input_vc, who.packet, hop.port, hop.vc_class);
      });
}

// Of a network on which nobody looks on (plain()).
template <class Rule>
void route_at_once(Frame& f) {
  for_shape(f.net, [&]<u32 kWords, bool kBusyPorts>() { route_each<Rule, kWords, kBusyPorts>(f); });
}

}  // namespace flitgym
