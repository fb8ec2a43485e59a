// Freedom from deadlock on Dragonflies, proved by exhaustion like routing/hyperx/dependency_test.cpp.
#include "simcore/topology/dragonfly.hpp"
#include "support/exploration.hpp"

namespace routing_dragonfly_dependency_test {

using namespace scenes;

// ---- Dragonflies: 4 groups of 3 routers, 3 groups of 2, two links between groups, a spare port, two terminals ----

struct Small {
  Section topology;
  u32 turns;  // packets with this many sequence numbers take all minimal paths
};
std::vector<Small> dragonflies() {
  std::vector<Small> all = {{dragonfly_section(1, 3, 1, 4), 1},
                            {dragonfly_section(1, 2, 1, 3), 1},
                            {dragonfly_section(1, 4, 1, 3, {{"minimal_paths", "balanced"}}), 16},
                            {dragonfly_section(1, 2, 2, 4), 1},
                            {dragonfly_section(2, 3, 1, 3), 1}};
  for (const std::string arrangement : {"absolute", "relative", "palmtree", "random", "even"})
    all.push_back({dragonfly_section(1, 4, 1, 3, {{"arrangement", arrangement}}), 16});
  return all;
}

enum class Queues { kNone, kRouter, kGroup };  // the queues that a routing looks at

// A packet decides at its source, and under PAR again at the second router. There each queue is full in turn. All draws
// miss one of 6 routers with probability (5/6)^96 = 2e-8, and one of 2 groups with 2^-32 = 2e-10.
Options by_queues(Queues queues, bool by_router) {
  const Options decided = chosen(24, 1, idle),
                undecided =
                    chosen(by_router ? 96 : 32, 1, [=](Lone& x, const Node& node, const std::function<void()>& ask) {
                      if (queues == Queues::kNone) return ask();
                      const Dragonfly& df = as_dragonfly(x.net);
                      std::vector<u32> routers = {node.at.router};
                      if (queues == Queues::kGroup)
                        for (u32 place = 0; place < df.a; place++)
                          if (const u32 other = df.group(node.at.router) * df.a + place; other != node.at.router)
                            routers.push_back(other);
                      each_full(x, ask, routers, df.p, x.net.radix);
                    });
  return [=](Lone& x, const Node& node) {
    const bool again = node.packet.phase == kMinimal && node.packet.hops == 1;
    return node.packet.phase == kUndecided || again ? undecided(x, node) : decided(x, node);
  };
}

// A routing whose detours have two legs.
struct TwoLegs {
  const char* routing;
  Queues queues;
  bool by_router;  // by every router of a third group, or by the group
  bool always;     // every packet to another group takes a detour
  bool decides_twice = false;
};
constexpr TwoLegs kTwoLegs[] = {
    {"valiant_group", Queues::kNone, false, true}, {"valiant_router", Queues::kNone, true, true},
    {"ugal_group", Queues::kRouter, false, false}, {"ugal_router", Queues::kRouter, true, false},
    {"ugal_global", Queues::kGroup, false, false}, {"par", Queues::kRouter, true, false, true},
};

// The intermediates that each routing draws, and its decisions in both directions.
TEST(two_legs_on_dragonfly_are_free_of_deadlock) {
  for (const TwoLegs& c : kTwoLegs)
    for (const Section& topology : {dragonfly_section(1, 3, 1, 4), dragonfly_section(1, 2, 2, 4)}) {
      Lone x = lone(topology, {c.routing, {}});
      const Dragonfly& df = as_dragonfly(x.net);
      const std::string name = std::string(c.routing) + " " + x.net.fingerprint;
      u32 again = 0;
      const Edges edges =
          explore(x, by_queues(c.queues, c.by_router), [&](const Node& node, const std::vector<Option>& options) {
            const u32 from = df.group(x.net.terminal_router[node.packet.source]),
                      to = df.group(x.net.terminal_router[node.packet.destination]);
            std::set<u32> middles;
            bool minimal = false;
            for (const Option& option : options) {
              if (option.packet.phase == kMinimal) minimal = true;
              else middles.insert(option.intermediate());
            }
            if (node.packet.phase == kUndecided) {
              CHECK_FOR(minimal == (from == to || !c.always), name);
              CHECK_FOR(middles.size() == (from == to ? 0 : (df.g - 2) * (c.by_router ? df.a : 1)), name);
            } else if (c.decides_twice && node.packet.phase == kMinimal && node.packet.hops == 1 &&
                       df.group(node.at.router) == from && from != to) {
              CHECK_FOR(minimal && middles.size() == 1, name);
              again++;
            }
          });
      CHECK_FOR(acyclic(edges), name);
      CHECK((again > 0) == c.decides_twice);
    }
}

// At the source router, and where a first global hop ends, every port is possible. Elsewhere only the minimal port is.
TEST(q_adaptive_on_dragonfly_is_free_of_deadlock) {
  for (const auto& [topology, turns] : dragonflies()) {
    Lone x = lone(topology, {"q_adaptive", {{"epsilon", 0.5}, {"q_thld1", 0.0}, {"q_thld2", -10.0}}});
    const Dragonfly& df = as_dragonfly(x.net);
    u32 longest = 0;
    const Edges edges = explore(x, learned(), [&](const Node& node, const std::vector<Option>& options) {
      longest = std::max(longest, u32{node.packet.hops});
      const u32 to = x.net.terminal_router[node.packet.destination];
      const PortKind came_by = x.net.channels[x.net.port(node.at.router, node.at.in_port)].kind;
      Packet packet = node.packet;
      std::set<u32> minimal;
      for (u32 n = 0; n < 150; n++, packet.sequence++)  // the packets of learned()
        minimal.insert(df.own_minimal_port(x.net, node.at.router, packet));
      const bool at_source = came_by == PortKind::kTerminal,
                 between = came_by == PortKind::kGlobal && node.packet.hops == 1 &&
                           !std::ranges::all_of(minimal, [&](u32 port) { return df.is_global(port); });
      const bool asked = df.group(node.at.router) != df.group(to) && (at_source || between);
      u32 used = 0;
      for (u32 port = df.p; port < x.net.radix; port++)
        used += x.net.channels[x.net.port(node.at.router, port)].kind != PortKind::kUnused;
      CHECK_EQ(ports_of(options).size(), asked ? used : minimal.size());
    });
    CHECK_FOR(acyclic(edges), x.net.fingerprint);
    CHECK_EQ(longest, 5u);
  }
}

// The whole progressive relation: its candidates at the second router of the source group, its longest path and its
// classes.
TEST(progressive_relation_is_free_of_deadlock) {
  for (const std::string relation : {"widest", "progressive", "five_hop"})
    for (const auto& [topology, turns] : dragonflies()) {
      Lone x = lone(topology, {"external", {{"relation", relation}}});
      const bool progressive = relation != "five_hop";
      const Dragonfly& df = as_dragonfly(x.net);
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
            // The global ports and the minimal port, or only the minimal port.
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
      // Groups of 2 with one link per pair: in a middle group the packet arrives at one router and leaves by the other.
      CHECK_EQ(longest, !progressive && x.net.routers == 6 ? 4u : 5u);
      if (progressive) CHECK(x.net.routing_facts.max_hops == 5 && x.net.vcs == 5 && classes.size() == 5);
    }
}

}  // namespace routing_dragonfly_dependency_test
