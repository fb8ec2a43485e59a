// Channel loads: the test walks every packet through the real routing functions, hop by hop. Every terminal injects 1,
// and loads are in this unit. The expected values are closed forms of the SC'19 and TokyoTech systems: a channel's load
// is the traffic of the router pairs that use it. Most of them are also in the study's text.
#include <set>

#include "simcore/rng.hpp"
#include "simcore/topology/hyperx.hpp"
#include "support/crafted.hpp"

namespace routing_hyperx_loads_test {

using namespace scenes;

Lone loaded(const Section& topology, const Section& routing, const Section& traffic = {"uniform", {}}) {
  return Lone(build(config(topology, sc19(), routing, traffic)));
}
Section sc19_network() { return hyperx_section({8, 8, 8}, 8); }

// The uses of each router-to-router channel.
struct Loads {
  const Network& net;
  std::vector<u64> uses;

  explicit Loads(const Network& network) : net(network), uses(network.router_ports) {}
  void walk(Lone& x, u32 source, u32 destination, u32 sequence = 0) {
    x.walk(source, destination, sequence, [&](u32 router, const Step& step) { uses[net.port(router, step.port)]++; });
  }
  std::vector<u64> of_dimension(u32 k) const {
    std::vector<u64> out;
    for (u32 p = 0; p < net.router_ports; p++)
      if (net.local_port(p) < net.radix && as_hyperx(net).dimension_of_port[net.local_port(p)] == k)
        out.push_back(uses[p]);
    return out;
  }
  u64 most(u32 k) const { return std::ranges::max(of_dimension(k)); }
  u64 least(u32 k) const { return std::ranges::min(of_dimension(k)); }
};

// The packets of a permutation, one per terminal.
Loads permutation(Lone& x) {
  Loads loads(x.net);
  for (u32 t = 0; t < x.net.terminals; t++) loads.walk(x, t, x.net.destination(1, t, 0, 0, 0));
  return loads;
}

// The closed form holds for every shape. K parallel links share the load, packet by packet.
TEST(dor_forwarding_index_of_other_shapes) {
  for (const auto& [widths, links] : {std::pair{std::vector<double>{5}, std::vector<double>{1}},
                                      {{3, 4, 5}, {1}},
                                      {{2, 2, 2, 2, 2, 2}, {1}},
                                      {{4, 3}, {2, 3}}}) {
    Lone x = loaded(hyperx_section(widths, 1, {{"links", links}}), {"dimension_order", {}});
    const HyperX& hx = as_hyperx(x.net);
    Loads loads(x.net);
    for (u32 a = 0; a < x.net.routers; a++)
      for (u32 b = 0; b < x.net.routers; b++)
        for (u32 sequence = 0; sequence < 6; sequence++) loads.walk(x, a, b, sequence);
    for (u32 k = 0; k < hx.dimensions; k++) {
      CHECK_EQ(loads.least(k), 6 * x.net.routers / hx.widths[k] / hx.links[k]);
      CHECK_EQ(loads.most(k), 6 * x.net.routers / hx.widths[k] / hx.links[k]);
    }
  }
}

// DCR: 64 if y is crossed between x and z, 8 in the other four orders.
TEST(dor_loads_of_dcr_in_every_order) {
  for (const auto& [order, load] : {std::pair{std::vector<double>{0, 1, 2}, 64u},
                                    {{2, 1, 0}, 64},
                                    {{0, 2, 1}, 8},
                                    {{1, 0, 2}, 8},
                                    {{1, 2, 0}, 8},
                                    {{2, 0, 1}, 8}}) {
    Lone x = loaded(sc19_network(), {"dimension_order", {{"order", order}}}, {"dimension_complement_reverse", {}});
    const Loads loads = permutation(x);
    CHECK_FOR(std::max({loads.most(0), loads.most(1), loads.most(2)}) == load, to_string(Value{order}));
    CHECK_FOR(loads.most(1) == load && loads.most(0) == 8 && loads.most(2) == 8, to_string(Value{order}));
  }
}

// VAL turns every pattern into uniform traffic twice: load T/S + T/S = 2 on every channel. This is exact if every
// packet uses every intermediate router once (4x4x4, T=4: 64 routers).
TEST(valiant_loads_by_every_intermediate) {
  for (const Section& traffic : {Section{"bit_complement", {}},
                                 {"swap2", {}},
                                 {"dimension_complement_reverse", {}},
                                 {"tornado", {}},
                                 {"transpose", {}}}) {
    Lone x = loaded(hyperx_section({4, 4, 4}, 4), {"valiant", {}}, traffic);
    Loads loads(x.net);
    for (u32 t = 0; t < 256; t++)
      for (u32 middle = 0; middle < 64; middle++) {
        const Place at = x.send(t, x.net.destination(1, t, 0, 0, 0));
        x.packet().phase = kToIntermediate;
        x.intermediate() = middle;
        x.walk_on(at, [&](u32 router, const Step& step) { loads.uses[x.net.port(router, step.port)]++; });
      }
    for (const u32 k : {0u, 1u, 2u})
      CHECK_FOR(loads.least(k) == 2 * 64 && loads.most(k) == 2 * 64, traffic.name + " " + std::to_string(k));
  }
}

// The most loaded channel bounds the accepted load of a run at full load. 4x4, T=4, BC: load 4 under DOR, so 1/4. VAL
// at most 1/2 (2 on every channel). Incremental routings also stay below 1/2 (a bisection of 16 directed channels for
// 32 terminals), but above 1/4.
TEST(throughput_is_bound_by_the_loads) {
  const auto accepted = [](const std::string& routing, const Section& traffic) {
    Simulation sim(config(hyperx_section({4, 4}, 4),
                          merge(sc19(), {{"link_latency_ns_local", 10.0}, {"output_latency_ns", 5.0}}), {routing, {}},
                          {traffic.name, merge(traffic.values, {{"load", 1.0}})}));
    sim.run(1500);
    sim.begin_window();
    sim.run(1500);
    return statistics(sim.network(), sim.state()).at("accepted_load");
  };
  CHECK_NEAR(accepted("dimension_order", {"bit_complement", {}}), 0.25, 1e-3);
  CHECK_NEAR(accepted("dimension_order", {"tornado", {}}), 0.25, 1e-3);
  CHECK_NEAR(accepted("dimension_order", {"swap2", {}}), 0.5, 1e-3);  // 2 of 4 packets use each link
  for (const std::string routing : {"valiant", "dim_war", "omni_war", "dal", "ugal", "clos_ad"}) {
    const double got = accepted(routing, {"bit_complement", {}});
    CHECK_FOR(got <= 0.5 && got > 0.3, routing + " " + std::to_string(got));
  }
  CHECK(accepted("dimension_order", {"uniform", {}}) > 0.8);
}

// ---- Hops and VC classes, intermediate routers, parallel links, and marks of minimal packets ----

Lone lone(const std::vector<double>& widths, const Section& routing, const Values& router = {},
          const Values& more = {}) {
  return Lone(build(config(hyperx_section(widths, 1, more), merge(input_queued(), router), routing, {"uniform", {}})));
}

// Hops of the longest path and VC classes of each routing, on three dimensions. Bias forces every possible deroute.
TEST(hyperx_routings_declare_their_hops_and_classes) {
  struct Case {
    Section routing;
    u32 classes, hops;
  };
  for (const Case& c : {Case{{"dimension_order", {}}, 1, 3},
                        {{"minimal_adaptive", {}}, 3, 3},
                        {{"valiant", {}}, 2, 6},
                        {{"ugal", {}}, 2, 6},
                        {{"clos_ad", {}}, 2, 6},
                        {{"dal", {}}, 2, 6},
                        {{"dal", {{"deadlock_avoidance", "distance"}}}, 6, 6},
                        {{"dim_war", {}}, 2, 6},
                        {{"omni_war", {}}, 6, 6},
                        {{"omni_war", {{"deroutes", 1}}}, 4, 4},
                        {{"omni_war", {{"deroutes", 5}}}, 8, 8},
                        {{"q_adaptive", {}}, 2, 6},
                        {{"q_routing", {{"max_hops", 4}}}, 7, 7}}) {
    const auto net = lone({4, 3, 4}, c.routing).network;
    CHECK_FOR(net->routing_facts.classes == c.classes && net->vcs == c.classes, text(c.routing));
    CHECK_FOR(net->routing_facts.max_hops == c.hops, text(c.routing));
    if (c.classes > 1)
      CHECK_THROWS(ConfigError, lone({4, 3, 4}, c.routing, {{"vcs", i64{c.classes} - 1}}), "router.vcs");
  }
}

TEST(intermediate_routers_are_uniform) {
  Lone x = lone({4, 4}, {"valiant", {}});
  std::vector<u32> count(16);
  for (u32 n = 0; n < 16000; n++) {
    x.ask(x.send(n % 16, (n + 5) % 16, n));
    // The intermediate router is the source's own: the second leg begins at once.
    CHECK_EQ(x.packet().phase, kToIntermediate + (x.intermediate() == n % 16));
    count[x.intermediate()]++;
  }
  for (u32 n : count) CHECK_NEAR(n, 1000, 5 * std::sqrt(1000.0));
  // Traffic between terminals of one router stays there.
  CHECK_EQ(x.walk(3, 3, 0, [](u32, const Step&) {}), 0u);
}

// ---- Parallel links ----

TEST(parallel_links_take_turns) {
  const Values links = {{"links", std::vector<double>{2, 3}}};
  // 4x3, T=1: ports 1..6 in x (offsets 1, 2, 3; 2 links), 7..12 in y (offsets 1, 2; 3 links). Packets go from (0, 0) to
  // (1, 0) and (0, 1).
  for (const std::string routing : {"dimension_order", "clos_ad", "q_adaptive", "q_routing"}) {
    Lone x = lone({4, 3}, {routing, routing[0] == 'q' ? Values{{"epsilon", 0.0}} : Values{}}, {}, links);
    std::set<u32> in_x, in_y;
    for (u32 sequence = 0; sequence < 6; sequence++) {
      const u32 port_x = x.ask(x.send(0, 1, sequence)).port, port_y = x.ask(x.send(0, 4, sequence)).port;
      in_x.insert(port_x);
      in_y.insert(port_y);
      if (routing == "dimension_order") CHECK(port_x == 1 + sequence % 2 && port_y == 7 + sequence % 3);
    }
    if (routing != "clos_ad") CHECK_FOR(in_x == (std::set<u32>{1, 2}) && in_y == (std::set<u32>{7, 8, 9}), routing);
  }
  // An adaptive routing takes the less congested link, and any link on an idle network.
  for (const Section& routing :
       {Section{"minimal_adaptive", {}}, {"dim_war", {}}, {"omni_war", {}}, {"dal", {}}, {"clos_ad", {}}}) {
    Lone x = lone({4, 3}, routing, {}, links);
    std::set<u32> idle;
    for (u32 sequence = 0; sequence < 60; sequence++) idle.insert(x.ask(x.send(0, 4, sequence)).port);
    CHECK_FOR(idle == (std::set<u32>{7, 8, 9}), routing.name);
    for (u32 port = 7; port <= 12; port++)
      for (u32 vc = 0; vc < x.net.vcs; vc++) congest(x, 0, port, vc, 0, port == 8 ? 2 : 3);
    for (u32 sequence = 0; sequence < 6; sequence++) CHECK_FOR(x.ask(x.send(0, 4, sequence)).port == 8, routing.name);
  }
}

// ---- Minimal packets ----

// A packet is non-minimal if it takes more hops than the distance. VAL and UGAL may pass an intermediate router on
// another minimal path than dimension order's. These packets are minimal.
TEST(another_minimal_path_is_minimal) {
  for (const std::string routing : {"valiant", "ugal"}) {
    Lone x = lone({4, 4}, {routing, routing == "ugal" ? Values{{"bias_flits", -1e6}} : Values{}});
    u32 others = 0;
    for (u32 sequence = 0; sequence < 200; sequence++) {
      std::vector<u32> dimensions;
      if (x.walk(0, 5, sequence, [&](u32, const Step& step) { dimensions.push_back(step.port > 3); }) > 2) continue;
      others += dimensions == std::vector<u32>{1, 0};  // by (0, 1)
      CHECK_FOR(!x.packet().nonminimal, routing);
    }
    CHECK(others > 2);
  }
}

// Q-routing may take another dimension first, or another link of a trunk. Both are minimal.
TEST(another_minimal_port_is_minimal) {
  // To (1, 1) with y first, and to (1, 0) by the second link.
  for (const auto& [destination, port] : {std::pair{5u, 7u}, {1u, 2u}}) {
    Lone x = lone({4, 4}, {"q_routing", {}}, {}, {{"links", std::vector<double>{2, 1}}});
    // T=1; ports 1..6 in x, 7..9 in y. This value is the least of its row.
    learned_table(x.net).row(x.state, 0, destination)[port - 1] = 1;
    const u32 hops = x.walk(0, destination, 0, [](u32, const Step&) {});
    CHECK_EQ(hops, as_hyperx(x.net).distance(as_hyperx(x.net).difference(0, destination)));
    CHECK(!x.packet().nonminimal);
  }
}

}  // namespace routing_hyperx_loads_test
