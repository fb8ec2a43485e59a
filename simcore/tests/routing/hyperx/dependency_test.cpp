// Freedom from deadlock, proved by exhaustion. On small networks the test visits every state that a packet can reach:
// router, input port, VC class, hops done, memory and destination. From each state it takes every hop that any
// congestion may lead to. The resulting channel dependency graph is complete, not sampled, and has no cycle. Edges
// counted by hand show that nothing is missing.
#include "routing/hyperx/incremental.hpp"
#include "simcore/registry.hpp"
#include "support/exploration.hpp"

namespace routing_hyperx_dependency_test {

using namespace scenes;

// ---- HyperX 3x3x3: 162 directed channels, each leads to 2 channels in every dimension of its far router ----

// Dependencies by hand:
//   minimal_adaptive  From class 0 to 1 and from 1 to 2, to any channel of another dimension: 2 * 162 * 4.
//   dim_war           After a deroute the direct hop, one channel (width 3: to the third router). After a direct hop,
//                     later dimensions.
//                     after_deroute: 162 (0 to 1) + 324 from class 0 + 324 from class 1.
//                     deroute: 162 (1 to 0), and from class 0 to the direct channels of later dimensions, 324, and to
//                     their deroutes, 324.
//   omni_war          C = L + M classes give C - 1 steps. Each step leads to any channel of another dimension, 162 * 4,
//                     and after a deroute to the direct channel, 162. With back_to_back a second deroute adds 162,
//                     except in the last step, where a direct hop must follow.
//   q_routing         From any channel of class 0 to any of class 1, 162 * 6. From class 1 to the minimal channel,
//                     162 * 6 - 54: not back along z, where only a packet that had arrived would go. Then in order:
//                     324 from the first minimal hop, and 108 from y to z after it.
TEST(incremental_routings_are_free_of_deadlock) {
  struct Case {
    Section routing;
    u64 edges;  // by hand; 0: not counted
  };
  const std::string after_deroute = "after_deroute", deroute = "deroute", distance = "distance";
  std::vector<Case> cases = {{{"minimal_adaptive", {}}, 1296},
                             {{"dim_war", {{"classes", after_deroute}}}, 810},
                             {{"dim_war", {{"classes", deroute}}}, 810},
                             {{"dal", {{"deadlock_avoidance", distance}}}, 0}};
  const auto omni_war = [](u64 classes, bool back_to_back) {
    return (classes - 1) * 162 * 5 + (back_to_back ? (classes - 2) * 162 : 0);
  };
  for (const u32 deroutes : {0u, 1u, 2u, 3u, 5u})
    for (const bool back_to_back : {true, false})
      cases.push_back({{"omni_war", {{"deroutes", deroutes}, {"back_to_back", back_to_back}}},
                       omni_war(3 + deroutes, back_to_back)});
  for (const auto& [relation, edges] : {std::pair{"widest", omni_war(6, false)},
                                        {"omni_war", omni_war(6, false)},
                                        {"dim_war", u64{810}},
                                        {"minimal_adaptive", u64{1296}},
                                        {"q_routing", u64{2322}}})
    cases.push_back({{"external", {{"relation", relation}}}, edges});
  for (const Case& c : cases) {
    Lone x = lone(cube(), c.routing);
    u32 longest = 0;
    std::set<u32> classes;
    const Edges edges = explore(x, listed, [&](const Node& node, const std::vector<Option>& options) {
      longest = std::max(longest, u32{node.packet.hops});
      for (const Option& option : options)
        if (!x.ejects(node.at.router, option.step)) classes.insert(option.step.vc_class);
    });
    CHECK_FOR(acyclic(edges), text(c.routing));
    if (c.edges)
      CHECK_FOR(edge_count(edges) == c.edges, text(c.routing) + ": " + std::to_string(edge_count(edges)) +
                                                  " dependencies, by hand " + std::to_string(c.edges));
    CHECK_EQ(longest, x.net.routing_facts.max_hops);
    CHECK_EQ(classes.size(), std::size_t{x.net.routing_facts.classes});
  }
}

// DAL with an escape class. Its class 0 has cycles. It is safe for three reasons (Duato 1993). (1) A head that is not
// on class 1 can always take class 1, and is routed again in every cycle until it has moved. (2) A packet on class 1
// stays there, so it waits for class 1 only. (3) The dependencies within class 1 have no cycle. So class 1 always
// drains, and all other packets can always enter it.
TEST(dal_escape_is_free_of_deadlock) {
  Lone x = lone(cube(), {"dal", {{"deadlock_avoidance", "escape"}}});
  CHECK(x.net.routing_facts.reroutes);
  u32 heads = 0, escaped = 0;
  const Edges edges = explore(x, listed, [&](const Node& node, const std::vector<Option>& options) {
    if (node.at.router == x.net.terminal_router[node.packet.destination]) return;
    const u32 escapes =
        static_cast<u32>(std::ranges::count_if(options, [](const Option& o) { return o.step.vc_class == 1; }));
    CHECK_EQ(escapes, 1u);
    if (!x.net.is_link(x.net.port(node.at.router, node.at.in_port)) || node.at.in_class == 0) {
      CHECK(options.size() > 1);
      heads++;
    } else {
      CHECK_EQ(options.size(), 1u);
      escaped++;
    }
  });
  CHECK(heads > 1000 && escaped > 100);
  Edges among_escapes;
  for (const auto& [from, to] : edges)
    for (u32 next : to) {
      CHECK(class_of(from) == 0 || class_of(next) == 1);
      if (class_of(from) == 1) among_escapes[from].insert(next);
    }
  CHECK(acyclic(among_escapes));
  CHECK_EQ(edge_count(among_escapes), 324u);  // as in DOR
  CHECK(!acyclic(edges));
}

// A head takes the escape when all adaptive channels are full, and only then. The test tries every subset of full
// channels.
TEST(dal_offers_the_escape_when_all_else_is_full) {
  Lone x = lone(hyperx_section({3, 3}, 1), {"dal", {}});
  const Place at = x.send(0, 4);  // from (0, 0) to (1, 1): x ports 1, 2 and y ports 3, 4 are all allowed
  for (u32 full = 0; full < 16; full++) {
    for (u32 k = 0; k < 4; k++) congest(x, 0, 1 + k, 0, 0, full >> k & 1 ? x.net.router.input_depth : 0);
    x.send(0, 4);
    const Step step = x.ask(at);
    if (full == 15) CHECK(step == (Step{1, 1}));
    else CHECK(step.vc_class == 0 && !(full >> (step.port - 1) & 1));
  }
}

// DOR in every order: one class, 324 dependencies.
TEST(dimension_order_is_free_of_deadlock) {
  for (const auto& order : {std::vector<double>{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}) {
    Lone x = lone(cube(), {"dimension_order", {{"order", order}}});
    const Edges edges = explore(x, chosen(2, 1, idle));
    CHECK(acyclic(edges));
    CHECK_EQ(edge_count(edges), 324u);
  }
}

// Two legs in dimension order have 324 dependencies on class 0 and 324 on class 1. Any channel of class 0 leads to all
// 6 channels of class 1 at its far router: 162 * 6. UGAL is minimal if the bias forbids detours. If the bias forces
// detours, it draws every intermediate except source and destination. Without bias it is minimal while the minimal
// path's queue is short, and takes a detour when it is long (under `hybrid` also by the same port).
DEEP_TEST(valiant_and_ugal_are_free_of_deadlock) {
  const Craft full = [](Lone& x, const Node& node, const std::function<void()>& ask) {
    const HyperX& hx = as_hyperx(x.net);
    const u64 difference = hx.difference(node.at.router, node.packet.destination);  // T = 1
    if (x.net.routing_name != "ugal" || difference == 0) return ask();
    const u32 k = hx.first_unaligned(difference);
    each_full(x, ask, {node.at.router}, hx.base[k], hx.end_of(k));
  };
  struct Case {
    Section routing;
    std::size_t middles;  // intermediates that a packet to another router draws
    bool minimal;
    u64 edges;
  };
  for (const Case& c : {Case{{"valiant", {}}, 27, false, 324 + 162 * 6 + 324},
                        Case{{"ugal", {{"bias_flits", -1e6}}}, 25, true, 324 + 162 * 6 + 324},
                        Case{{"ugal", {{"bias_flits", 1e6}}}, 0, true, 324},
                        Case{{"ugal", {{"congestion_scope", "hybrid"}}}, 25, true, 324 + 162 * 6 + 324}}) {
    Lone x = lone(cube(), c.routing);
    const u32 draws = 400;  // 27 (26/27)^400 = 7e-6: the probability to miss one
    const Options decided = chosen(1, 1, idle), undecided = chosen(draws, 1, full);
    const Edges edges = explore(
        x,
        [&](Lone& lone_packet, const Node& node) {
          return node.packet.phase == kUndecided ? undecided(lone_packet, node) : decided(lone_packet, node);
        },
        [&](const Node& node, const std::vector<Option>& options) {
          if (node.packet.phase != kUndecided || node.packet.source == node.packet.destination) return;
          std::set<u32> middles;
          bool minimal = false;
          for (const Option& option : options) {
            if (option.packet.phase == kMinimal) minimal = true;
            else middles.insert(option.intermediate());
          }
          CHECK_FOR(middles.size() == c.middles && minimal == c.minimal,
                    text(c.routing) + ": " + std::to_string(middles.size()));
        });
    CHECK_FOR(acyclic(edges), text(c.routing));
    CHECK_EQ(edge_count(edges), c.edges);
  }
}

// Clos-AD. Each port of a router has the shortest queue in turn, and then all are equal, so that every port of a
// dimension and staying are drawn. Candidates by hand:
//   undecided: the direct channel on class 1, or the others of the first unaligned dimension on class 0
//   to the intermediate router: on class 0 any channel of an unaligned dimension above the last one, or on class 1 the
//   direct channel if it stays
// Edges: 324 on class 0, 324 on class 1. Between them: the first dimension is never aligned at the intermediate router,
// so class 1 begins there. In the dimension of the last hop only the third router is left (1 of 2): 54 (1 + 3 + 5).
TEST(clos_ad_is_free_of_deadlock) {
  Lone x = lone(cube(), {"clos_ad", {}});
  const HyperX& hx = as_hyperx(x.net);
  const Craft craft = [](Lone& packet, const Node& node, const std::function<void()>& ask) {
    ask();
    for (u32 port = 1; port < packet.net.radix; port++) congest(packet, node.at.router, port, 0, 0, 8);
    ask();
    for (u32 port = 1; port < packet.net.radix; port++) {
      congest(packet, node.at.router, port, 0, 0, 0);
      ask();
      congest(packet, node.at.router, port, 0, 0, 8);
    }
    for (u32 port = 1; port < packet.net.radix; port++) congest(packet, node.at.router, port, 0, 0, 0);
  };
  const Edges edges = explore(x, chosen(40, 1, craft), [&](const Node& node, const std::vector<Option>& options) {
    std::set<Step> wanted, got;
    const u32 router = node.at.router, to = node.packet.destination;
    const u64 difference = hx.difference(router, to);
    const auto ports = [&](u32 k, u32 vc_class, bool direct) {
      for (u32 port = hx.base[k]; port < hx.end_of(k); port++)
        if ((port == hx.port_towards(router, to, k, 0)) == direct) wanted.insert({port, vc_class});
    };
    if (difference == 0) {
      wanted.insert({0, kAnyClass});
    } else {
      const u32 first = hx.first_unaligned(difference);
      ports(first, 1, true);
      if (node.packet.phase == kUndecided) ports(first, 0, false);
      if (node.packet.phase == kToIntermediate)
        for (u32 k = hx.dimension_of_port[node.at.in_port] + 1u; k < 3; k++)
          if (hx.unaligned(difference, k)) ports(k, 0, true), ports(k, 0, false);
    }
    for (const Option& option : options) got.insert(option.step);
    const auto listed_as = [](const std::set<Step>& steps) {
      std::string out;
      for (const Step& step : steps) out += " " + std::to_string(step.port) + "/" + std::to_string(step.vc_class);
      return out;
    };
    CHECK_FOR(got == wanted, "phase " + std::to_string(node.packet.phase) + " from " + std::to_string(router) + " to " +
                                 std::to_string(to) + ": got" + listed_as(got) + ", by hand" + listed_as(wanted));
  });
  CHECK(acyclic(edges));
  CHECK_EQ(edge_count(edges), 324u + 54 * 9 + 324);
}

// ---- Learned routings: random tables, random ports in every decision ----

// HyperX: at most one deroute per dimension, so the 810 dependencies are dim_war's. Where the routing uses its table,
// all ports of the first unaligned dimension occur.
TEST(q_adaptive_on_hyperx_is_free_of_deadlock) {
  Lone x = lone(cube(), {"q_adaptive", {{"epsilon", 0.5}}});
  const HyperX& hx = as_hyperx(x.net);
  const Edges edges = explore(x, learned(), [&](const Node& node, const std::vector<Option>& options) {
    const u64 difference = hx.difference(node.at.router, node.packet.destination);
    if (difference == 0) return;
    const u32 k = hx.first_unaligned(difference), derouted = hx.dimension_of_port[node.at.in_port] == k;
    CHECK_EQ(ports_of(options).size(), derouted ? 1u : 2u);
    for (const Option& option : options)
      CHECK(hx.dimension_of_port[option.step.port] == k && option.step.vc_class == derouted);
  });
  CHECK(acyclic(edges));
  CHECK_EQ(edge_count(edges), 810u);
}

// ---- The search finds wrong routings ----

// Dimensions in any order on one class.
struct NoOrder {
  struct Rule : routing::hyperx::WeightRule {};
  static routing::hyperx::Reach reach(const routing::hyperx::Where& at, const Rule&) { return {at.unaligned, 0, 0, 0}; }
};
RoutingFacts wrong_setup(const Params&, Network&, std::shared_ptr<const ComponentData>& data) {
  data = std::make_shared<NoOrder::Rule>();
  return {1, 3};
}
const Register<RoutingSpec> no_order(routing::hyperx::incremental<NoOrder>({
    .name = "test_no_order",
    .summary = "dimensions in any order on one class",
    .setup = wrong_setup,
}));

// It does deadlock, at full load with buffers of one packet. One dimension has no order to violate.
TEST(a_wrong_routing_is_found_cyclic_and_locks_up) {
  Lone wrong = lone(cube(), {"test_no_order", {}}), line = lone(hyperx_section({5}, 1), {"test_no_order", {}});
  CHECK(!acyclic(explore(wrong, listed)));
  CHECK(acyclic(explore(line, listed)));
  const Values router =
      merge(input_queued(), {{"input_buffer_flits", 1}, {"link_latency_ns_local", 2.0}, {"watchdog_ns", 3000.0}});
  const auto run = [&](const std::string& routing) {
    Simulation sim(config(hyperx_section({3, 3}, 4), router, {routing, {}}, {"uniform", {{"load", 1.0}}}));
    sim.run(30000);
    CHECK(sim.drain(100000));
  };
  CHECK_THROWS(CoreError, run("test_no_order"), "deadlock", "test_no_order");
  run("minimal_adaptive");
}

}  // namespace routing_hyperx_dependency_test
