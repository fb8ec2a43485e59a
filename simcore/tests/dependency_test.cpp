// Freedom from deadlock, proved by exhaustion: on small networks every state a packet can reach (router, input port, VC
// class, hops done, what it remembers, destination) and every hop it may take from there under any congestion. The
// channel dependency graph so built is complete, not sampled; it has no cycle. The numbers of edges by hand say that
// nothing is missing.
#include <algorithm>
#include <cstring>
#include <functional>
#include <tuple>

#include "crafted.hpp"
#include "dependencies.hpp"
#include "routing/incremental.hpp"
#include "simcore/registry.hpp"
#include "topology/dragonfly.hpp"

using namespace scenes;

namespace {

// A packet at a router, and a hop it may take there with what it then remembers.
struct Node {
  Place at;
  Packet packet;
  std::vector<u8> kept;  // what the routing keeps of the packet
};
struct Option {
  Step step;
  Packet packet;
  std::vector<u8> kept;
  u32 intermediate() const {  // of a routing that keeps nothing else
    u32 value;
    std::memcpy(&value, kept.data(), sizeof value);
    return value;
  }
};
using Options = std::function<std::vector<Option>(Lone&, const Node&)>;

// What a packet's further way can depend on. Its source does on a Dragonfly alone (the group it came from).
auto key(const Node& n, bool by_source) {
  const Packet& p = n.packet;
  return std::tuple{n.at.router, n.at.in_port, n.at.in_class, p.destination, by_source ? p.source : 0,
                    p.sequence,  u32{p.hops},  u32{p.phase},  n.kept};
}

// From every terminal to every terminal, whatever VC it enters on. `turns`: sequence numbers that differ by so much use
// the same parallel links. visit(node, options) once per reachable state.
template <class Visit>
Edges explore(Lone& x, const Options& options, Visit&& visit, u32 turns = 1) {
  const bool by_source = x.net.topology_name == "dragonfly" || turns > 1;
  Edges edges;
  std::vector<Node> nodes;
  std::set<decltype(key(Node{}, true))> seen;
  // the others do not look at the class a head came in on
  const u32 entered = x.net.candidates ? x.net.routing_facts.classes : 1;
  for (u32 source = 0; source < x.net.terminals; source++)
    for (u32 destination = 0; destination < x.net.terminals; destination++)
      for (u32 sequence = 0; sequence < turns; sequence++)
        for (u32 vc_class = 0; vc_class < entered; vc_class++) {
          Place at = x.send(source, destination, sequence);
          at.in_class = vc_class;
          nodes.push_back({at, x.packet(), x.kept()});
          seen.insert(key(nodes.back(), by_source));
        }
  for (std::size_t k = 0; k < nodes.size(); k++) {
    const Node node = nodes[k];
    const auto found = options(x, node);
    CHECK(!found.empty());
    visit(node, found);
    for (const Option& option : found) {
      if (x.ejects(node.at.router, option.step)) {
        CHECK_EQ(node.at.router, x.net.terminal_router[node.packet.destination]);
        continue;
      }
      CHECK(option.step.vc_class < x.net.routing_facts.classes);
      add(edges, x.net, node.at.router, node.at.in_port, node.at.in_class, option.step.port, option.step.vc_class);
      Node next{x.behind(node.at.router, option.step), option.packet, option.kept};
      CHECK_FOR(++next.packet.hops <= x.net.routing_facts.max_hops, x.net.routing_name + ": more hops than it says");
      if (seen.insert(key(next, by_source)).second) nodes.push_back(next);
    }
  }
  return edges;
}
Edges explore(Lone& x, const Options& options) {
  return explore(x, options, [](const Node&, const std::vector<Option>&) {});
}

Lone lone(const Section& topology, const Section& routing) {
  return Lone(build(config(topology, input_queued(), routing, {"uniform", {}})));
}
Section cube() { return hyperx_section({3, 3, 3}, 1); }  // 27 routers, 162 directed channels

// Of a routing that lists its relation: all of it. The routing itself is asked first, for it writes down what a packet
// remembers.
std::vector<Option> listed(Lone& x, const Node& node) {
  x.packet() = node.packet;
  x.keep(node.kept);
  if (x.net.decider == Decider::kRouting) x.ask(node.at);
  const std::vector<u8> after = x.kept();
  std::vector<Option> out;
  for (const Step& step : x.candidates(node.at)) out.push_back({step, node.packet, after});
  return out;
}

// Of any other routing: what it chooses as its congestion is made up and as its random draws fall. craft(x, node, ask)
// sets the scene and calls ask() as often as it likes.
using Craft = std::function<void(Lone&, const Node&, const std::function<void()>&)>;
Options chosen(u32 draws, u32 turns, Craft craft) {
  return [=](Lone& x, const Node& node) {
    std::vector<Option> out;
    std::set<std::tuple<Step, u32, std::vector<u8>>> seen;
    const auto ask = [&] {
      for (u32 n = 0; n < draws; n++) {
        x.packet() = node.packet;
        x.keep(node.kept);
        x.packet().sequence += turns * n;
        const Step step = x.ask(node.at);
        x.packet().sequence = node.packet.sequence;
        if (seen.insert({step, x.packet().phase, x.kept()}).second) out.push_back({step, x.packet(), x.kept()});
      }
    };
    craft(x, node, ask);
    return out;
  };
}
void idle(Lone&, const Node&, const std::function<void()>& ask) { ask(); }

// Idle, and each VC of each of some ports of some routers full in turn.
void each_full(Lone& x, const std::function<void()>& ask, const std::vector<u32>& routers, u32 first_port,
               u32 end_port) {
  ask();
  for (u32 router : routers)
    for (u32 port = first_port; port < end_port; port++)
      for (u32 vc = 0; vc < x.net.vcs; vc++) {
        congest(x, router, port, vc, 0, 100);
        ask();
        congest(x, router, port, vc, 0, 0);
      }
}

std::string text(const Section& routing) {
  std::string out = routing.name;
  for (const auto& [name, value] : routing.values) out += " " + name + "=" + to_string(value);
  return out;
}

}  // namespace

// ---- HyperX 3x3x3: 54 directed channels per dimension, each leading to 2 channels in every dimension of its far
// router ----

// Dependencies by hand. minimal_adaptive: from class 0 to 1 and from 1 to 2, to any channel of another dimension: 2 *
// 162 * 4. dim_war: behind a deroute the direct hop, one channel (width 3: to the third router); behind a direct hop,
// on to later dimensions.
//   after_deroute: 162 (0 to 1) + 324 from class 0 + 324 from class 1.
//   deroute: 162 (1 to 0); from class 0 to the direct channels of later dimensions, 324, and to the deroutes, 324.
// omni_war, C = L + M classes, C - 1 steps from one to the next: each to any channel of another dimension, 162 * 4, and
// behind a deroute to the direct one, 162. q_routing: from any channel of class 0 to any of class 1, 162 * 6; from
// class 1 to the minimal one, which is not back along z (only a packet that had already arrived would go there), 162 *
// 6 - 54; then in order, 324 from the first minimal hop, and 108 from y to z behind it. Back to back, a second deroute,
// 162: not in the last step, for a direct hop must follow.
TEST(incremental_routings_are_free_of_deadlock) {
  struct Case {
    Section routing;
    u64 edges;  // by hand, 0 = not counted
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
      cases.push_back({{"omni_war", {{"deroutes", i64{deroutes}}, {"back_to_back", back_to_back}}},
                       omni_war(3 + deroutes, back_to_back)});
  for (const auto& [relation, edges] : {std::pair{"widest", omni_war(6, false)},
                                        {"omni_war", omni_war(6, false)},
                                        {"dim_war", u64{810}},
                                        {"minimal_adaptive", u64{1296}},
                                        {"q_routing", u64{2322}}})
    cases.push_back({{"external", {{"relation", std::string(relation)}}}, edges});
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

// DAL with an escape class. Its class 0 has cycles. What makes it safe (Duato 1993): (1) every head that is not on
// class 1 may always take class 1 instead, and asks anew every cycle until it has moved; (2) what is on class 1 never
// leaves it, so it waits for class 1 alone; (3) the dependencies among class 1 have no cycle. So class 1 always drains,
// and everything else can always enter it.
TEST(dal_escape_is_free_of_deadlock) {
  Lone x = lone(cube(), {"dal", {{"deadlock_avoidance", std::string("escape")}}});
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
  CHECK_EQ(edge_count(among_escapes), 324u);  // DOR's
  CHECK(!acyclic(edges));
}

// The head really does get the escape when nothing else has room, and only then: every subset of full adaptive
// channels.
TEST(dal_offers_the_escape_when_all_else_is_full) {
  Lone x = lone(hyperx_section({3, 3}, 1), {"dal", {}});
  const Place at = x.send(0, 4);  // from (0, 0) to (1, 1): x ports 1, 2, y ports 3, 4; any of them may be taken
  for (u32 full = 0; full < 16; full++) {
    for (u32 k = 0; k < 4; k++) congest(x, 0, 1 + k, 0, 0, full >> k & 1 ? x.net.router.input_depth : 0);
    x.send(0, 4);
    const Step step = x.ask(at);
    if (full == 15) CHECK(step == (Step{1, 1}));
    else CHECK(step.vc_class == 0 && !(full >> (step.port - 1) & 1));
  }
}

// What a routing chooses is among what it lists, under any congestion.
TEST(choices_are_among_the_candidates) {
  for (const Section& routing : {Section{"minimal_adaptive", {}},
                                 {"dim_war", {}},
                                 {"dim_war", {{"classes", std::string("deroute")}}},
                                 {"omni_war", {}},
                                 {"omni_war", {{"deroutes", i64{1}}, {"back_to_back", false}}},
                                 {"dal", {}},
                                 {"dal", {{"deadlock_avoidance", std::string("distance")}}}}) {
    Lone x = lone(hyperx_section({3, 4}, 1, {{"links", std::vector<double>{2, 1}}}), routing);
    std::set<u64> taken;
    for (u32 n = 0; n < 4000; n++) {
      Place at = x.send(below(draw(1, n, 0), 12), below(draw(1, n, 1), 12), n);
      for (;;) {
        for (u32 port = 1; port < x.net.radix; port++)
          for (u32 vc = 0; vc < x.net.vcs; vc++)
            congest(x, at.router, port, vc, 0, below(draw(n, 2, at.router * 997 + port * 31 + vc), 3) * 128);
        const Packet before = x.packet();
        const Step step = x.ask(at);
        const Packet after = x.packet();
        x.packet() = before;
        const auto steps = x.candidates(at);
        CHECK_FOR(std::ranges::count(steps, step) == 1, text(routing));
        x.packet() = after;
        if (x.ejects(at.router, step)) break;
        taken.insert(u64{at.router} << 32 | step.port << 8 | step.vc_class);
        at = x.behind(at.router, step);
        x.packet().hops++;
      }
    }
    CHECK(taken.size() > 12 * 4);
  }
}

// DOR, all orders: one class, 324 dependencies.
TEST(dimension_order_is_free_of_deadlock) {
  for (const auto& order : {std::vector<double>{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}) {
    Lone x = lone(cube(), {"dimension_order", {{"order", order}}});
    const Edges edges = explore(x, chosen(2, 1, idle));
    CHECK(acyclic(edges));
    CHECK_EQ(edge_count(edges), 324u);
  }
}

// Two legs, each in dimension order: 324 dependencies on class 0, 324 on class 1, and from any channel of class 0 to
// all 6 of class 1 at its far router. UGAL: minimal if the bias forbids detours, every intermediate but source and
// destination if it forces them; without bias, minimal as long as the minimal path's queue is short, a detour (hybrid:
// by the same port, too) when it is long.
TEST(valiant_and_ugal_are_free_of_deadlock) {
  const Craft full = [](Lone& x, const Node& node, const std::function<void()>& ask) {
    const HyperX& hx = hyperx(x.net);
    const u64 difference = hx.difference(node.at.router, node.packet.destination);  // T = 1
    if (x.net.routing_name != "ugal" || difference == 0) return ask();
    const u32 k = hx.first_unaligned(difference);
    each_full(x, ask, {node.at.router}, hx.base[k], hx.end_of(k));
  };
  struct Case {
    Section routing;
    std::size_t middles;  // drawn by a packet that has a way to go
    bool minimal;
    u64 edges;
  };
  for (const Case& c : {Case{{"valiant", {}}, 27, false, 324 + 162 * 6 + 324},
                        Case{{"ugal", {{"bias_flits", -1e6}}}, 25, true, 324 + 162 * 6 + 324},
                        Case{{"ugal", {{"bias_flits", 1e6}}}, 0, true, 324},
                        Case{{"ugal", {{"congestion_scope", std::string("hybrid")}}}, 25, true, 324 + 162 * 6 + 324}}) {
    Lone x = lone(cube(), c.routing);
    const u32 draws = 400;  // 27 (26/27)^400 = 7e-6 to miss one
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

// Clos-AD, each port of a router the shortest in turn, and all alike (then every port of a dimension and staying are
// drawn). What it may choose, by hand: undecided, the direct channel on class 1, or the others of the first unaligned
// dimension on class 0; on the way to the middle, on class 0 any channel of an unaligned dimension above the last
// one's, or on class 1 the direct one if it stays. Edges on class 0: 324, on class 1: 324. Between them: the first
// dimension left is never aligned in the middle, so class 1 begins there; in the dimension of the last hop only the
// third router is left (1 of 2): 54 (1 + 3 + 5).
TEST(clos_ad_is_free_of_deadlock) {
  Lone x = lone(cube(), {"clos_ad", {}});
  const HyperX& hx = hyperx(x.net);
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

// ---- Learned routings: any table, random ports at every turn ----

namespace {

// The router's table drawn anew; many packets, of which half explore.
Options learned(u32 turns = 1) {
  return chosen(150, turns, [](Lone& x, const Node& node, const std::function<void()>& ask) {
    const LearnedTable t = learned_table(x.net);
    for (u32 n = 0; n < 2; n++) {
      for (u32 row = 0; row < t.rows; row++)
        for (u32 c = 0; c < t.columns; c++) {
          float& value = t.row(x.state, node.at.router, row)[c];
          if (value < 1e30f) value = static_cast<float>(1 + below(draw(n, row, c), 1000));
        }
      ask();
    }
  });
}
std::set<u32> ports_of(const std::vector<Option>& options) {
  std::set<u32> ports;
  for (const Option& option : options) ports.insert(option.step.port);
  return ports;
}

}  // namespace

// HyperX: in each dimension one deroute at most (as dim_war, whose 810 dependencies these are). All ports of the first
// unaligned dimension are seen where the table is asked.
TEST(q_adaptive_on_hyperx_is_free_of_deadlock) {
  Lone x = lone(cube(), {"q_adaptive", {{"epsilon", 0.5}}});
  const HyperX& hx = hyperx(x.net);
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

TEST(q_routing_is_free_of_deadlock) {
  for (const Section& topology : {cube(), dragonfly_section(1, 3, 1, 4), dragonfly_section(1, 2, 1, 3)})
    for (const i64 max_hops : {1, topology.name == "hyperx" ? 2 : 3}) {
      Lone x = lone(topology, {"q_routing", {{"epsilon", 0.5}, {"max_hops", max_hops}}});
      u32 longest = 0;
      const Edges edges = explore(x, learned(), [&](const Node& node, const std::vector<Option>& options) {
        longest = std::max(longest, u32{node.packet.hops});
        const bool there = node.at.router == x.net.terminal_router[node.packet.destination];
        const u32 all = x.net.link_span;
        CHECK_EQ(ports_of(options).size(), !there && node.packet.hops < max_hops ? all : 1u);
        for (const Option& option : options)
          if (!there) CHECK_EQ(option.step.vc_class, u32{node.packet.hops});
      });
      CHECK(acyclic(edges));
      CHECK_EQ(longest, static_cast<u32>(max_hops) + 3);
    }
}

// ---- Dragonfly: groups of 3 routers, 4 groups, and of 2, 3 groups; with two links between each pair of groups; with a
// spare port ----

namespace {

struct Small {
  Section topology;
  u32 turns;  // parallel links
};
std::vector<Small> dragonflies() {
  return {{dragonfly_section(1, 3, 1, 4), 1},
          {dragonfly_section(1, 2, 1, 3), 1},
          {dragonfly_section(1, 4, 1, 3), 2},
          {dragonfly_section(1, 2, 2, 4), 1},
          {dragonfly_section(2, 3, 1, 3), 1}};
}

// An undecided packet, or PAR's at the second router, sees each queue of its group long in turn.
Options by_queues(u32 turns) {
  const Options decided = chosen(1, turns, idle),
                undecided = chosen(96, turns, [](Lone& x, const Node& node, const std::function<void()>& ask) {
                  const Dragonfly& df = dragonfly(x.net);
                  if (!x.net.routing_name.starts_with("ugal") && x.net.routing_name != "par") return ask();
                  std::vector<u32> routers = {node.at.router};
                  if (x.net.routing_name == "ugal_global")
                    for (u32 place = 0; place < df.a; place++)
                      routers.push_back(df.group(node.at.router) * df.a + place);
                  each_full(x, ask, routers, df.p, x.net.radix);
                });
  return [=](Lone& x, const Node& node) {
    const bool again = node.packet.phase == kMinimal && node.packet.hops == 1;
    return node.packet.phase == kUndecided || again ? undecided(x, node) : decided(x, node);
  };
}

}  // namespace

// MIN, p1 a3 h1 g4, by hand: a local channel leads to the one global port of its far router, 24; a global one to 2
// local ones on class 1, 24.
TEST(minimal_on_dragonfly_is_free_of_deadlock) {
  for (const auto& [topology, turns] : dragonflies()) {
    Lone x = lone(topology, {"minimal", {}});
    const Edges edges = explore(x, chosen(1, turns, idle), [](const Node&, const std::vector<Option>&) {}, turns);
    CHECK(acyclic(edges));
    if (x.net.routers == 12 && x.net.radix == 4) CHECK_EQ(edge_count(edges), 48u);
  }
}

// Through every third group, or every router of one; UGAL's and PAR's decisions either way.
TEST(two_legs_on_dragonfly_are_free_of_deadlock) {
  for (const std::string routing :
       {"valiant_group", "valiant_router", "ugal_group", "ugal_router", "ugal_global", "par"})
    for (const auto& [topology, turns] : dragonflies()) {
      Lone x = lone(topology, {routing, {}});
      const Dragonfly& df = dragonfly(x.net);
      const bool by_router = routing.ends_with("router") || routing == "par", always = routing.starts_with("valiant");
      u32 again = 0;
      const Edges edges = explore(
          x, by_queues(turns),
          [&](const Node& node, const std::vector<Option>& options) {
            const u32 from = df.group(x.net.terminal_router[node.packet.source]),
                      to = df.group(x.net.terminal_router[node.packet.destination]);
            std::set<u32> middles;
            bool minimal = false;
            for (const Option& option : options) {
              if (option.packet.phase == kMinimal) minimal = true;
              else middles.insert(option.intermediate());
            }
            const std::string name = routing + " " + x.net.fingerprint;
            if (node.packet.phase == kUndecided) {
              CHECK_FOR(minimal == (from == to || !always), name);
              CHECK_FOR(middles.size() == (from == to ? 0 : (df.g - 2) * (by_router ? df.a : 1)), name);
            } else if (routing == "par" && node.packet.phase == kMinimal && node.packet.hops == 1 &&
                       df.group(node.at.router) == from && from != to) {
              CHECK_FOR(minimal && middles.size() == 1, name);
              again++;
            }
          },
          turns);
      CHECK_FOR(acyclic(edges), routing + " " + x.net.fingerprint);
      CHECK((again > 0) == (routing == "par"));
    }
}

// At the source router, and where a first global hop ends, any port; elsewhere the minimal one.
TEST(q_adaptive_on_dragonfly_is_free_of_deadlock) {
  for (const auto& [topology, turns] : dragonflies()) {
    Lone x = lone(topology, {"q_adaptive", {{"epsilon", 0.5}, {"q_thld1", 0.0}, {"q_thld2", -10.0}}});
    const Dragonfly& df = dragonfly(x.net);
    u32 longest = 0;
    const Edges edges = explore(
        x, learned(turns),
        [&](const Node& node, const std::vector<Option>& options) {
          longest = std::max(longest, u32{node.packet.hops});
          const u32 to = x.net.terminal_router[node.packet.destination];
          const PortKind came_by = x.net.channels[x.net.port(node.at.router, node.at.in_port)].kind;
          Packet packet = node.packet;
          const bool at_source = came_by == PortKind::kTerminal,
                     between = came_by == PortKind::kGlobal && node.packet.hops == 1 &&
                               !df.is_global(df.own_minimal_port(x.net, node.at.router, packet));
          const bool asked = df.group(node.at.router) != df.group(to) && (at_source || between);
          u32 used = 0;
          for (u32 port = df.p; port < x.net.radix; port++)
            used += x.net.channels[x.net.port(node.at.router, port)].kind != PortKind::kUnused;
          CHECK_EQ(ports_of(options).size(), asked ? used : 1u);
        },
        turns);
    CHECK_FOR(acyclic(edges), x.net.fingerprint);
    CHECK_EQ(longest, 5u);
  }
}

TEST(external_relations_on_dragonfly_are_free_of_deadlock) {
  for (const std::string relation : {"five_hop", "progressive", "minimal", "q_adaptive", "q_routing"})
    for (const auto& [topology, turns] : dragonflies()) {
      Lone x = lone(topology, {"external", {{"relation", relation}}});
      u32 longest = 0;
      const Edges edges = explore(
          x, listed,
          [&](const Node& node, const std::vector<Option>&) { longest = std::max(longest, u32{node.packet.hops}); },
          turns);
      CHECK_FOR(acyclic(edges), relation + " " + x.net.fingerprint);
      // Groups of 2 with a link each: in a middle group the packet comes in at one router and leaves by the other.
      CHECK_EQ(longest, relation == "minimal" ? 3u : relation == "five_hop" && x.net.routers == 6 ? 4u : 5u);
    }
}

// The progressive relation, whole: what is offered at the second router of the source group, the longest path, the
// classes. And the same dependencies where the seam of agents offers them.
TEST(progressive_relation_is_free_of_deadlock) {
  for (const std::string relation : {"widest", "progressive", "five_hop"})
    for (const auto& [topology, turns] : dragonflies()) {
      Lone x = lone(topology, {"external", {{"relation", relation}}});
      const bool progressive = relation != "five_hop";
      const Dragonfly& df = dragonfly(x.net);
      u32 longest = 0, seconds = 0;
      std::set<u32> classes;
      const Edges edges = explore(
          x, listed,
          [&](const Node& node, const std::vector<Option>& options) {
            longest = std::max(longest, u32{node.packet.hops});
            for (const Option& option : options)
              if (!x.ejects(node.at.router, option.step)) classes.insert(option.step.vc_class);
            const u32 from = df.group(x.net.terminal_router[node.packet.source]), here = df.group(node.at.router),
                      to = df.group(x.net.terminal_router[node.packet.destination]);
            if (from != here || here == to || node.packet.hops != 1) return;
            // Its global ports and the minimal one, or that alone.
            u32 globals = 0;
            for (u32 port = df.p + df.a - 1; port < x.net.radix; port++)
              globals += x.net.channels[x.net.port(node.at.router, port)].kind != PortKind::kUnused;
            const u32 minimal = df.own_minimal_port(x.net, node.at.router, node.packet);
            CHECK_EQ(options.size(), progressive ? globals + !df.is_global(minimal) : 1u);
            CHECK_EQ(options[0].step.port, minimal);
            seconds++;
          },
          turns);
      CHECK_FOR(acyclic(edges), relation + " " + x.net.fingerprint);
      CHECK(seconds > 0);
      if (progressive)
        CHECK(longest == 5 && x.net.routing_facts.max_hops == 5 && x.net.vcs == 5 && classes.size() == 5);
      if (turns > 1) continue;
      for (const std::string routing : {"agent", "random"}) {
        Lone seam = lone(topology, {routing, {{"relation", relation}, {"slots", i64{16}}}});
        CHECK(explore(seam, listed) == edges);
        CHECK(seam.net.vcs == x.net.vcs && seam.net.routing_facts.max_hops == x.net.routing_facts.max_hops);
      }
    }
}

// ---- Trunks and uneven widths: the same with parallel links ----

TEST(trunked_hyperx_is_free_of_deadlock) {
  const Section topology = hyperx_section({2, 4}, 1, {{"links", std::vector<double>{3, 2}}});
  for (const Section& routing : {Section{"minimal_adaptive", {}},
                                 {"dim_war", {}},
                                 {"omni_war", {}},
                                 {"dal", {{"deadlock_avoidance", std::string("distance")}}}}) {
    Lone x = lone(topology, routing);
    CHECK_FOR(acyclic(explore(x, listed)), text(routing));
  }
  for (const std::string routing : {"dimension_order", "valiant", "ugal", "clos_ad", "q_adaptive", "q_routing"}) {
    Lone x = lone(topology, {routing, routing[0] == 'q'   ? Values{{"epsilon", 0.5}}
                                      : routing == "ugal" ? Values{{"bias_flits", -1e6}}
                                                          : Values{}});
    const Options options =
        x.net.learns ? learned(6) : chosen(30, 6, [](Lone& packet, const Node& node, const std::function<void()>& ask) {
          each_full(packet, ask, {node.at.router}, 1, packet.net.radix);
        });
    CHECK_FOR(acyclic(explore(x, options, [](const Node&, const std::vector<Option>&) {}, 6)), routing);
  }
}

// ---- The search finds what is wrong ----

namespace {

// omni_war with one deroute, but a class too few: the last two hops share one.
struct ClassShort {
  struct Rule : WeightRule {};
  static Reach reach(const Where& at, const Rule&) {
    const u32 hops = at.packet.hops, vc_class = hops < 2 ? hops : 2;
    return {at.unaligned, hops + 1 + at.h <= 4 ? at.unaligned : 0, vc_class, vc_class};
  }
};
// Any dimension first, on one class.
struct NoOrder {
  struct Rule : WeightRule {};
  static Reach reach(const Where& at, const Rule&) { return {at.unaligned, 0, 0, 0}; }
};
// dim_war whose deroute and direct hop share a class.
struct OneClass {
  struct Rule : WeightRule {};
  static Reach reach(const Where& at, const Rule&) {
    const u32 k = at.hx.first_unaligned(at.difference);
    return {1u << k, at.derouted_in() == k ? 0 : 1u << k, 0, 0};
  }
};
template <class Relation, u32 kClasses, u32 kHops>
RoutingFacts wrong_setup(const Params&, Network&, std::shared_ptr<const ComponentData>& data) {
  data = std::make_shared<typename Relation::Rule>();
  return {kClasses, kHops};
}
const Register<RoutingSpec> class_short(incremental<ClassShort>("test_class_short", "omni_war with a class too few", {},
                                                                wrong_setup<ClassShort, 3, 4>));
const Register<RoutingSpec> no_order(incremental<NoOrder>("test_no_order", "dimensions in any order on one class", {},
                                                          wrong_setup<NoOrder, 1, 3>));
const Register<RoutingSpec> one_class(incremental<OneClass>("test_one_class", "dim_war on one class", {},
                                                            wrong_setup<OneClass, 1, 6>));

}  // namespace

TEST(wrong_routings_are_found_cyclic) {
  for (const std::string routing : {"test_class_short", "test_no_order", "test_one_class"}) {
    Lone x = lone(cube(), {routing, {}});
    CHECK_FOR(!acyclic(explore(x, listed)), routing);
  }
  // In one dimension there is no order to break.
  Lone line = lone(hyperx_section({5}, 1), {"test_no_order", {}});
  CHECK(acyclic(explore(line, listed)));
}

// And what is cyclic does lock up: full load on buffers of one packet.
TEST(a_wrong_routing_locks_up) {
  const Values router =
      merge(input_queued(), {{"input_buffer_flits", i64{1}}, {"link_latency_ns_local", 2.0}, {"watchdog_ns", 3000.0}});
  const auto run = [&](const std::string& routing) {
    Simulation sim(config(hyperx_section({3, 3}, 4), router, {routing, {}}, {"uniform", {{"load", 1.0}}}));
    sim.run(30000);
    CHECK(sim.drain(100000));
  };
  CHECK_THROWS(CoreError, run("test_no_order"), "deadlock", "test_no_order");
  run("minimal_adaptive");
}
