// The HyperX: numbering, ports and minimal paths.
#pragma once

#include "simcore/topology/lattice.hpp"
#include "simcore/topology/mark.hpp"

namespace flitgym {

// Ahn et al., SC 2009. L dimensions; S_k routers along dimension k, each pair of which is joined by K_k links
// (trunking); T terminals per router. Router x + S_0 (y + S_1 (z + ...)); terminal = router * T + slot. Router-local
// ports: 0..T-1 terminals, then per dimension the offsets 1..S-1, K links each. An offset leads to the coordinate own +
// offset (mod S).
struct HyperX final : Lattice {    // L dimensions of widths S, T terminals
  std::vector<u8> offset_of_port;  // [radix] neighbour's coordinate - own (mod S_k), 1 .. S_k - 1; 0 for terminals

  // All coordinates of a router in one word, so that one XOR gives the coordinates in which two routers differ.
  std::vector<u64> place;       // [routers]
  std::vector<u32> field;       // [L] lowest bit of the coordinate
  std::vector<u64> field_mask;  // [L] mask of the coordinate, shifted to bit 0
  u8 dimension_of_bit[64] = {};

  u32 coordinate(u32 router, u32 k) const override {
    return static_cast<u32>(place[router] >> field[k] & field_mask[k]);
  }
  u64 difference(u32 a, u32 b) const { return place[a] ^ place[b]; }
  // The lowest unaligned dimension of a difference, which must not be 0.
  u32 first_unaligned(u64 difference) const { return dimension_of_bit[std::countr_zero(difference)]; }
  u64 without(u64 difference, u32 k) const { return difference & ~(field_mask[k] << field[k]); }
  bool unaligned(u64 difference, u32 k) const { return (difference >> field[k] & field_mask[k]) != 0; }
  // The unaligned dimensions, one bit each; `count` is set to their number.
  u32 unaligned_in(u64 difference, u32& count) const {
    u32 set = count = 0;
    for (u32 k = 0; k < dimensions; k++) {
      const u32 differs = unaligned(difference, k);
      set |= differs << k;
      count += differs;
    }
    return set;
  }
  // Minimal hops: the number of unaligned dimensions.
  u32 distance(u64 difference) const {
    u32 n = 0;
    for (; difference; n++) difference = without(difference, first_unaligned(difference));
    return n;
  }

  // Router-local port of a link of dimension k to the router at coordinate `to`, which differs from the own coordinate.
  u32 port_to(u32 router, u32 k, u32 to, u32 link) const {
    const u32 own = coordinate(router, k), offset = to > own ? to - own : to + widths[k] - own;
    return base[k] + (offset - 1) * links[k] + link;
  }
  // The same towards router `to`, which must be unaligned in dimension k.
  u32 port_towards(u32 router, u32 to, u32 k, u32 link) const { return port_to(router, k, coordinate(to, k), link); }
  // The coordinate in dimension k to which a port of that dimension leads.
  u32 coordinate_behind(u32 router, u32 k, u32 port) const {
    const u32 at = coordinate(router, k) + offset_of_port[port];
    return at >= widths[k] ? at - widths[k] : at;
  }
  u32 end_of(u32 k) const { return base[k] + (widths[k] - 1) * links[k]; }  // one past its last port
  // Packets use parallel links in turns, where nothing else decides.
  u32 link_of(const Packet& p, u32 k) const { return links[k] == 1 ? 0 : (p.source + p.sequence) % links[k]; }
  u32 dor_port(u32 router, u32 to, const Packet& p) const {
    const u32 k = first_unaligned(difference(router, to));
    return port_towards(router, to, k, link_of(p, k));
  }

  u32 own_minimal_port(const Network& net, u32 router, const Packet& p) const {
    const u32 to = net.terminal_router[p.destination];
    return to == router ? net.terminal_port[p.destination] : dor_port(router, to, p);
  }
  u32 minimal_port(const Network& net, const Graph& g, u32 router, const Packet& p) const override {
    return net.damaged ? Topology::minimal_port(net, g, router, p) : own_minimal_port(net, router, p);
  }
  // A hop is minimal if it ends aligned in its dimension.
  bool is_minimal(const Network& net, const Graph& g, u32 router, u32 port, u32 to) const override {
    if (net.damaged) return Topology::is_minimal(net, g, router, port, to);
    const u32 k = dimension_of_port[port];
    return k != kNoDimension && coordinate_behind(router, k, port) == coordinate(to, k);
  }
  // As mark_batch(), but both cases are computed and one is selected.
  void mark_nonminimal(const Network& net, State& s, const Batch& b) const override {
    if (net.damaged || net.routing_facts.reroutes) return mark_batch(*this, net, s, b);
    for (u32 i = 0; i < b.count; i++) {
      Packet& p = s.packets[b.packet[i]];
      if (p.nonminimal) continue;
      const u32 router = b.router[i], port = b.out_port[i], to = net.terminal_router[p.destination];
      const u32 k = dimension_of_port[port], any = std::min(k, dimensions - 1);
      const bool nearer = (k == any) & (coordinate_behind(router, any, port) == coordinate(to, any));
      if (!select(router == to, port == net.terminal_port[p.destination], nearer)) [[unlikely]]
        p.nonminimal = 1;
    }
  }
  u32 hops_between(const Network&, u32 router, u32 to) const override { return distance(difference(router, to)); }
  float first_estimate_ns(const Network& net, u32 router, u32 port, u32 to) const override;
};

inline const HyperX& as_hyperx(const Network& net) { return static_cast<const HyperX&>(*net.topology); }

}  // namespace flitgym
