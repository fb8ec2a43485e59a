// Decisions of HyperX routings by hand: the weights of direct hops and deroutes, the congestion that they look at, and
// whether requests of one cycle see each other (SC'19: McDonald et al.; DAL: Ahn et al., SC 2009; Clos-AD: Kim et al.,
// ISCA 2007).
#include <set>

#include "simcore/rng.hpp"
#include "simcore/topology/hyperx.hpp"
#include "support/crafted.hpp"

namespace routing_hyperx_rules_test {

using namespace scenes;

Lone lone(const std::vector<double>& widths, const Section& routing, const Values& router = {},
          const Values& more = {}) {
  return Lone(build(config(hyperx_section(widths, 1, more), merge(input_queued(), router), routing, {"uniform", {}})));
}

// ---- Weights by hand ----

// 4x4, T=1. Ports 1..3: x offsets 1..3; 4..6: y offsets 1..3. From (0, 0) to (1, 1), h = 2: direct by ports 1 and 4,
// deroutes by 2, 3, 5, 6. Weights: direct 2 q. Deroute 3 (q + congestion_bias) + bias, or 4 (q + congestion_bias) +
// bias with normalized hops.
TEST(weight_rule_by_hand) {
  struct Case {
    u32 q[6];
    Values values;
    std::set<u32> chosen;  // ports chosen over many packets
  };
  const Case cases[] = {
      {{5, 5, 5, 5, 5, 5}, {}, {1, 4}},  // 10 against 15
      {{5, 9, 9, 4, 9, 9}, {}, {4}},     // the less congested direct port
      {{5, 9, 2, 4, 9, 9}, {}, {3}},     // 10, 8 against 3 * 2 = 6
      {{6, 4, 9, 6, 9, 9}, {}, {1, 4}},  // 12 against 3 * 4: minimal wins the tie
      {{7, 4, 9, 7, 9, 9}, {}, {2}},     // 14 against 12
      // Deroutes of equal weight are drawn at random.
      {{7, 4, 9, 7, 9, 4}, {}, {2, 6}},
      {{0, 0, 0, 0, 0, 0}, {}, {1, 4}},                  // all 0
      {{5, 9, 2, 4, 9, 9}, {{"bias_flits", 2.0}}, {4}},  // 6 + 2 = 8: a tie
      {{5, 9, 2, 4, 9, 9}, {{"bias_flits", 1.0}}, {3}},
      {{5, 9, 2, 4, 9, 9}, {{"congestion_bias_flits", 1.0}}, {4}},    // 3 * 3 = 9
      {{5, 9, 2, 4, 9, 9}, {{"congestion_bias_flits", 0.5}}, {3}},    // 7.5
      {{100, 0, 0, 100, 0, 0}, {{"bias_flits", 1e6}}, {1, 4}},        // forbidden
      {{0, 100, 100, 0, 50, 100}, {{"bias_flits", -1e6}}, {5}},       // forced: the least deroute
      {{5, 9, 2, 5, 9, 9}, {{"detour_hops", "normalized"}}, {3}},     // 4 * 2 = 8 against 10
      {{5, 9, 3, 5, 9, 9}, {{"detour_hops", "normalized"}}, {1, 4}},  // 12; with absolute hops 3 * 3 = 9
      {{5, 9, 3, 5, 9, 9}, {}, {3}},
  };
  for (const std::string routing : {"omni_war", "dal"})
    for (const Case& c : cases) {
      Lone x = lone({4, 4}, {routing, merge({{"detour_hops", "absolute"}, {"congestion_scope", "port"}}, c.values)});
      for (u32 k = 0; k < 6; k++) congest(x, 0, 1 + k, 0, 0, c.q[k]);
      std::set<u32> seen;
      for (u32 sequence = 0; sequence < 40; sequence++) seen.insert(x.ask(x.send(0, 5, sequence)).port);
      CHECK_FOR(seen == c.chosen, routing + " case " + std::to_string(&c - cases));
      // dal marks a packet only when it has moved.
      CHECK_EQ(x.packet().nonminimal, !c.chosen.count(1) && !c.chosen.count(4) && routing == "omni_war");
    }
  // dim_war only looks at the first unaligned dimension.
  Lone x = lone({4, 4}, {"dim_war", {{"detour_hops", "absolute"}}});
  for (u32 k = 0; k < 6; k++) congest(x, 0, 1 + k, 0, 0, std::vector<u32>{7, 5, 6, 0, 0, 0}[k]);
  CHECK(x.ask(x.send(0, 5)) == (Step{1, 0}));  // 14 against 3 * 5
  congest(x, 0, 2, 0, 0, 4);
  CHECK(x.ask(x.send(0, 5)) == (Step{2, 0}));
  // After a deroute it goes directly, whatever the queue: at (2, 0), reached by x offset 2, to (1, 1) by offset 3.
  x.packet().hops = 1;
  congest(x, 2, 3, 1, 0, 100);
  CHECK(x.ask({2, 2, 0}) == (Step{3, 1}));
}

// minimal_adaptive: h q over the direct links only.
TEST(minimal_adaptive_by_hand) {
  Lone x = lone({4, 4}, {"minimal_adaptive", {}});
  congest(x, 0, 1, 0, 0, 3);
  congest(x, 0, 4, 0, 0, 2);
  CHECK(x.ask(x.send(0, 5)) == (Step{4, 0}));
  congest(x, 0, 4, 0, 0, 4);
  CHECK(x.ask(x.send(0, 5)) == (Step{1, 0}));
  CHECK(x.ask(x.send(0, 4)) == (Step{4, 0}));
}

// UGAL on 4x4: minimal h q against H (q + congestion_bias) + bias, where H is the number of hops by the drawn router.
TEST(hyperx_ugal_rule_by_hand) {
  // From (0, 0) to (1, 0) by port 1. Forcing a detour shows the drawn router.
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
      // The first hop of a detour may lead closer and stay minimal so far.
      CHECK(!x.packet().nonminimal || x.packet().phase == kToIntermediate);
      return x.packet().phase == kToIntermediate;
    };
    if (middle == kNone) {  // it drew its own router or the destination's
      CHECK(!diverts(100, 0));
      none++;
    } else if (middle % 4 == 1) {  // (1, y): by the same port with the same congestion; 3 hops against 1
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
    } else {  // (x, y): 4 hops, or 3 by (0, y); twice the minimal hops if normalized
      const u32 hops = middle % 4 == 0 ? 3 : 4;
      CHECK(!diverts(2 * hops, 2) && diverts(2 * hops + 1, 2));
      CHECK(!diverts(4, 2, {{"detour_hops", "normalized"}}) && diverts(5, 2, {{"detour_hops", "normalized"}}));
    }
  }
  CHECK(none > 10 && by_the_same_port > 10 && one_hop_more > 10);
}

// Among several drawn routers the one of least weight wins, and the first of equal ones.
TEST(ugal_compares_its_candidates) {
  u32 detours = 0;
  for (u32 sequence = 0; sequence < 100; sequence++) {
    // To (1, 0), port 1 full. Among the 15 drawn routers, those with another x cost 2 q. By port 2 q is 1 and by port 3
    // it is 3.
    Lone x = lone({4, 4}, {"ugal", {{"candidates", 15}}});
    for (u32 port = 1; port < 7; port++) congest(x, 0, port, 0, 0, port == 1 ? 200 : port == 2 ? 1 : 3);
    x.ask(x.send(0, 1, sequence));
    const u32 middle = x.intermediate();
    if (x.packet().phase == kToIntermediate && middle == 2) detours++;  // (2, 0), weight 2: the best
    else CHECK(x.packet().phase == kToIntermediate && middle != 1 && middle != 0);
  }
  // 62 % of packets draw it at least once.
  CHECK_NEAR(detours, 100 * (1 - std::pow(15 / 16.0, 15)), 5 * std::sqrt(100 * 0.62 * 0.38));
}

// Clos-AD on 4x4, from (0, 0) to (1, 1), h = 2: 2 q of port 1 against 4 q of the shortest queue in x.
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
  // At (2, 0), reached by x, only y is left. The shortest queue leads to (2, 3) by port 6 on class 0. From there the
  // packet takes class 1 in x and y.
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

// An idle network, minimal paths forbidden by the bias, BC on 8x8x8. In x a packet draws one of 7 ports. The direct
// port (1/7) gives 3 minimal hops. In y and z it draws one of 7 ports or stays (8 choices). The direct port and staying
// take 1 hop, the others 2: 1.75 on average. Hops: 3/7 + 6/7 (2 + 1.75 + 1.75) = 5.143. If x is perturbed, both y and z
// stay unperturbed in 1/4 * 1/4 of the cases, provided that the draws at one router are independent.
TEST(clos_ad_draws_each_dimension_independently) {
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

// ---- The measure of congestion ----

// dim_war on 8 VCs: class 0 has VCs 0, 2, 4, 6, class 1 VCs 1, 3, 5, 7. Output buffers make both parts count. A line of
// 3, h = 1: minimal q of port 1 against 2 q of port 2.
TEST(congestion_scopes_by_hand) {
  const auto diverts = [](const std::string& scope, const std::string& parts,
                          const std::vector<std::array<u32, 3>>& direct, const std::vector<std::array<u32, 3>>& other) {
    Lone x = lone({3}, {"dim_war", {{"congestion_scope", scope}, {"congestion", parts}}},
                  {{"vcs", 8}, {"output_buffer_flits", 64}});
    for (const auto& [vc, queued, downstream] : direct) congest(x, 0, 1, vc, queued, downstream);
    for (const auto& [vc, queued, downstream] : other) congest(x, 0, 2, vc, queued, downstream);
    return x.ask(x.send(0, 1)).port == 2;
  };
  using Vcs = std::vector<std::array<u32, 3>>;  // VC, flits queued, flits downstream
  const Vcs wide = {{0, 1, 2}, {2, 3, 1}, {4, 0, 4}, {6, 2, 2}, {1, 10, 10}, {7, 0, 20}};
  // Both parts: the port has 15 flits of class 0 and 40 of class 1 = 55, class 0 has 15, and its emptiest VC 3.
  // Queued only: 16, 6, 0. Downstream only: 39, 9, 1.
  // threshold() is the least q of port 2, equal on all VCs, with which the packet stays on port 1.
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

// UGAL's two paths share a port. Whole ports are equal. Under `hybrid` the classes decide (minimal 1, detour 0).
TEST(hybrid_scope_distinguishes_classes_of_a_shared_port) {
  for (const auto& [scope, shared_diverts] : {std::pair{"port", false}, {"hybrid", true}, {"class", true}}) {
    u32 shared = 0;
    for (u32 sequence = 0; sequence < 100; sequence++) {
      Lone x = lone({4, 4}, {"ugal", {{"congestion_scope", scope}}});
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

// Two packets at one router in one cycle, to the same neighbour on a line of 4. Greedy: both take the direct link,
// which is idle. Sequential: the 5 flits of the first packet count as its load, so the second packet weighs 1 * 5
// against 2 * 0 and is derouted.
TEST(sequential_allocation_sees_the_decisions_before_it) {
  for (const std::string routing : {"dim_war", "omni_war", "dal", "clos_ad"})
    for (const std::string allocation : {"greedy", "sequential"}) {
      Lone x = lone({4}, {routing, {{"allocation", allocation}, {"congestion_scope", "port"}}});
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
      both(1);  // decisions at another router do not count
      CHECK_FOR(x.batch.out_port[0] == 3 && x.batch.out_port[1] == 2, name);
      both(0);  // the next cycle starts afresh
      CHECK_FOR(x.batch.out_port[0] == 3, name);
    }
  // If classes count separately, flits of one class do not count for the other. Two packets at router 0: one was
  // derouted to it from router 1 and continues to 3 on class 1. The other is new and goes to 3 on class 0, which is
  // idle.
  for (const auto& [scope, direct] : {std::pair{"port", false}, {"class", true}, {"vc", true}}) {
    Lone x = lone({4}, {"dim_war", {{"allocation", "sequential"}, {"congestion_scope", scope}}});
    x.resize(2);
    for (u32 i = 0; i < 2; i++) {
      x.state.packets[i] = Packet{};
      x.state.packets[i].flits = 5;
      x.state.packets[i].destination = 3;
    }
    x.state.packets[0].hops = 1;
    x.request(0, {0, 1, 0}, 0);
    x.request(1, {0, 0, 0}, 1);
    for (u32 cycle = 0; cycle < 2; cycle++) {  // each cycle starts afresh
      x.net.route(x.net, x.state, x.batch);
      CHECK_FOR(x.batch.out_port[0] == 3 && x.batch.out_class[0] == 1, scope);
      CHECK_FOR((x.batch.out_port[1] == 3) == direct && x.batch.out_class[1] == 0, scope);
    }
  }
  // A packet counts while it has a route and waits in an input buffer.
  for (const bool waits : {false, true}) {
    Lone x = lone({4}, {"dim_war", {{"allocation", "sequential"}, {"congestion_scope", "port"}}});
    x.resize(2);
    x.state.packets[1].destination = 3;
    if (waits) {
      const u32 v = x.net.vc_id(1, 0);
      x.state.input_vcs[v] = {0, 0, 1, 0, 3, 0};
      x.state.requests[std::size_t{x.net.request_port(3)} * x.net.request_words + v / 64] |= u64{1} << (v % 64);
    }
    x.request(0, {0, 0, 0}, 1);
    x.batch.count = 1;
    x.net.route(x.net, x.state, x.batch);
    CHECK_EQ(x.batch.out_port[0] == 3, !waits);
  }
}

// ---- Network::sensed, a copy of the congestion at the outputs. It equals the queues, and decisions from both are
// equal ----

// The same network without the copy: decisions add up queues and credits.
std::shared_ptr<const Network> without_sensed(const Network& net) {
  auto plain = std::make_shared<Network>(net);
  CHECK(net.sensed.kept() && net.sensed.memory.memory + 1 == net.memories.size());
  plain->sensed = {};
  plain->memories.pop_back();
  return plain;
}

void same_packets(const State& a, const State& b, const std::string& what) {
  CHECK_FOR(a.packets.size() == b.packets.size() && std::equal(a.packets.begin(), a.packets.end(), b.packets.begin(),
                                                               [](const Packet& x, const Packet& y) {
                                                                 return x.source == y.source &&
                                                                        x.sequence == y.sequence && x.hops == y.hops &&
                                                                        x.nonminimal == y.nonminimal;
                                                               }),
            what + ": the packets differ");
  CHECK_FOR(std::equal(a.ports.begin(), a.ports.end(), b.ports.begin(),
                       [](const Port& x, const Port& y) { return x.flits == y.flits && x.load == y.load; }),
            what + ": the ports differ");
}

// The routings that weigh congestion, and one parameter of each that changes its candidates.
struct Weighing {
  std::string name;
  std::string key = {};  // empty: none, and no bias either
  std::vector<Value> values = {};
  Values greedy = {};  // sequential allocation weighs the queues themselves
};
const std::vector<Weighing> kWeighing = {
    {"omni_war", "back_to_back", {true, false}},
    {"dim_war", "classes", {std::string("after_deroute"), std::string("deroute")}},
    {"minimal_adaptive", "", {}, {{"allocation", "greedy"}}},
    {"dal", "deadlock_avoidance", {std::string("escape"), std::string("distance")}},
};

Values shallow() {
  return merge(sc19(), {{"input_buffer_flits", 16}, {"output_buffer_flits", 16}, {"link_latency_ns_local", 9.0}});
}

// The reference compares candidates one by one, the routing compares eight ports at a time. The networks have several
// blocks of eight and parts of a block, dimensions without deroutes, parallel links, classes of several VCs, and biases
// of both signs.
TEST(sensed_decides_like_the_queues) {
  const std::vector<Section> networks = {hyperx_section({4, 3}, 2, {{"links", std::vector<double>{1, 2}}}),
                                         hyperx_section({3, 2, 2}, 2), hyperx_section({21}, 3),
                                         hyperx_section({9, 2}, 2, {{"links", std::vector<double>{1, 3}}}),
                                         hyperx_section({3}, 2, {{"links", std::vector<double>{5}}})};
  const double biases[] = {0, 0.37, -1.5, 3, -6};
  u32 scene = 0, diverted = 0;
  for (const Section& network : networks)
    for (const Weighing& own : kWeighing) {
      for (u32 k = 0; k < 3; k++) {
        const char* const parts[] = {"both", "credits", "output_queue"};
        const bool queues = scene % 4 > 0;  // without them, output_queue is always 0
        Values values = merge(own.greedy, {{"congestion_scope", draw(scene, 0, 1) % 3 ? "class" : "vc"},
                                           {"congestion", parts[scene % (queues ? 3 : 2)]}});
        if (!own.key.empty()) {
          values["congestion_bias_flits"] = biases[below(draw(scene, 0, 2), 5)];
          values["bias_flits"] = biases[below(draw(scene, 0, 3), 5)];
          values["detour_hops"] = std::string(draw(scene, 0, 4) % 2 ? "normalized" : "absolute");
          values[own.key] = own.values[draw(scene, 0, 5) % 2];
        }
        const Values traffic = {{"load", 0.7}, {"packet_bytes_max", bytes_of(scene % 2 ? 1 : 5)}};
        Simulation kept(config(network, merge(queues ? shallow() : small_wormhole(), {{"vcs", scene % 3 ? 12 : 8}}),
                               {own.name, values}, {k ? "uniform" : "tornado", traffic}, ++scene));
        Simulation plain(without_sensed(kept.network()));
        for (u32 cycle = 0; cycle < 250; cycle++) {
          for (Simulation* sim : {&kept, &plain}) sim->run(1);
          if (cycle % 5 == 0) kept.check_conservation();  // compares the copy with the queues
          if (cycle % 10 == 9)
            same_packets(kept.state(), plain.state(), own.name + " on network " + std::to_string(scene));
        }
        for (const Packet& p : kept.state().packets) diverted += p.nonminimal;
        kept.network().sensed.memory.of(kept.state())[kept.network().sensed.at(kept.network().port(1, 4), 0)] ^= 1;
        CHECK_THROWS(CoreError, kept.check_conservation(), "sensed");
      }
    }
  CHECK(diverted > 500);
}

}  // namespace routing_hyperx_rules_test
