// What up_down routing asks of the extended generalised fat tree.
#pragma once

#include <bit>
#include <memory>
#include <utility>
#include <vector>

#include "simcore/state.hpp"

namespace flitgym {

// XGFT(h; m_1 .. m_h; w_1 .. w_h) of Oehring, Ibel, Das and Kumar (IPPS 1995), with p_l cables in parallel between a
// node of level l - 1 and each of its w_l parents (Zahavi's PGFT). Level 0 are the terminals, levels 1 .. h switches;
// m_l children per switch. A node of level l is named by the digits x_1 .. x_h: those up to x_l count parents (below
// w_i), those above it children (below m_i). Going up to level l replaces the digit x_l and no other, and so does going
// down from it.
//
// Terminal x_1 + m_1 (x_2 + m_2 (x_3 + ...)). Routers level by level, leaves first; within level l
// x_1 + w_1 (x_2 + ... w_l (x_(l+1) + m_(l+1) (x_(l+2) + ...))): the switches of a subtree stand together.
// Router-local ports: downwards child + m_l cable (at a leaf the terminals), then upwards parent + w_(l+1) cable.
struct FatTree final : Topology {
  u32 levels = 0;             // h
  std::vector<u32> children;  // [h + 2] m_l at index l
  std::vector<u32> parents;   // [h + 2] w_l, of the nodes of level l - 1; 0 above the top
  std::vector<u32> links;     // [h + 2] p_l, between a node of level l - 1 and each of its parents
  std::vector<u32> spread;    // [h + 1] w_1 w_2 .. w_l: switches of level l that share their children
  std::vector<u32> first;     // [h + 2] the first router of the level; [1] = 0

  // A switch's digits x_2 .. x_h in one word (x_1 of a switch is 0, for w_1 is 1), so that what two switches differ in
  // comes out of one XOR.
  std::vector<u64> place;  // [routers]
  std::vector<u8> level;   // [routers]
  std::vector<u32> field;  // [h + 2] lowest bit of the digit x_l; [h + 1]: one past the last digit
  u8 digit_of_bit[64] = {};

  u32 downs(u32 l) const { return children[l] * links[l]; }
  u32 ups(u32 l) const { return parents[l + 1] * links[l + 1]; }
  u32 digit(u32 router, u32 l) const {
    return static_cast<u32>(place[router] >> field[l] & ((u64{1} << (field[l + 1] - field[l])) - 1));
  }
  // Is the leaf `to` below the router (or the router itself)?
  bool above(u32 router, u32 to) const { return (place[router] ^ place[to]) >> field[level[router] + 1u] == 0; }

  // Ports that do equally well: first, first + stride, ...
  struct Ports {
    u32 first, stride, count;
    u32 operator[](u32 k) const { return first + k * stride; }
  };
  // Every port on a minimal path from the router to a leaf other than itself: up, or the cables down to the one child.
  Ports towards(u32 router, u32 to) const {
    const u32 l = level[router];
    if (above(router, to)) return {digit(to, l), children[l], links[l]};
    return {downs(l), 1, ups(l)};
  }
  // Which of them is the destination's own (Zahavi 2010, D-Mod-K on real life fat trees): destinations take turns at
  // the up ports of a level after they have taken turns at those below it, and come down by the cable by which packets
  // for them go up.
  u32 own_turn(u32 router, u32 to, u32 destination) const {
    const u32 l = level[router];
    if (above(router, to)) return destination / spread[l - 1] % ups(l - 1) / parents[l];
    return destination / spread[l] % ups(l);
  }

  // A path from level a to level b >= a changes the digits in which the two differ, each by passing between the levels
  // on its two sides: it goes down to just below the lowest of those up to a, then up to the highest of those above b,
  // then down to b. Digits between a and b change on the way, and all that it passes can be set as it likes.
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

}  // namespace flitgym
