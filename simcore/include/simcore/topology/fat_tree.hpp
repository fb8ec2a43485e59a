// The extended generalised fat tree: numbering, ports and minimal paths.
#pragma once

#include "simcore/state.hpp"

namespace flitgym {

struct Wiring;

// XGFT(h; m_1 .. m_h; w_1 .. w_h) of Oehring, Ibel, Das and Kumar (IPPS 1995). A node of level l - 1 has p_l parallel
// cables to each of its w_l parents (Zahavi's PGFT). Level 0 holds the terminals, levels 1 .. h the switches, and a
// switch of level l has m_l children. The digits x_1 .. x_h name a node of level l. Digits up to x_l count parents
// (below w_i), and higher digits count children (below m_i). A step up to level l, or down from it, replaces the digit
// x_l and no other.
//
// Terminal  x_1 + m_1 (x_2 + m_2 (x_3 + ...))
// Router    level by level, leaves first; within level l
//           x_1 + w_1 (x_2 + ... w_l (x_(l+1) + m_(l+1) (x_(l+2) + ...))), so a subtree's switches are adjacent
// Port      router-local: first down, child + m_l cable (at a leaf the terminals), then up, parent + w_(l+1) cable
struct FatTree final : Topology {
  u32 levels = 0;             // h
  std::vector<u32> children;  // [h + 2] m_l at index l
  std::vector<u32> parents;   // [h + 2] w_l, of the nodes of level l - 1; 0 above the top
  std::vector<u32> links;     // [h + 2] p_l, between a node of level l - 1 and each of its parents
  std::vector<u32> spread;    // [h + 1] w_1 w_2 .. w_l: switches of level l that share their children
  std::vector<u32> first;     // [h + 2] the first router of the level; [1] = 0

  // The digits x_2 .. x_h of a switch in one word, so that one XOR gives the digits in which two switches differ. Digit
  // x_1 of a switch is 0, because w_1 is 1.
  std::vector<u64> place;  // [routers]
  std::vector<u8> level;   // [routers]
  std::vector<u32> field;  // [h + 2] lowest bit of the digit x_l; [h + 1]: one past the last digit
  u8 digit_of_bit[64] = {};
  // [terminals] a terminal's number in the order of the leaves; empty: its own number
  std::vector<u32> at_leaves;

  u32 downs(u32 l) const { return children[l] * links[l]; }
  u32 ups(u32 l) const { return parents[l + 1] * links[l + 1]; }
  u32 digit(u32 router, u32 l) const {
    return static_cast<u32>(place[router] >> field[l] & ((u64{1} << (field[l + 1] - field[l])) - 1));
  }
  // Is the leaf `to` below the router (or the router itself)?
  bool above(u32 router, u32 to) const { return (place[router] ^ place[to]) >> field[level[router] + 1u] == 0; }

  // Equivalent ports: first, first + stride, ...
  struct Ports {
    u32 first, stride, count;
    u32 operator[](u32 k) const { return first + k * stride; }
  };
  // Every port on a minimal path from the router to a leaf other than itself: all up ports, or the cables down to one
  // child.
  Ports towards(u32 router, u32 to) const {
    const u32 l = level[router];
    if (above(router, to)) return {digit(to, l), children[l], links[l]};
    return {downs(l), 1, ups(l)};
  }
  // Index of the destination's own port among them (Zahavi 2010, D-Mod-K on real life fat trees). Consecutive
  // destinations rotate over the up ports of the lower levels first, then over those of this level. Packets come down
  // by the cable by which packets for the same destination go up.
  u32 own_turn(u32 router, u32 to, u32 terminal) const {
    const u32 l = level[router], destination = at_leaves.empty() ? terminal : at_leaves[terminal];
    if (above(router, to)) return destination / spread[l - 1] % ups(l - 1) / parents[l];
    return destination / spread[l] % ups(l);
  }

  // A path from level a to level b >= a changes the digits in which the two switches differ. Digit x_l changes between
  // levels l - 1 and l. So the path goes down to just below the lowest differing digit up to a, then up to the highest
  // differing digit above b, then down to b. Digits between a and b change on the way. The path can set every digit
  // that it passes to any value.
  u32 hops_between(const Network&, u32 router, u32 to) const override {
    u32 a = level[router], b = level[to];
    if (a > b) std::swap(a, b);
    const u64 difference = place[router] ^ place[to], low = difference & ((u64{1} << field[a + 1]) - 1);
    const u32 bottom = low ? digit_of_bit[std::countr_zero(low)] - 1u : a;
    const u32 top = difference >> field[b + 1] ? digit_of_bit[63 - std::countl_zero(difference)] : b;
    return 2 * (top - bottom) - (b - a);
  }
  u32 minimal_port(const Network& net, const Graph& g, u32 router, const Packet& p) const override {
    const u32 to = net.terminal_router[p.destination];
    if (net.damaged) return Topology::minimal_port(net, g, router, p);
    return router == to ? net.terminal_port[p.destination] : towards(router, to)[own_turn(router, to, p.destination)];
  }
};

inline const FatTree& as_fat_tree(const Network& net) { return static_cast<const FatTree&>(*net.topology); }

// The numbers of an XGFT, leaf level first: m, w and p of the levels 1 .. h.
struct TreeNumbers {
  std::vector<u32> children, parents, links;
  i64 local_levels = -1;  // lower levels of cables between switches that are local; -1: all
};

namespace topology {
// "topology.fat_tree.links: ..."
template <class... Parts>
[[noreturn]] void refuse(const std::string& key, const Parts&... why) {
  throw ConfigError("topology.", key, ": ", why...);
}
}  // namespace topology

// src/topology/fat_tree.cpp, for topologies with the structure of a fat tree.
//
// Sets the size of the wiring and connects all switches, but attaches no terminals. A group is a subtree below the top.
// `name` is the name of the topology, for errors. Throws ConfigError for a switch with too many ports, for too many
// switches or terminals, and for too many local levels.
std::shared_ptr<FatTree> wire_tree(const std::string& name, const TreeNumbers& numbers, Wiring& w);
// Divides the switches of each level, in their order, among groups of equal size.
void group_switches(const FatTree& tree, u32 groups, Wiring& w);

}  // namespace flitgym
