// What every HyperX routing promises: bounds on hops, what a packet may do in a dimension, VC classes, and the
// arithmetic of its decisions by hand (SC'19: McDonald et al.; DAL: Ahn et al., SC 2009; Clos-AD: Kim et al., ISCA
// 2007).
#include <algorithm>
#include <set>

#include "crafted.hpp"
#include "simcore/rng.hpp"
#include "topology/hyperx.hpp"

using namespace scenes;

namespace {

const std::string kEscape = "escape", kDistance = "distance";

Lone lone(const std::vector<double>& widths, const Section& routing, const Values& router = {},
          const Values& more = {}) {
  return Lone(build(config(hyperx_section(widths, 1, more), merge(input_queued(), router), routing, {"uniform", {}})));
}

// A path as it was taken.
struct Hop {
  u32 dimension, vc_class;
  bool direct;  // to the destination's coordinate
};
struct Path {
  u32 source = 0, destination = 0;  // routers
  bool nonminimal = false;
  std::vector<Hop> hops;
};

// Every packet's path under load. A head that asks again (dal) leaves by its last answer.
std::vector<Path> paths(Simulation& sim, u32 cycles) {
  const Network& net = sim.network();
  const HyperX& hx = hyperx(net);
  std::map<std::pair<u32, u32>, std::map<u32, Decision>> by_packet;
  std::vector<Decision> seen;
  for (u32 k = 0; k < cycles; k++) {
    seen.clear();
    observe(sim, seen);
    for (const Decision& d : seen) by_packet[{d.packet.source, d.packet.sequence}].insert_or_assign(d.packet.hops, d);
  }
  std::vector<Path> out;
  for (const auto& [name, decisions] : by_packet) {
    Path path;
    for (const auto& [hops, d] : decisions) {
      const u32 to = net.terminal_router[d.packet.destination];
      path.source = net.terminal_router[d.packet.source];
      path.destination = to;
      path.nonminimal = d.packet.nonminimal;
      if (d.out_port < hx.terminals) continue;  // a detour may pass the destination's router
      const u32 k = hx.dimension_of_port[d.out_port];
      path.hops.push_back({k, d.out_class, hx.coordinate_behind(d.router, k, d.out_port) == hx.coordinate(to, k)});
    }
    if (decisions.rbegin()->second.out_port < hx.terminals) out.push_back(path);  // complete
  }
  return out;
}

Simulation busy(const Section& routing, const Section& traffic = {"uniform", {}},
                const std::vector<double>& widths = {4, 3, 4}) {
  const Values router = merge(input_queued(), {{"input_buffer_flits", i64{4}}, {"link_latency_ns_local", 3.0}});
  return Simulation(
      config(hyperx_section(widths, 4), router, routing, {traffic.name, merge(traffic.values, {{"load", 0.9}})}, 2));
}

std::string text(const Section& routing) {
  std::string out = routing.name;
  for (const auto& [key, value] : routing.values) out += " " + key + "=" + to_string(value);
  return out;
}

bool ascending(const std::vector<u32>& dimensions) {
  return std::adjacent_find(dimensions.begin(), dimensions.end(), std::greater_equal<>{}) == dimensions.end();
}
std::vector<u32> dimensions_on(const Path& path, u32 vc_class) {
  std::vector<u32> out;
  for (const Hop& hop : path.hops)
    if (hop.vc_class == vc_class) out.push_back(hop.dimension);
  return out;
}

}  // namespace

// ---- Paths under load ----

// Bias -1000 makes every packet take all the deroutes it can, so that the bounds are met.
TEST(paths_keep_to_their_rules) {
  const Values greedy = {{"bias_flits", -1000.0}};
  struct Case {
    Section routing;
    u32 classes, max_hops, longest;
  };
  for (const Case& c : {
           Case{{"dimension_order", {}}, 1, 3, 3},
           {{"minimal_adaptive", {}}, 3, 3, 3},
           {{"valiant", {}}, 2, 6, 6},
           {{"ugal", {}}, 2, 6, 6},
           {{"ugal", greedy}, 2, 6, 6},
           {{"clos_ad", {}}, 2, 6, 6},
           {{"clos_ad", greedy}, 2, 6, 6},
           {{"dal", {{"deadlock_avoidance", kEscape}}}, 2, 6, 0},
           {{"dal", merge(greedy, {{"deadlock_avoidance", kEscape}})}, 2, 6, 6},
           {{"dal", {{"deadlock_avoidance", kDistance}}}, 6, 6, 0},
           {{"dal", merge(greedy, {{"deadlock_avoidance", kDistance}})}, 6, 6, 6},
           {{"dim_war", {}}, 2, 6, 0},
           {{"dim_war", greedy}, 2, 6, 6},
           {{"dim_war", merge(greedy, {{"classes", std::string("deroute")}})}, 2, 6, 6},
           {{"omni_war", {}}, 6, 6, 0},
           {{"omni_war", greedy}, 6, 6, 6},
           {{"omni_war", merge(greedy, {{"deroutes", i64{0}}})}, 3, 3, 3},
           {{"omni_war", merge(greedy, {{"deroutes", i64{1}}})}, 4, 4, 4},
           {{"omni_war", merge(greedy, {{"deroutes", i64{3}}})}, 6, 6, 6},
           {{"omni_war", merge(greedy, {{"back_to_back", true}})}, 6, 6, 6},
           {{"q_adaptive", {{"epsilon", 0.5}}}, 2, 6, 6},
           {{"q_routing", {{"epsilon", 0.3}, {"max_hops", i64{3}}}}, 6, 6, 6},
       }) {
    const std::string name = text(c.routing);
    // they divert where minimal paths are crowded
    const bool from_source = c.routing.name == "clos_ad" || c.routing.name == "ugal";
    Simulation sim = from_source ? busy(c.routing, {"bit_complement", {}}, {4, 4, 4}) : busy(c.routing);
    const Network& net = sim.network();
    const HyperX& hx = hyperx(net);
    CHECK_EQ(net.routing_facts.classes, c.classes);
    CHECK_EQ(net.routing_facts.max_hops, c.max_hops);
    std::size_t longest = 0, complete = 0;
    for (const Path& path : paths(sim, 150)) {
      complete++;
      longest = std::max(longest, path.hops.size());
      const u32 minimal = hx.distance(hx.difference(path.source, path.destination));
      CHECK_FOR(path.nonminimal || path.hops.size() == minimal, name);
      if (c.routing.name != "q_routing" && c.routing.name != "ugal")
        CHECK_FOR(!path.nonminimal || path.hops.size() > minimal, name);
      std::vector<u32> hops_in(3), deroutes_in(3), all;
      for (const Hop& hop : path.hops) {
        hops_in[hop.dimension]++;
        deroutes_in[hop.dimension] += !hop.direct;
        all.push_back(hop.dimension);
        // Nobody but VAL, UGAL and Q-routing ever touches a dimension that is aligned.
        if (c.routing.name != "valiant" && c.routing.name != "ugal" && c.routing.name != "q_routing")
          CHECK_FOR(hx.unaligned(hx.difference(path.source, path.destination), hop.dimension), name);
      }
      if (c.routing.name == "dimension_order") CHECK_FOR(ascending(all) && path.hops.size() == minimal, name);
      if (c.routing.name == "minimal_adaptive") CHECK_FOR(path.hops.size() == minimal, name);
      for (std::size_t n = 0; n < path.hops.size(); n++) {
        const Hop& hop = path.hops[n];
        const bool after_deroute = n > 0 && !path.hops[n - 1].direct && path.hops[n - 1].dimension == hop.dimension;
        if (c.routing.name == "minimal_adaptive" || c.routing.name == "omni_war" || c.routing.name == "q_routing" ||
            (c.routing.name == "dal" && c.classes == 6))
          CHECK_EQ(hop.vc_class, n);
        if (c.routing.name == "dim_war")
          CHECK_EQ(hop.vc_class, c.routing.values.count("classes") ? u32{!hop.direct} : u32{after_deroute});
        if (c.routing.name == "q_adaptive") CHECK_EQ(hop.vc_class, u32{after_deroute});
        if (c.routing.name == "omni_war" && !c.routing.values.count("back_to_back"))
          CHECK_FOR(!after_deroute || hop.direct, name);
        if (n > 0 && c.classes == 2 && c.routing.name != "dim_war" && c.routing.name != "q_adaptive")
          CHECK_FOR(hop.vc_class >= path.hops[n - 1].vc_class, name);
      }
      if (c.routing.name == "valiant" || c.routing.name == "ugal" || c.routing.name == "clos_ad")
        CHECK_FOR(ascending(dimensions_on(path, 0)) && ascending(dimensions_on(path, 1)), name);
      if (c.routing.name == "dim_war" || c.routing.name == "q_adaptive") CHECK_FOR(std::ranges::is_sorted(all), name);
      if (c.routing.name == "dim_war" || c.routing.name == "q_adaptive" || c.routing.name == "clos_ad" ||
          c.routing.name == "dal")
        for (const u32 k : {0u, 1u, 2u}) CHECK_FOR(hops_in[k] <= 2, name);
      if (c.routing.name == "dal") {
        for (const u32 k : {0u, 1u, 2u}) CHECK_FOR(deroutes_in[k] <= 1, name);
        if (c.classes == 2) {  // the escape path is DOR's
          CHECK_FOR(ascending(dimensions_on(path, 1)), name);
          for (const Hop& hop : path.hops) CHECK_FOR(hop.vc_class == 0 || hop.direct, name);
        }
      }
    }
    CHECK_FOR(complete > 1000, name);
    if (c.longest) CHECK_FOR(longest == c.longest, name + ": " + std::to_string(longest) + " hops");
    CHECK_FOR(longest <= c.max_hops, name);
    sim.check_conservation();
  }
}

// DAL's escape class is used where the buffers are small and the load is high.
TEST(dal_really_escapes) {
  Simulation sim = busy({"dal", {}});
  u32 escaped = 0;
  for (const Path& path : paths(sim, 600)) escaped += !path.hops.empty() && path.hops.back().vc_class == 1;
  CHECK(escaped > 100);
}

TEST(intermediate_routers_are_uniform) {
  Lone x = lone({4, 4}, {"valiant", {}});
  std::vector<u32> count(16);
  for (u32 n = 0; n < 16000; n++) {
    x.ask(x.send(n % 16, (n + 5) % 16, n));
    // its own router: the second leg at once
    CHECK_EQ(x.packet().phase, kToIntermediate + (x.intermediate() == n % 16));
    count[x.intermediate()]++;
  }
  for (u32 n : count) CHECK_NEAR(n, 1000, 5 * std::sqrt(1000.0));
  // Traffic of one router stays there.
  CHECK_EQ(x.walk(3, 3, 0, [](u32, const Step&) {}), 0u);
}

// ---- Parallel links ----

TEST(parallel_links_take_turns) {
  const Values links = {{"links", std::vector<double>{2, 3}}};
  // 4x3, T=1: ports 1..6 in x (offsets 1, 2, 3; 2 links), 7..12 in y (offsets 1, 2; 3 links). From (0, 0) to (1, 0) and
  // (0, 1).
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
  // An adaptive one takes the less congested, and on an idle network any.
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

// Under load all links of a trunk carry alike.
TEST(parallel_links_share_the_load) {
  for (const Section& routing : {Section{"dimension_order", {}},
                                 {"minimal_adaptive", {}},
                                 {"valiant", {}},
                                 {"omni_war", {}},
                                 {"dim_war", {}},
                                 {"dal", {}},
                                 {"clos_ad", {}},
                                 {"ugal", {}}}) {
    Simulation sim(config(hyperx_section({3, 3}, 2, {{"links", std::vector<double>{2, 3}}}), input_queued(), routing,
                          {"uniform", {{"load", 0.5}}}));
    const Network& net = sim.network();
    const HyperX& hx = hyperx(net);
    sim.begin_window();
    sim.run(4000);
    for (u32 k = 0; k < 2; k++) {
      std::vector<double> of_link(hx.links[k]);
      double all = 0;
      for (u32 r = 0; r < net.routers; r++)
        for (u32 port = hx.base[k]; port < hx.end_of(k); port++) {
          const auto flits = static_cast<double>(sim.state().ports[net.port(r, port)].flits);
          CHECK_FOR(flits > 0, routing.name);
          of_link[(port - hx.base[k]) % hx.links[k]] += flits;
          all += flits;
        }
      for (double flits : of_link) CHECK_NEAR(flits / all * hx.links[k], 1, 0.05);
    }
  }
}

// ---- Idle networks ----

// One packet at a time: every adaptive routing goes minimally, and says so.
TEST(idle_networks_are_crossed_minimally) {
  for (const std::string& name : kHyperXRoutings) {
    if (name == "valiant") continue;
    for (const Values& links : {Values{}, Values{{"links", std::vector<double>{2, 1, 3}}}}) {
      Section routing{name, {}};
      if (name[0] == 'q') routing.values["epsilon"] = 0.0;
      Lone x = lone({3, 2, 4}, routing, {}, links);
      const HyperX& hx = hyperx(x.net);
      for (u32 a = 0; a < 24; a++)
        for (u32 b = 0; b < 24; b++)
          for (u32 sequence = 0; sequence < 6; sequence++) {
            CHECK_FOR(x.walk(a, b, sequence, [](u32, const Step&) {}) == hx.distance(hx.difference(a, b)), name);
            CHECK_FOR(!x.packet().nonminimal, name);
          }
    }
    // And in a run, one after the other.
    for (u32 to = 1; to < 16; to++) {
      Simulation sim(config(hyperx_section({4, 4}, 1), sc19(),
                            {name, name[0] == 'q' ? Values{{"epsilon", 0.0}} : Values{}}, planned({{0, to}}, 16)));
      sim.begin_window();
      sim.run(500);
      const auto result = statistics(sim.network(), sim.state());
      CHECK_EQ(result.at("packets_delivered"), 1);
      CHECK_EQ(result.at("nonminimal_fraction"), 0);
      CHECK_EQ(result.at("hops_mean"), 1 + (to % 4 > 0 && to >= 4));
    }
  }
}

// A packet is non-minimal if it takes more hops than it must, not if its way merely differs from dimension order's:
// VAL's and UGAL's by a router on another minimal path.
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

// Nor is Q-routing's, by another dimension first or by another link of a trunk.
TEST(another_minimal_port_is_minimal) {
  // to (1, 1) by y first; to (1, 0) by the second link
  for (const auto& [destination, port] : {std::pair{5u, 7u}, {1u, 2u}}) {
    Lone x = lone({4, 4}, {"q_routing", {}}, {}, {{"links", std::vector<double>{2, 1}}});
    // T=1; ports 1..6 in x, 7..9 in y; the least of the row
    learned_table(x.net).row(x.state, 0, destination)[port - 1] = 1;
    const u32 hops = x.walk(0, destination, 0, [](u32, const Step&) {});
    CHECK_EQ(hops, hyperx(x.net).distance(hyperx(x.net).difference(0, destination)));
    CHECK(!x.packet().nonminimal);
  }
}

// ---- The weight, by hand ----

// 4x4, T=1. Ports 1..3: x offsets 1..3; 4..6: y offsets 1..3. From (0, 0) to (1, 1), h = 2: direct by 1 and 4, deroutes
// by 2, 3, 5, 6. Weights: direct 2 q; deroute 3 (q + congestion_bias) + bias, or with normalised hops, as by default, 4
// (...) + bias.
TEST(weight_rule_by_hand) {
  struct Case {
    u32 q[6];
    Values values;
    std::set<u32> chosen;  // ports, over many packets
  };
  const Case cases[] = {
      {{5, 5, 5, 5, 5, 5}, {}, {1, 4}},  // 10 against 15
      {{5, 9, 9, 4, 9, 9}, {}, {4}},     // the less congested of the direct ones
      {{5, 9, 2, 4, 9, 9}, {}, {3}},     // 10, 8 against 3 * 2 = 6
      {{6, 4, 9, 6, 9, 9}, {}, {1, 4}},  // 12 against 3 * 4: minimal wins the tie
      {{7, 4, 9, 7, 9, 9}, {}, {2}},     // 14 against 12
      // deroutes of equal weight are drawn among
      {{7, 4, 9, 7, 9, 4}, {}, {2, 6}},
      {{0, 0, 0, 0, 0, 0}, {}, {1, 4}},                  // all 0
      {{5, 9, 2, 4, 9, 9}, {{"bias_flits", 2.0}}, {4}},  // 6 + 2 = 8: a tie
      {{5, 9, 2, 4, 9, 9}, {{"bias_flits", 1.0}}, {3}},
      {{5, 9, 2, 4, 9, 9}, {{"congestion_bias_flits", 1.0}}, {4}},                 // 3 * 3 = 9
      {{5, 9, 2, 4, 9, 9}, {{"congestion_bias_flits", 0.5}}, {3}},                 // 7.5
      {{100, 0, 0, 100, 0, 0}, {{"bias_flits", 1e6}}, {1, 4}},                     // forbidden
      {{0, 100, 100, 0, 50, 100}, {{"bias_flits", -1e6}}, {5}},                    // forced, and by the least of them
      {{5, 9, 2, 5, 9, 9}, {{"detour_hops", std::string("normalized")}}, {3}},     // 4 * 2 = 8 against 10
      {{5, 9, 3, 5, 9, 9}, {{"detour_hops", std::string("normalized")}}, {1, 4}},  // 12; 3 * 3 = 9 as they are
      {{5, 9, 3, 5, 9, 9}, {}, {3}},
  };
  for (const std::string routing : {"omni_war", "dal"})
    for (const Case& c : cases) {
      Lone x = lone(
          {4, 4}, {routing, merge({{"detour_hops", std::string("absolute")}, {"congestion_scope", std::string("port")}},
                                  c.values)});
      for (u32 k = 0; k < 6; k++) congest(x, 0, 1 + k, 0, 0, c.q[k]);
      std::set<u32> seen;
      for (u32 sequence = 0; sequence < 40; sequence++) seen.insert(x.ask(x.send(0, 5, sequence)).port);
      CHECK_FOR(seen == c.chosen, routing + " case " + std::to_string(&c - cases));
      // dal: once it has gone
      CHECK_EQ(x.packet().nonminimal, !c.chosen.count(1) && !c.chosen.count(4) && routing == "omni_war");
    }
  // dim_war sees the first unaligned dimension alone.
  Lone x = lone({4, 4}, {"dim_war", {{"detour_hops", std::string("absolute")}}});
  for (u32 k = 0; k < 6; k++) congest(x, 0, 1 + k, 0, 0, std::vector<u32>{7, 5, 6, 0, 0, 0}[k]);
  CHECK(x.ask(x.send(0, 5)) == (Step{1, 0}));  // 14 against 3 * 5
  congest(x, 0, 2, 0, 0, 4);
  CHECK(x.ask(x.send(0, 5)) == (Step{2, 0}));
  // Behind a deroute it goes directly, whatever waits there: at (2, 0), come by x offset 2, to (1, 1) by offset 3.
  x.packet().hops = 1;
  congest(x, 2, 3, 1, 0, 100);
  CHECK(x.ask({2, 2, 0}) == (Step{3, 1}));
}

// minimal_adaptive: h q over the direct links alone.
TEST(minimal_adaptive_by_hand) {
  Lone x = lone({4, 4}, {"minimal_adaptive", {}});
  congest(x, 0, 1, 0, 0, 3);
  congest(x, 0, 4, 0, 0, 2);
  CHECK(x.ask(x.send(0, 5)) == (Step{4, 0}));
  congest(x, 0, 4, 0, 0, 4);
  CHECK(x.ask(x.send(0, 5)) == (Step{1, 0}));
  CHECK(x.ask(x.send(0, 4)) == (Step{4, 0}));
}

// UGAL, 4x4: minimal h q against H (q + congestion_bias) + bias, H the hops by way of the drawn router.
TEST(hyperx_ugal_rule_by_hand) {
  // From (0, 0) to (1, 0), by port 1. Where the draw leads is seen by forcing it.
  Lone forced = lone({4, 4}, {"ugal", {{"bias_flits", -1e6}}});
  const auto middle_of = [&](u32 sequence) {
    forced.ask(forced.send(0, 1, sequence));
    return forced.packet().phase == kMinimal ? kNone : forced.intermediate();
  };
  u32 one_hop_more = 0, by_the_same_port = 0, none = 0;
  for (u32 sequence = 0; sequence < 200; sequence++) {
    const u32 middle = middle_of(sequence);
    const auto diverts = [&](u32 q_minimal, u32 q_other, const Values& values = {}) {
      Lone x = lone({4, 4}, {"ugal", values});
      for (u32 port = 1; port < x.net.radix; port++) congest(x, 0, port, 1, 0, port == 1 ? q_minimal : q_other);
      const Step step = x.ask(x.send(0, 1, sequence));
      CHECK_EQ(step.vc_class, x.packet().phase == kToIntermediate ? 0u : 1u);
      // its first hop may lead nearer all the same
      CHECK(!x.packet().nonminimal || x.packet().phase == kToIntermediate);
      return x.packet().phase == kToIntermediate;
    };
    if (middle == kNone) {  // drew its own or the destination's router
      CHECK(!diverts(100, 0));
      none++;
    } else if (middle % 4 == 1) {  // (1, y): by the same port, which is congested by the same; 3 hops against 1
      CHECK(!diverts(100, 0) && !diverts(100, 100));
      CHECK(diverts(0, 0, {{"bias_flits", -1.0}}));
      by_the_same_port++;
    } else if (middle < 4) {  // (2, 0) or (3, 0): 2 hops against 1
      CHECK(!diverts(4, 2) && diverts(5, 2) && !diverts(4, 4) && !diverts(0, 0));
      // 4 + 3
      CHECK(!diverts(7, 2, {{"bias_flits", 3.0}}) && diverts(8, 2, {{"bias_flits", 3.0}}));
      // 2 (2 + 1)
      CHECK(!diverts(6, 2, {{"congestion_bias_flits", 1.0}}) && diverts(7, 2, {{"congestion_bias_flits", 1.0}}));
      one_hop_more++;
    } else {  // (x, y): 4 hops by the router opposite, (0, y): 3; twice the minimal ones if normalised
      const u32 hops = middle % 4 == 0 ? 3 : 4;
      CHECK(!diverts(2 * hops, 2) && diverts(2 * hops + 1, 2));
      CHECK(!diverts(4, 2, {{"detour_hops", std::string("normalized")}}) &&
            diverts(5, 2, {{"detour_hops", std::string("normalized")}}));
    }
  }
  CHECK(none > 10 && by_the_same_port > 10 && one_hop_more > 10);
}

// Of several routers drawn the one of least weight; ties to the first.
TEST(ugal_compares_its_candidates) {
  u32 detours = 0;
  for (u32 sequence = 0; sequence < 100; sequence++) {
    // To (1, 0), port 1 full. Of 15 routers drawn, those in x's other coordinates cost 2 q, q = 1 by port 2 and 3 by
    // port 3.
    Lone x = lone({4, 4}, {"ugal", {{"candidates", i64{15}}}});
    for (u32 port = 1; port < 7; port++) congest(x, 0, port, 0, 0, port == 1 ? 200 : port == 2 ? 1 : 3);
    x.ask(x.send(0, 1, sequence));
    const u32 middle = x.intermediate();
    if (x.packet().phase == kToIntermediate && middle == 2) detours++;  // (2, 0), weight 2: the best there is
    else CHECK(x.packet().phase == kToIntermediate && middle != 1 && middle != 0);
  }
  // 62 % draw it at least once
  CHECK_NEAR(detours, 100 * (1 - std::pow(15 / 16.0, 15)), 5 * std::sqrt(100 * 0.62 * 0.38));
}

// Clos-AD, 4x4, from (0, 0) to (1, 1), h = 2: 2 q of port 1 against 4 q of the shortest in x.
TEST(clos_ad_rule_by_hand) {
  Lone x = lone({4, 4}, {"clos_ad", {}});
  const auto with = [&](u32 direct, u32 second, u32 third) {
    for (u32 port = 1; port <= 3; port++) congest(x, 0, port, 0, 0, std::vector<u32>{direct, second, third}[port - 1]);
    return x.ask(x.send(0, 5));
  };
  CHECK(with(8, 4, 5) == (Step{1, 1}));  // 16 against 16: minimal
  CHECK(with(9, 4, 5) == (Step{2, 0}));  // 18 against 16
  CHECK(with(11, 6, 5) == (Step{3, 0}));
  CHECK(with(3, 4, 5) == (Step{1, 1}));
  // At (2, 0), come by x: on to y alone. The shortest there, to (2, 3) by port 6; class 0, and from there class 1 in x
  // and y.
  x.packet().phase = kToIntermediate;
  x.packet().hops = 1;
  for (u32 port = 1; port <= 6; port++) congest(x, 2, port, 0, 0, std::vector<u32>{0, 0, 0, 4, 5, 3}[port - 1]);
  CHECK(x.ask({2, 2, 0}) == (Step{6, 0}));
  const Place there = x.behind(2, {6, 0});
  CHECK_EQ(there.router, 14u);
  x.packet().hops = 2;
  CHECK(x.ask(there) == (Step{3, 1}));  // (2, 3) to (1, 3): offset 3
  CHECK_EQ(x.packet().phase, kFromIntermediate);
}

// Idle, minimal paths forbidden by the bias, BC on 8x8x8: in x one of 7 ports, of which the direct one (1/7) means 3
// minimal hops; in y and z each one of 7 or to stay (8), of which the direct one and staying take 1 hop and the others
// 2: 1.75. Hops 3/7 + 6/7 (2 + 1.75 + 1.75) = 5.143. Where x is perturbed, both y and z stay unperturbed with 1/4 *
// 1/4, if the draws at one router are independent.
TEST(clos_ad_draws_each_dimension_by_itself) {
  Lone x = lone({8, 8, 8}, {"clos_ad", {{"bias_flits", -1e6}}});
  const u32 packets = 512 * 40;
  u32 hops = 0, detours = 0, in_x_alone = 0;
  for (u32 n = 0; n < packets; n++) {
    const u32 took = x.walk(n % 512, 511 - n % 512, n / 512, [](u32, const Step&) {});
    hops += took;
    detours += took > 3;
    in_x_alone += took == 4;
  }
  CHECK_NEAR(static_cast<double>(detours) / packets, 6 / 7.0, 5 * std::sqrt(6.0 / 49 / packets));
  CHECK_NEAR(static_cast<double>(hops) / packets, 36 / 7.0, 5 * 1.1 / std::sqrt(packets));
  CHECK_NEAR(static_cast<double>(in_x_alone) / detours, 1 / 16.0, 5 * std::sqrt(15.0 / 256 / detours));
}

// ---- What congestion is measured ----

// dim_war on 8 VCs: class 0 has VCs 0, 2, 4, 6, class 1 VCs 1, 3, 5, 7. Output buffers, so that both parts count. Line
// of 3, h = 1: minimal q of port 1 against 2 q of port 2.
TEST(congestion_scopes_by_hand) {
  const auto diverts = [](const std::string& scope, const std::string& parts,
                          const std::vector<std::array<u32, 3>>& direct, const std::vector<std::array<u32, 3>>& other) {
    Lone x = lone({3}, {"dim_war", {{"congestion_scope", scope}, {"congestion", parts}}},
                  {{"vcs", i64{8}}, {"output_buffer_flits", i64{64}}});
    for (const auto& [vc, queued, downstream] : direct) congest(x, 0, 1, vc, queued, downstream);
    for (const auto& [vc, queued, downstream] : other) congest(x, 0, 2, vc, queued, downstream);
    return x.ask(x.send(0, 1)).port == 2;
  };
  using Vcs = std::vector<std::array<u32, 3>>;  // VC, flits queued, flits downstream
  const Vcs wide = {{0, 1, 2}, {2, 3, 1}, {4, 0, 4}, {6, 2, 2}, {1, 10, 10}, {7, 0, 20}};
  // Port: 15 flits of class 0 and 40 of class 1 = 55; class: 15; the class's emptiest VC: 3. Queued alone: 16, 6, 0;
  // downstream: 39, 9, 1. the least q of port 2, all VCs alike, that keeps the packet
  const auto threshold = [&](const std::string& scope, const std::string& parts) {
    for (u32 q = 0;; q++) {
      Vcs other;
      for (u32 vc = 0; vc < 8; vc++)
        other.push_back({vc, parts == "output_queue" ? q : 0, parts == "output_queue" ? 0 : q});
      if (!diverts(scope, parts, wide, other)) return q;
    }
  };
  // 2 * 8 q >= 55: q = 4; 2 * 4 q >= 15: 2; 2 q >= 3: 2.
  CHECK_EQ(threshold("port", "both"), 4u);
  CHECK_EQ(threshold("class", "both"), 2u);
  CHECK_EQ(threshold("vc", "both"), 2u);
  CHECK_EQ(threshold("port", "output_queue"), 1u);   // 16 q >= 16
  CHECK_EQ(threshold("class", "output_queue"), 1u);  // 8 q >= 6
  CHECK_EQ(threshold("vc", "output_queue"), 0u);     // 0 >= 0
  CHECK_EQ(threshold("port", "credits"), 3u);        // 16 q >= 39
  CHECK_EQ(threshold("class", "credits"), 2u);       // 8 q >= 9
  CHECK_EQ(threshold("vc", "credits"), 1u);          // 2 q >= 1
}

// UGAL's two paths by one port: whole ports are alike, under `hybrid` the classes decide (minimal 1, detour 0).
TEST(hybrid_scope_tells_classes_of_a_shared_port_apart) {
  for (const auto& [scope, shared_diverts] : {std::pair{"port", false}, {"hybrid", true}, {"class", true}}) {
    u32 shared = 0;
    for (u32 sequence = 0; sequence < 100; sequence++) {
      Lone x = lone({4, 4}, {"ugal", {{"congestion_scope", std::string(scope)}}});
      congest(x, 0, 1, 1, 0, 50);  // class 1 of port 1 is full
      Lone forced = lone({4, 4}, {"ugal", {{"bias_flits", -1e6}}});
      forced.ask(forced.send(0, 1, sequence));
      const u32 middle = forced.intermediate();
      if (forced.packet().phase == kMinimal || middle % 4 != 1) continue;
      shared++;
      x.ask(x.send(0, 1, sequence));
      CHECK_EQ(x.packet().phase == kToIntermediate, shared_diverts);
    }
    CHECK(shared > 5);
  }
}

// ---- Allocation ----

// Two packets at one router in one cycle, to the same neighbour on a line of 4. Greedy: both by the direct link, which
// is idle. In sequence: the first one's 5 flits are promised to it, so that the second weighs 1 * 5 against 2 * 0 and
// is derouted.
TEST(sequential_allocation_sees_the_decisions_before_it) {
  for (const std::string routing : {"dim_war", "omni_war", "dal", "clos_ad"})
    for (const std::string allocation : {"greedy", "sequential"}) {
      Lone x = lone({4}, {routing, {{"allocation", allocation}, {"congestion_scope", std::string("port")}}});
      const auto both = [&](u32 second_router) {
        x.resize(2);
        for (u32 i = 0; i < 2; i++) {
          x.state.packets[i] = Packet{};
          x.state.packets[i].flits = 5;
          x.state.packets[i].sequence = i;
          x.state.packets[i].destination = 3;
        }
        x.request(0, {0, 0, 0}, 0);
        x.request(1, {second_router, 0, 0}, 1);
        x.net.route(x.net, x.state, x.batch);
      };
      both(0);
      const std::string name = routing + " " + allocation;
      CHECK_FOR(x.batch.out_port[0] == 3, name);  // offset 3
      CHECK_FOR((x.batch.out_port[1] == 3) == (allocation == "greedy"), name);
      both(1);  // at another router nothing is promised
      CHECK_FOR(x.batch.out_port[0] == 3 && x.batch.out_port[1] == 2, name);
      both(0);  // and in the next cycle the promises are forgotten
      CHECK_FOR(x.batch.out_port[0] == 3, name);
    }
  // A promise to one class is none to the other where classes are told apart. Two packets at router 0: one derouted to
  // it from router 1, which goes on to 3 on class 1, and a new one to 3, whose class 0 is idle.
  for (const auto& [scope, direct] : {std::pair{"port", false}, {"class", true}, {"vc", true}}) {
    Lone x =
        lone({4}, {"dim_war", {{"allocation", std::string("sequential")}, {"congestion_scope", std::string(scope)}}});
    x.resize(2);
    for (u32 i = 0; i < 2; i++) {
      x.state.packets[i] = Packet{};
      x.state.packets[i].flits = 5;
      x.state.packets[i].destination = 3;
    }
    x.state.packets[0].hops = 1;
    x.request(0, {0, 1, 0}, 0);
    x.request(1, {0, 0, 0}, 1);
    for (u32 cycle = 0; cycle < 2; cycle++) {  // and every promise is forgotten
      x.net.route(x.net, x.state, x.batch);
      CHECK_FOR(x.batch.out_port[0] == 3 && x.batch.out_class[0] == 1, scope);
      CHECK_FOR((x.batch.out_port[1] == 3) == direct && x.batch.out_class[1] == 0, scope);
    }
  }
  // Clos-AD's is sequential unless said otherwise.
  Lone x = lone({4}, {"clos_ad", {}});
  x.resize(3);
  for (u32 i = 0; i < 3; i++) {
    x.state.packets[i] = Packet{};
    x.state.packets[i].flits = 1;
    x.state.packets[i].destination = 3;
    x.request(i, {0, 0, 0}, i);
  }
  x.net.route(x.net, x.state, x.batch);
  CHECK_EQ(std::set<u32>({x.batch.out_port[0], x.batch.out_port[1], x.batch.out_port[2]}).size(), 3u);
}

// ---- Refusals ----

TEST(hyperx_routings_refuse_what_cannot_run) {
  const auto make = [](const Section& routing, const Values& router = {},
                       const std::vector<double>& widths = {4, 4, 4}) {
    return build(config(hyperx_section(widths, 1), merge(input_queued(), router), routing, {"uniform", {}}));
  };
  // Too few VCs: both numbers.
  struct Case {
    Section routing;
    u32 classes;
  };
  for (const Case& c : {Case{{"minimal_adaptive", {}}, 3},
                        {{"valiant", {}}, 2},
                        {{"ugal", {}}, 2},
                        {{"clos_ad", {}}, 2},
                        {{"dim_war", {}}, 2},
                        {{"dal", {}}, 2},
                        {{"dal", {{"deadlock_avoidance", kDistance}}}, 6},
                        {{"omni_war", {}}, 6},
                        {{"omni_war", {{"deroutes", i64{5}}}}, 8},
                        {{"q_adaptive", {}}, 2},
                        {{"q_routing", {{"max_hops", i64{4}}}}, 7},
                        {{"external", {}}, 6},
                        {{"external", {{"relation", std::string("dim_war")}}}, 2}}) {
    CHECK_EQ(make(c.routing)->vcs, c.classes);
    CHECK_THROWS(ConfigError, make(c.routing, {{"vcs", i64{c.classes - 1}}}), "router.vcs",
                 std::to_string(c.classes - 1), std::to_string(c.classes), c.routing.name);
  }
  CHECK_THROWS(ConfigError, make({"omni_war", {{"deroutes", i64{30}}}}), "33", "32");
  CHECK_THROWS(ConfigError, make({"omni_war", {{"deroutes", i64{33}}}}), "deroutes", "33", "32");
  CHECK_THROWS(ConfigError, make({"omni_war", {{"deroutes", i64{-2}}}}), "deroutes", "-2");
  CHECK_THROWS(ConfigError, make({"dal", {}}, {{"vc_allocation", std::string("before_switch")}}),
               "router.vc_allocation", "dal", "with_switch");
  CHECK_THROWS(ConfigError, make({"dal", {}}, {}, std::vector<double>(17, 2)), "16", "17");

  const auto order = [&](const std::vector<double>& of) { return make({"dimension_order", {{"order", of}}}); };
  for (const auto& wrong : {std::vector<double>{0, 1}, {0, 1, 1}, {0, 1, 3}, {0, 1, 2, 2}})
    CHECK_THROWS(ConfigError, order(wrong), "routing.dimension_order.order", to_string(Value{wrong}), "3 dimensions");
  CHECK_THROWS(ConfigError, order({0, 1, -1}), "order", "-1");
  CHECK_THROWS(ConfigError, order({0, 1, 1.5}), "order", "1.5", "integers");

  // Output queues that the router does not have.
  const Values blind = {{"congestion", std::string("output_queue")}}, queues = {{"output_buffer_flits", i64{64}}};
  for (const std::string routing :
       {"minimal_adaptive", "ugal", "clos_ad", "dal", "dim_war", "omni_war", "q_adaptive"}) {
    CHECK_THROWS(ConfigError, make({routing, blind}), "routing." + routing + ".congestion", "output_queue",
                 "router.output_buffer_flits is 0", "credits", "both");
    CHECK(make({routing, blind}, queues) != nullptr);
  }
  for (const std::string routing : {"ugal_group", "ugal_router", "ugal_global", "par"}) {
    const auto on_small = [&](const Values& router) {
      return build(config(small_network(), router, {routing, blind}, {"uniform", {}}));
    };
    CHECK_THROWS(ConfigError, on_small(input_queued()), "routing." + routing + ".congestion", "output_queue",
                 "credits");
    CHECK(on_small(hpdc21()) != nullptr);
  }
  // Words that would change nothing.
  for (const std::string routing : {"minimal_adaptive", "clos_ad", "dal", "dim_war", "omni_war", "q_adaptive"})
    CHECK_THROWS(ConfigError, make({routing, {{"congestion_scope", std::string("hybrid")}}}),
                 "routing." + routing + ".congestion_scope", "hybrid", "class");
  CHECK(make({"ugal", {{"congestion_scope", std::string("hybrid")}}}) != nullptr);
  CHECK_THROWS(ConfigError, make({"clos_ad", {{"detour_hops", std::string("normalized")}}}),
               "routing.clos_ad.detour_hops", "unknown key");

  // The other topology's routings, and keys that mean something there alone.
  for (const std::string routing :
       {"valiant_group", "valiant_router", "ugal_group", "ugal_router", "ugal_global", "par"})
    CHECK_THROWS(ConfigError, make({routing, {}}), "routing." + routing, "hyperx", "dragonfly", "dim_war");
  const auto on_dragonfly = [](const Section& routing) {
    return build(config(small_network(), input_queued(), routing, {"uniform", {}}));
  };
  for (const std::string routing : {"dimension_order", "minimal_adaptive", "clos_ad", "dal", "dim_war", "omni_war"})
    CHECK_THROWS(ConfigError, on_dragonfly({routing, {}}), "routing." + routing, "dragonfly", "hyperx", "par");
  CHECK_THROWS(ConfigError, make({"q_adaptive", {{"q_thld2", 0.5}}}), "routing.q_adaptive.q_thld2", "0.5", "hyperx",
               "dragonfly");
  CHECK(make({"q_adaptive", {{"q_thld2", 0.35}}}) != nullptr);  // its default asks for nothing
  CHECK_THROWS(ConfigError, on_dragonfly({"external", {{"deroutes", i64{2}}}}), "routing.external.deroutes", "2",
               "dragonfly", "progressive");
  CHECK(on_dragonfly({"external", {{"deroutes", i64{-1}}}}) != nullptr);

  CHECK_THROWS(ConfigError, make({"external", {{"relation", std::string("omniwar")}}}), "routing.external.relation",
               "did you mean 'omni_war'");
  CHECK_THROWS(ConfigError, make({"external", {{"relation", std::string("five_hop")}}}), "five_hop", "hyperx",
               "dim_war", "minimal_adaptive", "widest");
  // it remembers what an agent would not write down
  CHECK_THROWS(ConfigError, make({"external", {{"relation", std::string("dal")}}}), "dal", "widest");
  CHECK_THROWS(ConfigError, make({"external", {{"relation", std::string("dim_war")}, {"deroutes", i64{2}}}}),
               "routing.external.deroutes", "2", "dim_war");
  CHECK_THROWS(ConfigError, on_dragonfly({"external", {{"relation", std::string("omni_war")}}}), "relation", "omni_war",
               "five_hop");
  CHECK_THROWS(ConfigError, make({"dim_wor", {}}), "did you mean 'dim_war'");
}

// External: an agent that always takes the first candidate goes minimally; any choice arrives in at most so many hops.
TEST(external_choices_on_hyperx) {
  struct Case {
    Values values;
    u32 bound;
  };
  for (const Case& c : {Case{{}, 4},
                        {{{"relation", std::string("omni_war")}, {"deroutes", i64{4}}}, 6},
                        {{{"relation", std::string("dim_war")}}, 4},
                        {{{"relation", std::string("minimal_adaptive")}}, 2}})
    for (const bool first : {true, false}) {
      Simulation sim(config(hyperx_section({3, 4}, 2),
                            merge(input_queued(), {{"link_latency_ns_local", 3.0}, {"input_buffer_flits", i64{4}}}),
                            {"external", c.values}, {"uniform", {{"load", 0.5}}}));
      const HyperX& hx = hyperx(sim.network());
      sim.begin_window();
      u32 longest = 0;
      u64 requests = 0;
      std::vector<u32> choices;
      for (u32 cycle = 0; cycle < 1500; cycle++) {
        if (cycle == 1000) sim.stop_sources();
        choices.resize(sim.collect());
        const Batch& b = sim.batch();
        for (u32 i = 0; i < b.count; i++, requests++) {
          const Packet& p = sim.state().packets[b.packet[i]];
          const u32 to = sim.network().terminal_router[p.destination];
          longest = std::max(longest, u32{p.hops});
          const u32 k = b.candidate_port[b.offsets[i]];  // the first is minimal
          CHECK(b.router[i] == to ? k == sim.network().terminal_port[p.destination]
                                  : hx.coordinate_behind(b.router[i], hx.dimension_of_port[k], k) ==
                                        hx.coordinate(to, hx.dimension_of_port[k]));
          choices[i] = first ? 0 : below(draw(5, 1, requests), b.offsets[i + 1] - b.offsets[i]);
        }
        sim.apply(choices.data(), choices.size());
      }
      CHECK(sim.empty());
      CHECK_EQ(longest, first ? 2u : c.bound);
      if (first) CHECK_EQ(statistics(sim.network(), sim.state()).at("nonminimal_fraction"), 0);
    }
}
