// Decisions from outside the core: collect() lists the candidates of each request, and apply() takes an agent's
// choices. The relation keeps every candidate free of deadlock and livelock, so an agent cannot make an unsafe choice.
#include "simcore/routing/relation.hpp"

namespace flitgym::routing::any::external {

static void route(const Network&, State&, Batch&) {
  throw CoreError(
      "routing=external: decisions come from outside the core; call collect() and apply() instead of run()");
}

// Keeps feedback for the agent outside the core: the values that a learning routing would learn from.
static void keep_feedback(const Network& net, State& s, u32 port, u32 row, float target) {
  partition(s, net.partition_of(net.router_of_port(port))).feedback_received.push_back({port, row, target});
}

static RoutingFacts setup(const Params& params, Network& net, std::shared_ptr<const ComponentData>&) {
  net.learns = params.boolean("feedback");
  return take_relation(params, net);
}

const Register<RoutingSpec> entry({
    .name = "external",
    .summary = "an agent outside the core chooses among all candidates",
    .params = joined(relation_params(),
                     {flag("feedback", false,
                           "feedback travels back over each link: apply(choices, values, rows) sends the agent's "
                           "estimates, and feedback() lists those that have arrived")}),
    .setup = setup,
    .route = route,
    .learn = keep_feedback,
    .decider = Decider::kCandidates,
    .graph = true,
});

}  // namespace flitgym::routing::any::external
