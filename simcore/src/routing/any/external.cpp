// Decisions from outside: collect() lists, per request, the candidates an agent may choose from; apply() takes its
// choices. The relation keeps every choice free of deadlock and livelock, so an agent cannot pick something unsafe.
#include "routing/relation.hpp"
#include "simcore/error.hpp"

namespace flitgym::routing::any::external {

namespace {

void route(const Network&, State&, Batch&) {
  throw CoreError("routing=external: decisions come from outside; call collect() and apply() instead of run()");
}

// Feedback for an agent outside the core: it is told what a learning routing would be told, and answers in the same
// way.
void hear(const Network&, State& s, u32 port, u32 row, float target) { s.part.heard.push_back({port, row, target}); }

RoutingFacts setup(const Params& params, Network& net, std::shared_ptr<const ComponentData>&) {
  net.learns = params.boolean("feedback");
  return take_relation(params, net);
}

const Register<RoutingSpec> entry([] {
  RoutingSpec spec{
      .name = "external",
      .summary = "an agent outside the core decides",
      .params = relation_params(),
      .setup = setup,
      .route = route,
  };
  spec.params.push_back(flag("feedback", false,
                             "packets carry the agent's estimates back over each link: apply(choices, values, rows) "
                             "sends them, feedback() lists what has come"));
  spec.decider = Decider::kCandidates;
  spec.graph = true;
  spec.learn = hear;
  return spec;
}());

}  // namespace

}  // namespace flitgym::routing::any::external
