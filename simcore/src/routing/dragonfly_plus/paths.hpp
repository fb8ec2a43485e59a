// Paths on a Dragonfly+ and their VC classes, shared by its routings.
//
// A path goes up from a leaf to a spine, across to a spine of another group, and down to a leaf. A detour goes across
// to a third group first. There it goes on across, if the spine has a link to the destination's group, or down to a
// leaf and up again. The longest path is up, across, down, up, across, down.
//
// Two VC classes are enough (Shpiner et al., HiPINEB 2017, need as many). Class 0 is for everything up to the third
// group and the way down in it. Class 1 begins with the hop that leaves the third group, or that leads up in it. Within
// a class, packets use channels in the order up, across, down. So there is no dependency cycle.
#pragma once

#include "simcore/routing/declared.hpp"
#include "simcore/topology/dragonfly_plus.hpp"

namespace flitgym::routing::dragonfly_plus {

constexpr u32 kClasses = 2, kMinimalHops = 3, kMostHops = 6;

struct Position : Head {
  const DragonflyPlus& df;
  u32 group, source_group, to_group;
  bool leaf;  // this router is a leaf
  explicit Position(const Head& at)
      : Head(at), df(as_dragonfly_plus(net)), group(df.group(router)),
        source_group(df.group(net.terminal_router[packet.source])), to_group(df.group(to)), leaf(df.is_leaf(router)) {}
  bool at_home() const { return group == source_group; }
  bool there() const { return group == to_group; }
  bool in_third_group() const { return !at_home() && !there(); }
};

// Onward ports: minimal from here. A packet reaches the destination's group after two hops, or after three or more if
// it has come by way of a third group.
template <class Out>
inline void offer_onward(const Position& at, Out&& out) {
  const u32 vc_class = at.there() ? at.packet.hops > 2 : at.in_third_group();
  at.df.each_minimal_port(at.router, at.to, [&](u32 k) { out(k, vc_class); });
}

// Detour ports, all in class 0. A leaf of the source group has the links to spines without a link to the destination's
// group. A spine of the source group has the links to third groups. The first spine of a third group has all links
// down.
template <class Out>
inline void offer_detours(const Position& at, Out&& out) {
  const DragonflyPlus& df = at.df;
  if (at.there() || df.g < 3) return;
  if (at.in_third_group()) {
    if (!at.leaf && at.packet.hops == 2)
      for (u32 k = 0; k < df.leaves; k++) out(k, 0u);
    return;
  }
  if (at.leaf) {
    const u32* const exits = df.exits_to(at.group, at.to_group);
    for (u32 s = 0; s < df.spines; s++) {
      bool direct = false, elsewhere = false;
      for (u32 k = 0; k < df.links; k++) direct |= exits[k] / df.h == s;
      for (u32 q = s * df.h; q < (s + 1) * df.h && !direct; q++)
        elsewhere |= df.beyond[std::size_t{at.group} * df.spines * df.h + q] != kNone;
      if (elsewhere) out(df.p + s, 0u);
    }
    return;
  }
  for (u32 k = df.leaves; k < df.leaves + df.h; k++)
    if (const u32 beyond = df.group_beyond(at.router, k); beyond != kNone && beyond != at.to_group) out(k, 0u);
}

// The least congested port of a set. The search begins at a port that rotates by packet and differs between routers; a
// tie goes to the first port found.
struct Best {
  Hop hop = {kNone, 0};
  u32 congestion = ~0u, index = 0;
};
inline Best least_congested(const Head& at, const Congestion& congestion, const Offered<>& ports) {
  if (ports.count == 0) return {};
  const u32 vc_class = ports.hop[0].vc_class, turn = turn_of(at.packet, at.router, ports.count),
            k = congestion.least(at.router, ports, ports.count, turn, vc_class);
  return {ports.hop[k], congestion.of(at.router, ports[k], vc_class), k};
}

// Lists the onward ports, each of them once, and then the detours.
template <bool kDetours>
inline void list_paths(const Network& net, State& s, Batch& b) {
  list_candidates(net, s, b, [&](const Head& from, auto&& offer) {
    const Position at(from);
    Offered<> all;
    const auto offer_once = [&](u32 port, u32 vc_class) {
      if (all.find(port) == all.count) all(port, vc_class), offer(port, vc_class);
    };
    offer_onward(at, offer_once);
    if (kDetours) offer_detours(at, offer_once);
  });
}

}  // namespace flitgym::routing::dragonfly_plus
