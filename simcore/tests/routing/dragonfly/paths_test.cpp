// The paths of every Dragonfly routing: a bound on hops, and VC classes by the part of the path (facts of the
// Q-adaptive authors' code, merlin/topology/dragonfly.cc 603-1299).
#include <algorithm>
#include <set>

#include "simcore/topology/dragonfly.hpp"
#include "support/scenes.hpp"
#include "test.hpp"

namespace routing_dragonfly_paths_test {

using namespace scenes;

Config busy(const Section& routing, u64 seed = 2, const std::string& pattern = "adversarial") {
  Section traffic{pattern, {{"load", 0.8}}};
  return config(small_network(),
                merge(input_queued(), {{"input_buffer_flits", i64{8}}, {"link_latency_ns_global", 20.0}}), routing,
                traffic, seed);
}

std::vector<Decision> decisions(Simulation& sim, u32 cycles) {
  std::vector<Decision> out;
  for (u32 k = 0; k < cycles; k++) observe(sim, out);
  return out;
}

enum Part { kSource, kMiddle, kDestination };
struct Place {
  Part part;
  bool local_path;  // source and destination in one group
};
Place place(const Network& net, const Decision& d) {
  const Dragonfly& df = as_dragonfly(net);
  const u32 from = df.group(net.terminal_router[d.packet.source]),
            to = df.group(net.terminal_router[d.packet.destination]), here = df.group(d.router);
  return {here == to ? kDestination : here == from ? kSource : kMiddle, from == to};
}

// Bounds of a routing, and the VC classes that it may use in each part of the path.
struct Rule {
  u32 vcs, max_hops;
  bool reached;                   // adversarial traffic has paths of max_hops hops
  std::set<u32> minimal, detour;  // in the source group, on minimal paths and on detours
  std::set<u32> middle, destination;
  std::set<u32> first = {};  // at the source router, if they differ from the rest of the source group
  const std::set<u32>& allowed(Part part, const Packet& packet) const {
    if (part == kDestination) return destination;
    if (part == kMiddle) return middle;
    if (packet.hops == 0 && !first.empty()) return first;
    return packet.phase == kToIntermediate ? detour : minimal;
  }
};
const std::map<std::string, Rule> kRules = {
    {"minimal", {2, 3, true, {0}, {}, {}, {1}}},
    {"valiant_group", {3, 5, true, {}, {0}, {1}, {2}}},
    {"valiant_router", {4, 6, true, {}, {0}, {1, 2}, {3}}},
    {"ugal_group", {3, 5, false, {1}, {0}, {1}, {2}}},
    {"ugal_router", {4, 6, false, {2}, {0}, {1, 2}, {3}}},
    {"ugal_global", {3, 5, false, {0, 1}, {0, 1}, {1}, {2}}},
    {"par", {5, 7, false, {3}, {1}, {2, 3}, {4}, {0, 1}}},
};

TEST(hops_and_vc_classes_of_static_routings) {
  for (const auto& [name, rule] : kRules)
    for (const std::string pattern : {"adversarial", "uniform"}) {
      Simulation sim(busy({name, {}}, 2, pattern));
      const Network& net = sim.network();
      CHECK_EQ(net.routing_facts.classes, rule.vcs);
      CHECK_EQ(net.vcs, rule.vcs);
      CHECK_EQ(net.routing_facts.max_hops, rule.max_hops);
      u32 longest = 0;
      std::map<u32, u32> last_class;
      for (const Decision& d : decisions(sim, 1500)) {
        const Place at = place(net, d);
        CHECK_FOR(rule.allowed(at.part, d.packet).count(d.out_class) == 1,
                  name + ": class " + std::to_string(d.out_class));
        if (at.local_path) CHECK(d.packet.hops <= 1);
        longest = std::max(longest, u32{d.packet.hops});
        if (d.packet.hops > 0) CHECK_FOR(d.out_class >= last_class[d.id], name + ": classes never go down");
        last_class[d.id] = d.out_class;
      }
      CHECK_FOR(longest <= rule.max_hops, name + ": " + std::to_string(longest) + " hops");
      if (pattern == "adversarial" && rule.reached) CHECK_EQ(longest, rule.max_hops);
    }
}

// The VC class is the number of hops done. Ejection keeps the class of the last hop.
TEST(hops_and_vc_classes_of_table_routings) {
  struct Case {
    Section routing;
    u32 bound;
  };
  for (const Case& c : {Case{{"q_adaptive", {{"epsilon", 0.3}, {"q_thld1", 0.0}, {"q_thld2", -1.0}}}, 5},
                        Case{{"q_adaptive", {}}, 5}, Case{{"q_routing", {{"max_hops", i64{1}}, {"epsilon", 0.3}}}, 4},
                        Case{{"q_routing", {{"max_hops", i64{4}}, {"epsilon", 0.3}}}, 7}}) {
    Simulation sim(busy(c.routing));
    const Network& net = sim.network();
    CHECK_EQ(net.vcs, c.bound);
    CHECK_EQ(net.routing_facts.max_hops, c.bound);
    u32 longest = 0;
    for (const Decision& d : decisions(sim, 2500)) {
      const bool there = d.router == net.terminal_router[d.packet.destination];
      CHECK_EQ(d.out_class, u32{d.packet.hops} - (there && d.packet.hops > 0 ? 1 : 0));
      longest = std::max(longest, u32{d.packet.hops});
    }
    CHECK_FOR(longest <= c.bound, c.routing.name);
    if (c.routing.values.count("epsilon")) CHECK_EQ(longest, c.bound);
  }
}

// Valiant's intermediate group is neither the source's nor the destination's: 7 of the 9 groups, each drawn in 1/7 of
// the cases.
TEST(intermediate_groups_are_uniform) {
  for (const std::string routing : {"valiant_group", "valiant_router"}) {
    Simulation sim(busy({routing, {}}));
    std::map<u32, u32> middles;  // (intermediate - source group) mod 9
    u32 total = 0;
    for (const Decision& d : decisions(sim, 4000)) {
      const Dragonfly& df = as_dragonfly(sim.network());
      const u32 from = df.group(sim.network().terminal_router[d.packet.source]);
      if (d.packet.hops > 0 || df.group(d.router) != from || d.packet.phase != kToIntermediate) continue;
      const u32 middle = routing == "valiant_group" ? d.intermediate : df.group(d.intermediate);
      middles[(middle + 9 - from) % 9]++;
      total++;
    }
    CHECK_EQ(middles.size(), 7u);
    CHECK(!middles.count(0) && !middles.count(1));
    for (const auto& [group, count] : middles) CHECK_NEAR(count, total / 7.0, 5 * std::sqrt(total / 7.0));
  }
}

// The papers' rule: non-minimal if q_min > int(2 q_nonmin). One packet ahead in the minimal queue diverts: 1 > 0.
TEST(ugal_rule_by_hand) {
  const auto nonminimal = [](const std::string& routing, Values values, u32 packets) {
    std::vector<Planned> plan(packets, {0, 8});  // group 0, router 0, which has the link to group 1
    Simulation sim(config(small_network(), hpdc21(), {routing, values}, planned(plan)));
    sim.begin_window();
    sim.run(4000);
    CHECK(sim.empty());
    return statistics(sim.network(), sim.state()).at("nonminimal_fraction") * packets;
  };
  for (const std::string routing : {"ugal_group", "ugal_router", "par", "ugal_global"}) {
    CHECK_EQ(nonminimal(routing, {}, 1), 0);  // empty queues: minimal
    CHECK(nonminimal(routing, {}, 12) >= 1);  // a packet ahead on the minimal port
    CHECK_EQ(nonminimal(routing, {{"bias_flits", 100.0}}, 12), 0);
    CHECK_EQ(nonminimal(routing, {{"threshold", 0.0}, {"bias_flits", -1.0}}, 3), 3);  // 0 > -1
  }
}

}  // namespace routing_dragonfly_paths_test
