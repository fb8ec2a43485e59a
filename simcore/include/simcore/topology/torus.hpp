// The torus and the mesh: numbering, ports and minimal paths.
#pragma once

#include "simcore/rng.hpp"
#include "simcore/topology/lattice.hpp"

namespace flitgym {

// Dally & Towles, ch. 5. Routers on a grid, each joined to its neighbours in every dimension; a dimension that wraps is
// a ring. A dimension of two routers has a single link (or as many as `links` says), whether it wraps or not, as on
// Angara. Router x + S_0 (y + S_1 (z + ...)); terminal = router * terminals + slot. Router-local ports: first the
// terminals. Then follow, per dimension, the links towards the next higher coordinate (+) and those towards the next
// lower one (-). A dimension of two routers has one set of links for both. Ports that would lead over the edge of a
// mesh are unused.
struct Torus final : Lattice {
  std::vector<u8> ring;    // [dimensions] 1: the dimension is a ring
  std::vector<u16> place;  // [routers, dimensions] coordinates

  const u16* at(u32 router) const { return &place[std::size_t{router} * dimensions]; }
  u32 coordinate(u32 router, u32 k) const override { return at(router)[k]; }
  u32 ports_of(u32 k) const { return (widths[k] == 2 ? 1 : 2) * links[k]; }

  // Hops along dimension k from coordinate a to b: in the + direction of a ring; and in the shorter direction.
  u32 forward(u32 k, u32 a, u32 b) const { return b >= a ? b - a : b + widths[k] - a; }
  u32 hops_along(u32 k, u32 a, u32 b) const {
    const u32 f = forward(k, a, b);
    return ring[k] ? std::min(f, widths[k] - f) : a < b ? b - a : a - b;
  }
  // Half a ring away: both directions are equally long.
  bool tie(u32 k, u32 a, u32 b) const { return ring[k] && 2 * forward(k, a, b) == widths[k]; }
  // Is + the shorter direction? A random bit breaks a tie; the packet keeps the bit on its whole path.
  bool ascends(const Network& net, const Packet& p, u32 k, u32 a, u32 b) const {
    if (!ring[k]) return b > a;
    const u32 twice = 2 * forward(k, a, b);
    if (twice == widths[k]) return draw(net.seed, u64{p.source} << 32 | p.sequence, kDrawDirection) >> k & 1;
    return twice < widths[k];
  }
  u32 first_port(u32 k, bool ascending) const { return base[k] + (ascending || widths[k] == 2 ? 0 : links[k]); }
  // Packets use parallel links in turns; a packet keeps to the same one along a dimension.
  u32 link_of(const Packet& p, u32 k) const { return links[k] == 1 ? 0 : (p.source + p.sequence) % links[k]; }

  u32 hops_between(const Network&, u32 router, u32 to) const override;
  bool is_minimal(const Network&, const Graph&, u32 router, u32 port, u32 to) const override;
  u32 minimal_port(const Network&, const Graph&, u32 router, const Packet&) const override;
  float first_estimate_ns(const Network&, u32 router, u32 port, u32 to) const override;
};

inline const Torus& as_torus(const Network& net) { return static_cast<const Torus&>(*net.topology); }

}  // namespace flitgym
