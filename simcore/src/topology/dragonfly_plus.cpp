// Dragonfly+ (Shpiner, Haramaty, Eliad, Zdornov, Gafni, Zahavi, HiPINEB 2017), also Megafly (Flajslik, Borch, Parker,
// ISC 2018). The routers of a group form a complete bipartite graph. Leaves have the terminals, and spines have the
// global links. At least one link joins every two groups. Minimal paths between leaves of different
// groups have three hops: up, across and down.
//
// Routers of k ports, with k / 2 leaves and k / 2 spines per group, form up to k^2 / 4 + 1 groups. Then all ports are
// in use, and there are k^4 / 16 + k^2 / 4 terminals.
#include "simcore/topology/dragonfly_plus.hpp"

#include "simcore/registry.hpp"
#include "topology/arrangement.hpp"

namespace flitgym::topology::dragonfly_plus {

// The links between the groups. The global ports of a group are numbered as on a Dragonfly.
void wire_groups(const Arrangement& arrangement, DragonflyPlus& df, Wiring& w) {
  df.exits.assign(std::size_t{df.g} * df.g * df.links, 0);
  df.beyond.assign(std::size_t{df.g} * df.spines * df.h, kNone);
  const auto end = [&](u32 group, u32 q) {
    return Wiring::End{group * df.size() + df.leaves + q / df.h, df.global_port(q)};
  };
  for (u32 group = 0; group < df.g; group++)
    for (u32 k = 0; k < df.links; k++)
      for (u32 d = 0; d + 1 < df.g; d++) {
        worked(4);
        const u32 other = arrangement.other(group, d), q = k * (df.g - 1) + d;
        df.exits[(std::size_t{group} * df.g + other) * df.links + k] = q;
        df.beyond[std::size_t{group} * df.spines * df.h + q] = other;
        if (group < other)
          w.connect(end(group, q), end(other, k * (df.g - 1) + arrangement.back(group, d)), {PortKind::kGlobal});
      }
}

void wire(const Params& params, Wiring& w) {
  auto df = std::make_shared<DragonflyPlus>();
  df->p = params.count("terminals_per_leaf");
  df->leaves = params.count("leaves_per_group");
  df->spines = params.count("spines_per_group");
  df->h = params.count("global_ports");
  df->g = params.count("groups");
  const u32 ports = df->spines * df->h;
  df->links = links_of_pair("dragonfly_plus", params, ports, "spines_per_group * global_ports");
  claim_memory(u64{df->g} * (u64{df->g} * df->links + ports) * 4, "topology.dragonfly_plus",
               "the global links between ", df->g, " groups");

  std::vector<u32> radix;
  for (u32 group = 0; group < df->g; group++) {
    radix.insert(radix.end(), df->leaves, df->p + df->spines);
    radix.insert(radix.end(), df->spines, df->leaves + df->h);
  }
  w.resize(radix);
  w.groups = df->g;
  for (u32 r = 0; r < w.routers; r++) {
    worked(4 * df->spines);
    w.router_group[r] = df->group(r);
    if (!df->is_leaf(r)) continue;
    for (u32 t = 0; t < df->p; t++) w.attach_terminal({r, t});
    const u32 leaf = r % df->size(), first_spine = r - leaf + df->leaves;
    for (u32 s = 0; s < df->spines; s++) w.connect({r, df->p + s}, {first_spine + s, leaf}, {PortKind::kLocal});
  }
  wire_groups({df->g, params.text("arrangement")}, *df, w);
  w.data = df;
}

const Register<TopologySpec> entry({
    .name = "dragonfly_plus",
    .summary = "groups of leaves and spines; global links of the spines fully connect the groups (Dragonfly+, Megafly; "
               "Shpiner et al., HiPINEB 2017)",
    .params =
        {
            integer("terminals_per_leaf", 4, 1, 256, "", "p"),
            integer("leaves_per_group", 4, 1, 256, "", "routers with terminals"),
            integer("spines_per_group", 4, 1, 256, "", "routers with global links"),
            integer("global_ports", 4, 1, 256, "per spine", "h"),
            integer("groups", 17, 2, 16385, "", "g <= spines_per_group h + 1"),
            choice("arrangement", "absolute", {"absolute", "relative", "palmtree"},
                   "assignment of global ports to groups; absolute = consecutive"),
            integer("links_per_group_pair", 0, 0, 65536, "", "0 = as many as the ports allow"),
        },
    .wire = wire,
    .small = {{"terminals_per_leaf", 1},
              {"leaves_per_group", 2},
              {"spines_per_group", 2},
              {"global_ports", 1},
              {"groups", 3}},
});

}  // namespace flitgym::topology::dragonfly_plus
