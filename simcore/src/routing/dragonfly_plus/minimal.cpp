// MIN on a Dragonfly+: up to a spine with a link to the destination's group, across, and down. Traffic within a group
// goes up to any spine, and down. Several ports are used in turns, by flow, or by the shortest queue. One VC class is
// enough, because packets use channels in the order up, across, down.
#include "routing/dragonfly_plus/paths.hpp"
#include "simcore/routing/paths.hpp"

namespace flitgym::routing::dragonfly_plus::minimal {

struct Minimal : graph::PickedPorts {
  template <class Out>
  static void offer(const Head& at, const Rule&, Out&& out) {
    as_dragonfly_plus(at.net).each_minimal_port(at.router, at.to, [&](u32 k) { out(k, 0u); });
  }
};

static RoutingFacts setup(const Params& params, Network& net, Minimal::Rule& rule) {
  Minimal::read(params, net, rule);
  return {.classes = 1, .max_hops = kMinimalHops, .minimal = true};
}

const Register<RoutingSpec> entry({
    .name = "minimal",
    .summary = "up, across and down, always (MIN)",
    .topologies = {"dragonfly_plus"},
    .params = {graph::pick_param("packet"), congestion_param("both"), congestion_scope_param("port"),
               allocation_param()},
    .setup = with_rule<setup>,
    .route = route_declared<Minimal>,
    .candidates = list_paths<false>,
});

}  // namespace flitgym::routing::dragonfly_plus::minimal
