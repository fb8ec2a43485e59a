// Chooses the minimal path or another candidate, by the local queues and a bias that an agent outside sets. A table
// holds one bias in flits per router and destination region. The routing adds it to the congestion of every non-minimal
// candidate. A bias of zero gives UGAL over the candidates of an agent. A large bias keeps packets on minimal paths,
// and a large negative bias keeps packets off minimal paths.
#include "simcore/graph.hpp"
#include "simcore/learning.hpp"
#include "simcore/routing/declared.hpp"

namespace flitgym::routing::any::biased {

struct Rule : ComponentData {
  CongestionMeasure measure;
  LearnedTable biases;
  double weight(const Network& net, State& s, u32 packet, u32 router, u32 port, u32 vc_class) const override {
    const Graph& graph = graph_now(net, s);
    const u32 to = net.terminal_router[s.packets[packet].destination];
    const u32 next = net.next_router(net.port(router, port));
    const u32 hops = 1 + distance(net, graph, next, waypoint(net, s, packet, router, port), to);
    const double bias =
        hops > distance(net, graph, router, to) ? biases.row(s, router, net.topology->region(to))[0] : 0;
    return (measure.of(net, s, net.port(router, port), vc_class) + bias) * hops;
  }
};

static void route(const Network& net, State& s, Batch& b) {
  const Seam& seam = *net.seam;
  const auto& rule = static_cast<const Rule&>(*net.routing);
  make_decisions(net, s, b);
  for (u32 j = 0; j < b.decisions.count; j++) {
    const u32 i = b.decisions.request[j];
    double least = 0;
    u32 best = 0;
    for (u32 k = 0; k < b.decisions.slot_count[j]; k++) {
      const u32 at = j * seam.slots + k;
      const double weight =
          rule.weight(net, s, b.packet[i], b.router[i], b.decisions.ports[at], b.decisions.classes[at]);
      if (k > 0 && weight >= least) continue;  // a tie goes to the first candidate, the minimal one
      least = weight;
      best = k;
    }
    b.decisions.chosen[j] = best;
    b.decisions.log_probability[j] = 0;  // the choice is deterministic
  }
  settle_decisions(net, s, b);
}

static RoutingFacts setup(const Params& params, Network& net, Rule& rule) {
  rule.measure = measure_of(params, net);
  rule.biases = declare_table(net, {.name = "biases",
                                    .meaning = "biased: flits added to non-minimal candidates, destination region x 1",
                                    .rows = net.topology->regions(net),
                                    .lowest = -std::numeric_limits<double>::max()});
  return build_seam(params, net, std::make_shared<Seam>());
}

static std::vector<ParamSpec> params() {
  auto specs = joined(seam_params(), {congestion_param("both"), congestion_scope_param("port")});
  std::ranges::find(specs, "observation", &ParamSpec::key)->fallback = std::string("progress");
  return specs;
}

const Register<RoutingSpec> entry({
    .name = "biased",
    .summary = "minimal or non-minimal, by the local queues and a bias per router and region that an agent sets",
    .params = params(),
    .setup = with_rule<setup>,
    .route = route,
    .graph = true,
});

}  // namespace flitgym::routing::any::biased
