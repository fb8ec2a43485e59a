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

#include "simcore/routing/choice.hpp"
#include "simcore/routing/congestion.hpp"
#include "simcore/routing/relation.hpp"
#include "simcore/topology/dragonfly_plus.hpp"

namespace flitgym::routing::dragonfly_plus {

constexpr u32 kClasses = 2, kMinimalHops = 3, kMostHops = 6;

// The position of a packet.
struct Position {
  u32 router, to;  // this router, and the destination's
  u32 group, source_group, to_group;
  bool leaf;  // this router is a leaf
  bool at_home() const { return group == source_group; }
  bool there() const { return group == to_group; }
  bool in_third_group() const { return !at_home() && !there(); }
};
inline Position position(const Network& net, const DragonflyPlus& df, const Packet& p, u32 router) {
  const u32 to = net.terminal_router[p.destination];
  return {router, to, df.group(router), df.group(net.terminal_router[p.source]), df.group(to), df.is_leaf(router)};
}

// VC class of a hop on the way to the destination. A packet reaches the destination's group after two hops, or after
// three or more if it has come by way of a third group.
inline u32 onward_class(const Packet& p, const Position& at) { return at.there() ? p.hops > 2 : at.in_third_group(); }

// The router-local ports of a set, from which a rule chooses one.
struct Ports {
  u16 port[kMaxRadix];
  u32 count = 0;
  void add(u32 k) { port[count++] = static_cast<u16>(k); }
};

// Onward ports: minimal from here, with the class onward_class().
inline void list_onward(const DragonflyPlus& df, const Position& at, Ports& ports) {
  ports.count = 0;
  df.each_minimal_port(at.router, at.to, [&](u32 k) { ports.add(k); });
}

// Detour ports, all in class 0. A leaf of the source group has the links to spines without a link to the destination's
// group. A spine of the source group has the links to third groups. The first spine of a third group has all links
// down.
inline void list_detours(const DragonflyPlus& df, const Packet& p, const Position& at, Ports& ports) {
  ports.count = 0;
  if (at.there() || df.g < 3) return;
  if (at.in_third_group()) {
    if (!at.leaf && p.hops == 2)
      for (u32 k = 0; k < df.leaves; k++) ports.add(k);
    return;
  }
  if (at.leaf) {
    const u32* const exits = df.exits_to(at.group, at.to_group);
    for (u32 s = 0; s < df.spines; s++) {
      bool direct = false, elsewhere = false;
      for (u32 k = 0; k < df.links; k++) direct |= exits[k] / df.h == s;
      for (u32 q = s * df.h; q < (s + 1) * df.h && !direct; q++)
        elsewhere |= df.beyond[std::size_t{at.group} * df.spines * df.h + q] != kNone;
      if (elsewhere) ports.add(df.p + s);
    }
    return;
  }
  for (u32 k = df.leaves; k < df.leaves + df.h; k++)
    if (const u32 beyond = df.group_beyond(at.router, k); beyond != kNone && beyond != at.to_group) ports.add(k);
}

// The least congested port of a set. The search begins at a port that rotates by packet and differs between routers; a
// tie goes to the first port found.
struct Best {
  u32 port = kNone, congestion = ~0u;
};
inline Best least_congested(const Congestion& congestion, const Packet& p, u32 router, const Ports& ports,
                            u32 vc_class) {
  Best best;
  const u32 turn = ports.count ? (p.source + p.sequence + router) % ports.count : 0;
  for (u32 n = 0; n < ports.count && best.congestion > 0; n++) {
    const u32 k = ports.port[turn + n < ports.count ? turn + n : turn + n - ports.count],
              flits = congestion.of(router, k, vc_class);
    if (flits < best.congestion) best = {k, flits};
  }
  return best;
}

// All candidates of all routings here: the onward ports, then the detours.
inline void every_path(const Network& net, State& s, Batch& b) {
  const DragonflyPlus& df = as_dragonfly_plus(net);
  Ports ports;
  std::vector<u8> offered;
  list_candidates(net, b, [&](u32 i, auto&& offer) {
    const Packet& p = s.packets[b.packet[i]];
    const Position at = position(net, df, p, b.router[i]);
    if (at.router == at.to) return offer(net.terminal_port[p.destination], kAnyClass);
    offered.assign(net.radix, 0);
    const auto offer_all = [&](u32 vc_class) {
      for (u32 n = 0; n < ports.count; n++) {
        const u32 k = ports.port[n];
        if (!offered[k]) offer(k, vc_class);
        offered[k] = 1;
      }
    };
    list_onward(df, at, ports);
    offer_all(onward_class(p, at));
    list_detours(df, p, at, ports);
    offer_all(0);
  });
}

}  // namespace flitgym::routing::dragonfly_plus
