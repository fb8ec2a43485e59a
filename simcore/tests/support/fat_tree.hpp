// Fat trees of the tests. The expected properties follow only from the labels of the switches.
#pragma once

#include "support/scenes.hpp"

namespace scenes {

struct Xgft {
  std::vector<double> children, parents, links;
  i64 local = -1;
  u32 h() const { return static_cast<u32>(children.size()); }
  u32 m(u32 l) const { return static_cast<u32>(children[l - 1]); }
  u32 w(u32 l) const { return l > h() ? 0 : static_cast<u32>(parents[l - 1]); }
  u32 p(u32 l) const { return l > h() ? 0 : static_cast<u32>(links[l - 1]); }
  Section section() const {
    return {"fat_tree", {{"children", children}, {"parents", parents}, {"links", links}, {"local_levels", local}}};
  }
  std::string name() const {
    std::string out = "m";
    for (const double x : children) out += " " + std::to_string(static_cast<u32>(x));
    out += ", w";
    for (const double x : parents) out += " " + std::to_string(static_cast<u32>(x));
    out += ", p";
    for (const double x : links) out += " " + std::to_string(static_cast<u32>(x));
    return out;
  }
};

inline Xgft k_ary_tree(u32 k, u32 n) {
  Xgft tree{std::vector<double>(n, k), std::vector<double>(n, k), std::vector<double>(n, 1)};
  tree.parents[0] = 1;
  return tree;
}
// One rail of TSUBAME2 (configs/topology/fat_tree_672.yaml).
inline Xgft rail_672() { return {{14, 6, 8}, {1, 6, 9}, {1, 3, 2}}; }

}  // namespace scenes
