// DAL does not choose again for a head that finds no room (RoutingSpec::hold). All results equal those of a choice in
// every cycle, over random networks, routers, traffic and parameters.
#include "simcore/registry.hpp"
#include "simcore/rng.hpp"
#include "support/scenes.hpp"
#include "support/trace.hpp"
#include "test.hpp"

using namespace scenes;

namespace {

u64 held_heads = 0;

// Counts the heads that the routing holds.
void counting_hold(const Network& net, const State& s, std::vector<u32>& heads, std::vector<u32>& held) {
  const std::size_t before = held.size();
  registry<RoutingSpec>().find("dal")->second.hold(net, s, heads, held);
  held_heads += held.size() - before;
}

u64 trace_with(const Network& net, decltype(Network::hold) hold, u32 cycles) {
  auto own = std::make_shared<Network>(net);
  own->hold = hold;
  Simulation sim(own);
  Trace trace;
  for (u32 k = 0; k < cycles; k++) {
    if (k == cycles / 3) sim.begin_window();
    sim.run(1);
    trace.deliveries(sim.state());
    if (k % 16 == 0) sim.check_conservation();
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
  const Widths widths = pick(Widths{4, 3}, Widths{2, 3, 2}, Widths{5}, Widths{3, 3});
  const Section network = hyperx_section(widths, pick(i64{1}, i64{2}, i64{3}), {{"links", std::vector<double>(widths.size(), pick(1.0, 2.0))}});
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
                        {{"load", pick(0.5, 0.8, 1.0)}, {"packet_flits", i64{1}}, {"packet_flits_max", flits}}};
  return config(network, router, {"dal", routing}, traffic, seed);
}

}  // namespace

TEST(held_heads_change_no_result) {
  u32 scenes_with_held = 0;
  for (u64 seed = 1; seed <= 60; seed++) {
    const auto net = build(random_config(seed));
    CHECK_FOR(net->hold != nullptr, std::to_string(seed));
    held_heads = 0;
    CHECK_FOR(trace_with(*net, counting_hold, 300) == trace_with(*net, nullptr, 300), "seed " + std::to_string(seed));
    scenes_with_held += held_heads > 500;
  }
  CHECK_FOR(scenes_with_held > 30, std::to_string(scenes_with_held));
}

// Routers that leave some requests for later cycles hold no heads, because a head keeps its choice with its request.
TEST(heads_are_not_held_where_requests_wait) {
  const auto hold_of = [](const Values& router) {
    return build(config(hyperx_section({4, 4}, 1), router, {"dal", {}}, {"uniform", {}}))->hold;
  };
  CHECK(hold_of(sc19()) != nullptr);
  CHECK(hold_of(input_queued()) == nullptr);                                              // round robin
  CHECK(hold_of(merge(sc19(), {{"crossbar_ports", std::string("per_port")},               // a switch of two cycles
                               {"crossbar_bandwidth_gb_per_s", 64.0}})) == nullptr);
}

// With sequential allocation, every choice counts for later ones, so all heads choose.
TEST(no_head_is_held_with_sequential_allocation) {
  const auto net = build(config(hyperx_section({4, 4}, 2), merge(sc19(), {{"output_buffer_flits", i64{8}}}),
                                {"dal", {{"allocation", std::string("sequential")}}},
                                {"uniform", {{"load", 1.0}, {"packet_flits", i64{8}}}}));
  held_heads = 0;
  trace_with(*net, counting_hold, 200);
  CHECK_EQ(held_heads, 0u);
}
