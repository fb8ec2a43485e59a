// Dragonfly+: numbering, ports and minimal paths.
#pragma once

#include "simcore/state.hpp"

namespace flitgym {

// A group has `leaves` leaf routers with p terminals each, and `spines` spine routers with h global ports each. A link
// joins every leaf with every spine of its group.
// Router  group (leaves + spines) + leaf, or + leaves + spine.
// Port    Of a leaf: 0..p-1 terminals, then one link to each spine. A spine has one link to each leaf, then the global
// ports. The global ports of a group have the numbers spine h + port.
struct DragonflyPlus final : Topology {
  u32 p = 0, leaves = 0, spines = 0, h = 0, g = 0;
  u32 links = 1;            // parallel links per pair of groups
  std::vector<u32> exits;   // [g, g, links] the global ports of a group that lead to another group; own group: unused
  std::vector<u32> beyond;  // [g, spines h] the group at the other end of a global port; kNone: unused

  u32 size() const { return leaves + spines; }  // routers of a group
  u32 group(u32 router) const { return router / size(); }
  bool is_leaf(u32 router) const { return router % size() < leaves; }
  u32 spine_of(u32 router) const { return router % size() - leaves; }
  u32 global_port(u32 port_of_group) const { return leaves + port_of_group % h; }
  // The group to which global port `port` of a spine leads.
  u32 group_beyond(u32 spine_router, u32 port) const {
    return beyond[std::size_t{group(spine_router)} * spines * h + spine_of(spine_router) * h + (port - leaves)];
  }
  const u32* exits_to(u32 from, u32 to) const { return &exits[(std::size_t{from} * g + to) * links]; }

  // visit(port) for each port of a leaf to a spine that has a link to the group. A spine with several links counts once
  // for each.
  template <class Visit>
  void each_up(u32 leaf, u32 to_group, Visit&& visit) const {
    const u32* const to = exits_to(group(leaf), to_group);
    for (u32 k = 0; k < links; k++) visit(p + to[k] / h);
  }
  // visit(port) for each global port of a spine that leads to the group.
  template <class Visit>
  void each_across(u32 spine, u32 to_group, Visit&& visit) const {
    const u32 own = spine_of(spine);
    const u32* const to = exits_to(group(spine), to_group);
    for (u32 k = 0; k < links; k++)
      if (to[k] / h == own) visit(global_port(to[k]));
  }
  // visit(port) for each port on a path up, across and down to another leaf. A spine without a link to the group of the
  // leaf has none.
  template <class Visit>
  void each_minimal_port(u32 router, u32 to, Visit&& visit) const {
    const bool there = group(router) == group(to);
    if (is_leaf(router)) {
      if (there)
        for (u32 k = 0; k < spines; k++) visit(p + k);
      else each_up(router, group(to), visit);
    } else if (there) {
      visit(to % size());
    } else {
      each_across(router, group(to), visit);
    }
  }
  u32 regions(const Network&) const override { return g; }
  u32 region(u32 router) const override { return group(router); }
};

inline const DragonflyPlus& as_dragonfly_plus(const Network& net) {
  return static_cast<const DragonflyPlus&>(*net.topology);
}

}  // namespace flitgym
