// The power of two choices (Mitzenmacher, IEEE TPDS 12, 2001): draw two minimal ports at random
// and take the port with the shorter queue.
#include "simcore/routing/paths.hpp"

namespace flitgym::routing::graph::two_choices {

namespace {

struct TwoChoices {
  struct Rule : ComponentData {
    CongestionMeasure measure;  // defines the length of a queue
  };
  // The candidates: every port on a minimal path. The VC class is the number of hops done,
  // which only grows, so packets cannot wait for each other in a cycle.
  template <class Out>
  static void offer(const Head& at, const Rule&, Out&& out) {
    offer_minimal(at, at.to, out);
  }
  // The selection: one of the candidates.
  static u32 select(const Head& at, const Rule&, const Congestion& congestion,
                    const Offered<>& offered) {
    const auto queue = [&](u32 k) { return congestion.of(at.router, offered.hop[k]); };
    const u32 one = below(route_draw(at.net, at.packet, 0), offered.count),
              other = below(route_draw(at.net, at.packet, 1), offered.count);
    return queue(other) < queue(one) ? other : one;
  }
};

RoutingFacts setup(const Params& params, Network& net, TwoChoices::Rule& rule) {
  rule.measure = measure_of(params, net);
  return class_per_hop(net);
}

const Register<RoutingSpec> entry(declared<TwoChoices>({
    .name = "two_choices",
    .summary = "the shorter queue of two minimal ports drawn at random",
    .params = {congestion_param(), congestion_scope_param("port")},
    .setup = with_rule<setup>,
    .graph = true,  // uses the present links, so it goes around failed links
}));

}  // namespace

}  // namespace flitgym::routing::graph::two_choices
