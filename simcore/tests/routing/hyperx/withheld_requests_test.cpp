// A head of DAL does not request an output without room (apply_routes). All results equal those of requests that switch
// allocation puts off, over random networks, routers, traffic and parameters.
#include "simcore/rng.hpp"
#include "support/scenes.hpp"
#include "support/trace.hpp"
#include "test.hpp"

namespace routing_hyperx_withheld_requests_test {

using namespace scenes;

// Without withholding, because a watched packet records every request.
u64 trace_with(const std::shared_ptr<const Network>& net, bool watched, u32 cycles, u64& waiting) {
  Simulation sim(net);
  if (watched) sim.watch(0, 0);
  Trace trace;
  for (u32 k = 0; k < cycles; k++) {
    if (k == cycles / 3) sim.begin_window();
    sim.run(1);
    trace.deliveries(sim.state());
    if (k % 16 == 0) sim.check_conservation();
    waiting += sim.state().part.route_list.size();
  }
  trace.statistics(sim.network(), sim.state());
  return trace.hash();
}

Config random_config(u64 seed) {
  u64 counter = 0;
  const auto pick = [&](auto... options) {
    const std::vector<std::common_type_t<decltype(options)...>> all = {options...};
    return all[below(draw(seed, 5, counter++), static_cast<u32>(all.size()))];
  };
  const auto word = [&](auto... options) { return std::string(pick(options...)); };
  using Widths = std::vector<double>;
  const Widths widths = pick(Widths{4, 3}, Widths{3, 2, 2}, Widths{5}, Widths{3, 3});
  const Section network = hyperx_section(widths, pick(i64{1}, i64{2}, i64{3}),
                                         {{"links", std::vector<double>(widths.size(), pick(1.0, 2.0))}});
  const i64 flits = pick(i64{1}, i64{4}, i64{7}), vcs = pick(i64{2}, i64{3}, i64{4}, i64{8});
  Values router = sc19();
  if (pick(0, 1, 2) == 0) {  // an input-queued router
    router = merge(input_queued(), {{"arbiter", word("age", "least_recently_served")}, {"injection_vcs", i64{0}}});
  } else {
    router["arbiter"] = word("age", "least_recently_served");
    router["crossbar_ports"] = word("per_vc", "per_port");
    router["output_buffer_flits"] = flits + pick(i64{0}, i64{3}, i64{9});
  }
  router = merge(router, {{"input_buffer_flits", flits + pick(i64{0}, i64{2}, i64{8})},
                          {"link_latency_ns_local", pick(1.0, 9.0, 30.0)},
                          {"vcs", vcs},
                          {"flow_control", word("virtual_cut_through", "wormhole")},
                          {"pipeline_ns", pick(0.0, 2.0)}});
  const Values routing = {{"congestion", word("both", "credits")},
                          {"congestion_scope", word("port", "class", "vc")},
                          {"bias_flits", pick(-3.0, 0.0, 4.0)},
                          {"detour_hops", word("absolute", "normalized")}};
  const Section traffic{word("uniform", "bit_complement", "tornado"),
                        {{"load", pick(0.5, 0.8, 1.0)}, {"packet_bytes_max", bytes_of(flits)}}};
  return config(network, router, {"dal", routing}, traffic, seed);
}

DEEP_TEST(withheld_requests_change_no_result) {
  u32 scenes_with_waiting = 0;
  for (u64 seed = 1; seed <= 60; seed++) {
    const auto net = build(random_config(seed));
    u64 waiting = 0, again = 0;
    const u64 hash = trace_with(net, false, 300, waiting);
    CHECK_FOR(hash == trace_with(net, true, 300, again), "seed " + std::to_string(seed));
    CHECK_EQ(waiting, again);  // the same heads ask again
    scenes_with_waiting += waiting > 3000;
  }
  CHECK_FOR(scenes_with_waiting > 30, std::to_string(scenes_with_waiting));
}

}  // namespace routing_hyperx_withheld_requests_test
