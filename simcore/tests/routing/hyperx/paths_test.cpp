// The paths of every HyperX routing: bounds on hops, the hops in each dimension, and VC classes (SC'19: McDonald et
// al.; DAL: Ahn et al., SC 2009; Clos-AD: Kim et al., ISCA 2007).
#include <algorithm>
#include <set>

#include "simcore/rng.hpp"
#include "simcore/topology/hyperx.hpp"
#include "support/crafted.hpp"

namespace routing_hyperx_paths_test {

using namespace scenes;

const std::string kEscape = "escape", kDistance = "distance";

Lone lone(const std::vector<double>& widths, const Section& routing, const Values& router = {},
          const Values& more = {}) {
  return Lone(build(config(hyperx_section(widths, 1, more), merge(input_queued(), router), routing, {"uniform", {}})));
}

// The path that a packet has taken.
struct Hop {
  u32 dimension, vc_class;
  bool direct;  // to the destination's coordinate
};
struct Path {
  u32 source = 0, destination = 0;  // routers
  bool nonminimal = false;
  std::vector<Hop> hops;
};

// Every packet's path under load. A head that is routed again (dal) leaves by its last decision.
std::vector<Path> paths(Simulation& sim, u32 cycles) {
  const Network& net = sim.network();
  const HyperX& hx = as_hyperx(net);
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
      if (d.out_port < hx.terminals) continue;  // a detour may pass through the destination's router
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

bool ascending(const std::vector<u32>& dimensions) {
  return std::adjacent_find(dimensions.begin(), dimensions.end(), std::greater_equal<>{}) == dimensions.end();
}
std::vector<u32> dimensions_on(const Path& path, u32 vc_class) {
  std::vector<u32> out;
  for (const Hop& hop : path.hops)
    if (hop.vc_class == vc_class) out.push_back(hop.dimension);
  return out;
}
bool after_deroute(const Path& path, std::size_t n) {
  return n > 0 && !path.hops[n - 1].direct && path.hops[n - 1].dimension == path.hops[n].dimension;
}

// The VC class of a hop.
enum class Classes {
  kLegs,          // never decreases: 0 on the first leg (or on adaptive channels), 1 on the second (or on the escape)
  kHops,          // the number of hops before it
  kDeroute,       // 1 for a deroute, 0 for a direct hop
  kAfterDeroute,  // 1 after a deroute in the same dimension, 0 otherwise
};

// Promises of a routing about each path.
enum Promise : u32 {
  kOnlyMinimal = 1 << 0,    // the number of hops is the distance
  kMarksDetours = 1 << 1,   // a packet marked non-minimal takes more hops than the distance
  kOnlyUnaligned = 1 << 2,  // only dimensions in which source and destination differ
  kAscending = 1 << 3,      // dimensions ascend
  kLegsAscend = 1 << 4,     // dimensions ascend on each VC class
  kInTurn = 1 << 5,         // a dimension is finished before the next one begins
  kTwoHops = 1 << 6,        // at most two hops in a dimension
  kOneDeroute = 1 << 7,     // at most one deroute in a dimension
  kDirectNext = 1 << 8,     // a deroute is followed by a direct hop, or by another dimension
  kEscapeAscends = 1 << 9,  // class 1 is in dimension order and takes direct hops only
};
constexpr u32 kIncremental = kMarksDetours | kOnlyUnaligned;
constexpr u32 kMinimalPaths = kIncremental | kOnlyMinimal;
constexpr u32 kOneByOne = kIncremental | kInTurn | kTwoHops;
constexpr u32 kDal = kIncremental | kTwoHops | kOneDeroute;
constexpr u32 kClosAd = kIncremental | kLegsAscend | kTwoHops;

struct Rule {
  Section routing;
  u32 classes, max_hops;
  u32 longest;  // hops of the longest path under load; 0: any number up to max_hops
  Classes vc_class;
  u32 promises;
  bool from_source = false;  // decides at the source and diverts where minimal paths are crowded
};

const Values kGreedy = {{"bias_flits", -1000.0}};  // forces every possible deroute, so that paths reach their bounds
Values greedy(const std::string& key, Value value) { return merge(kGreedy, {{key, std::move(value)}}); }

const std::vector<Rule>& rules() {
  using enum Classes;
  static const std::string deroute = "deroute";
  static const std::vector<Rule> all = {
      {{"dimension_order", {}}, 1, 3, 3, kLegs, kMinimalPaths | kAscending},
      {{"minimal_adaptive", {}}, 3, 3, 3, kHops, kMinimalPaths},
      {{"valiant", {}}, 2, 6, 6, kLegs, kMarksDetours | kLegsAscend},
      {{"ugal", {}}, 2, 6, 6, kLegs, kLegsAscend, true},
      {{"ugal", kGreedy}, 2, 6, 6, kLegs, kLegsAscend, true},
      {{"clos_ad", {}}, 2, 6, 6, kLegs, kClosAd, true},
      {{"clos_ad", kGreedy}, 2, 6, 6, kLegs, kClosAd, true},
      {{"dal", {{"deadlock_avoidance", kEscape}}}, 2, 6, 0, kLegs, kDal | kEscapeAscends},
      {{"dal", greedy("deadlock_avoidance", kEscape)}, 2, 6, 6, kLegs, kDal | kEscapeAscends},
      {{"dal", {{"deadlock_avoidance", kDistance}}}, 6, 6, 0, kHops, kDal},
      {{"dal", greedy("deadlock_avoidance", kDistance)}, 6, 6, 6, kHops, kDal},
      {{"dim_war", {}}, 2, 6, 0, kAfterDeroute, kOneByOne},
      {{"dim_war", kGreedy}, 2, 6, 6, kAfterDeroute, kOneByOne},
      {{"dim_war", greedy("classes", deroute)}, 2, 6, 6, kDeroute, kOneByOne},
      {{"omni_war", {}}, 6, 6, 0, kHops, kIncremental | kDirectNext},
      {{"omni_war", kGreedy}, 6, 6, 6, kHops, kIncremental | kDirectNext},
      {{"omni_war", greedy("deroutes", i64{0})}, 3, 3, 3, kHops, kIncremental | kDirectNext},
      {{"omni_war", greedy("deroutes", i64{1})}, 4, 4, 4, kHops, kIncremental | kDirectNext},
      {{"omni_war", greedy("deroutes", i64{3})}, 6, 6, 6, kHops, kIncremental | kDirectNext},
      {{"omni_war", greedy("back_to_back", true)}, 6, 6, 6, kHops, kIncremental},
      {{"q_adaptive", {{"epsilon", 0.5}}}, 2, 6, 6, kAfterDeroute, kOneByOne},
      {{"q_routing", {{"epsilon", 0.3}, {"max_hops", i64{3}}}}, 6, 6, 6, kHops, 0},
  };
  return all;
}

void check_classes(const Path& path, Classes wanted, const std::string& name) {
  for (std::size_t n = 0; n < path.hops.size(); n++) {
    const Hop& hop = path.hops[n];
    switch (wanted) {
      case Classes::kLegs: CHECK_FOR(n == 0 || hop.vc_class >= path.hops[n - 1].vc_class, name); break;
      case Classes::kHops: CHECK_FOR(hop.vc_class == n, name); break;
      case Classes::kDeroute: CHECK_FOR(hop.vc_class == u32{!hop.direct}, name); break;
      case Classes::kAfterDeroute: CHECK_FOR(hop.vc_class == u32{after_deroute(path, n)}, name); break;
    }
  }
}

void check_promises(const Path& path, const HyperX& hx, u32 promises, const std::string& name) {
  const auto promised = [&](Promise promise) { return (promises & promise) != 0; };
  const u64 difference = hx.difference(path.source, path.destination);
  const u32 minimal = hx.distance(difference);
  std::vector<u32> hops_in(hx.dimensions), deroutes_in(hx.dimensions), dimensions;
  for (const Hop& hop : path.hops) {
    hops_in[hop.dimension]++;
    deroutes_in[hop.dimension] += !hop.direct;
    dimensions.push_back(hop.dimension);
    if (promised(kOnlyUnaligned)) CHECK_FOR(hx.unaligned(difference, hop.dimension), name);
    if (promised(kEscapeAscends)) CHECK_FOR(hop.vc_class == 0 || hop.direct, name);
  }
  CHECK_FOR(path.nonminimal || path.hops.size() == minimal, name);
  if (promised(kMarksDetours)) CHECK_FOR(!path.nonminimal || path.hops.size() > minimal, name);
  if (promised(kOnlyMinimal)) CHECK_FOR(path.hops.size() == minimal, name);
  if (promised(kAscending)) CHECK_FOR(ascending(dimensions), name);
  if (promised(kLegsAscend)) CHECK_FOR(ascending(dimensions_on(path, 0)), name);
  if (promised(kLegsAscend) || promised(kEscapeAscends)) CHECK_FOR(ascending(dimensions_on(path, 1)), name);
  if (promised(kInTurn)) CHECK_FOR(std::ranges::is_sorted(dimensions), name);
  if (promised(kTwoHops)) CHECK_FOR(std::ranges::max(hops_in) <= 2, name);
  if (promised(kOneDeroute)) CHECK_FOR(std::ranges::max(deroutes_in) <= 1, name);
  if (promised(kDirectNext))
    for (std::size_t n = 0; n < path.hops.size(); n++) CHECK_FOR(!after_deroute(path, n) || path.hops[n].direct, name);
}

// ---- Paths under load ----

TEST(paths_keep_to_their_rules) {
  for (const Rule& rule : rules()) {
    const std::string name = text(rule.routing);
    Simulation sim = rule.from_source ? busy(rule.routing, {"bit_complement", {}}, {4, 4, 4}) : busy(rule.routing);
    const Network& net = sim.network();
    CHECK_EQ(net.routing_facts.classes, rule.classes);
    CHECK_EQ(net.routing_facts.max_hops, rule.max_hops);
    std::size_t longest = 0, complete = 0;
    for (const Path& path : paths(sim, 150)) {
      complete++;
      longest = std::max(longest, path.hops.size());
      check_classes(path, rule.vc_class, name);
      check_promises(path, as_hyperx(net), rule.promises, name);
    }
    CHECK_FOR(complete > 1000, name);
    if (rule.longest) CHECK_FOR(longest == rule.longest, name + ": " + std::to_string(longest) + " hops");
    CHECK_FOR(longest <= rule.max_hops, name);
    sim.check_conservation();
  }
}

// Small buffers and a high load make DAL use its escape class.
TEST(dal_uses_its_escape_class) {
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

// ---- Idle networks ----

// One packet at a time: every adaptive routing takes a minimal path and marks it as minimal.
TEST(idle_networks_are_crossed_minimally) {
  for (const std::string& name : kHyperXRoutings) {
    if (name == "valiant") continue;
    for (const Values& links : {Values{}, Values{{"links", std::vector<double>{2, 1, 3}}}}) {
      Section routing{name, {}};
      if (name[0] == 'q') routing.values["epsilon"] = 0.0;
      Lone x = lone({3, 2, 4}, routing, {}, links);
      const HyperX& hx = as_hyperx(x.net);
      for (u32 a = 0; a < 24; a++)
        for (u32 b = 0; b < 24; b++)
          for (u32 sequence = 0; sequence < 6; sequence++) {
            CHECK_FOR(x.walk(a, b, sequence, [](u32, const Step&) {}) == hx.distance(hx.difference(a, b)), name);
            CHECK_FOR(!x.packet().nonminimal, name);
          }
    }
  }
}

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

// ---- Refusals ----

TEST(hyperx_routings_refuse_impossible_configurations) {
  const auto make = [](const Section& routing, const Values& router = {}) {
    return build(config(hyperx_section({4, 4, 4}, 1), merge(input_queued(), router), routing, {"uniform", {}}));
  };
  // Too few VCs: the error names both numbers.
  struct Case {
    Section routing;
    u32 classes;
  };
  for (const Case& c : {Case{{"omni_war", {{"deroutes", i64{5}}}}, 8}, {{"q_routing", {{"max_hops", i64{4}}}}, 7}}) {
    CHECK_EQ(make(c.routing)->vcs, c.classes);
    CHECK_THROWS(ConfigError, make(c.routing, {{"vcs", i64{c.classes - 1}}}), "router.vcs",
                 std::to_string(c.classes - 1), std::to_string(c.classes), c.routing.name);
  }
  // A routing of another topology.
  CHECK_THROWS(ConfigError, make({"par", {}}), "routing.par", "hyperx", "dragonfly", "dim_war");
}

}  // namespace routing_hyperx_paths_test
