// PolarFly (Lakhotia, Besta, Monroe, Isham, Iff, Hoefler, Petrini, SC 2022): the polarity graph ER_q of diameter 2.
// For a power q of a prime it has q^2 + q + 1 routers of q + 1 links. The q + 1 quadrics among them have one link less.
// In all there are q (q + 1)^2 / 2 links. There is exactly one path of two hops between two routers that
// are not neighbours. The number of routers approaches the Moore bound q^2 + 2 q + 2 for q + 1 links. Ports: terminals,
// then the links in the order of the neighbours. A quadric's last port stays unused.
#include "simcore/registry.hpp"
#include "topology/polarity_graph.hpp"

namespace flitgym::topology::polarfly {

void wire(const Params& params, Wiring& w) {
  const u32 q = params.count("q");
  const PolarityGraph graph = polarity_graph(field_of("polarfly", q));
  const u32 given = params.count("terminals_per_router"), terminals = given ? given : (q + 1) / 2;
  w.resize(static_cast<u32>(graph.next.size()), terminals + q + 1);
  const bool racks = params.text("groups") == "racks";
  w.groups = racks ? q + 1 : w.routers;
  for (u32 r = 0; r < w.routers; r++) {
    worked(8 * q);
    w.router_group[r] = racks ? graph.rack[r] : r;
    for (u32 t = 0; t < terminals; t++) w.attach_terminal({r, t});
    for (u32 k = 0; k < graph.next[r].size(); k++) {
      const u32 to = graph.next[r][k];
      if (to < r) continue;
      w.connect({r, terminals + k}, {to, terminals + place_in(graph.next[to], r)},
                {graph.rack[r] == graph.rack[to] ? PortKind::kLocal : PortKind::kGlobal});
    }
  }
}

const Register<TopologySpec> entry({
    .name = "polarfly",
    .summary = "polarity graphs of diameter 2, near the Moore bound (Lakhotia et al., SC 2022)",
    .params =
        {
            integer("q", 7, 2, 255, "",
                    "a power of a prime; gives q^2 + q + 1 routers of q + 1 links, q + 1 of them of q links"),
            integer("terminals_per_router", 0, 0, 256, "",
                    "p; 0 = half the links, (q + 1) / 2 rounded down, which balances the network"),
            choice("groups", "racks", {"racks", "routers"},
                   "groups for placements and traffic: racks = q + 1 racks, one of which has a router more; routers = "
                   "each router, so that traffic.adversarial sends all packets of a router to one other router"),
        },
    .wire = wire,
    .small = {{"q", 2}, {"terminals_per_router", 1}},
});

}  // namespace flitgym::topology::polarfly
