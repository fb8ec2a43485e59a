// Checks of every registered component on the small instance of every registered topology. A new component is tested
// without a new test.
#include <algorithm>
#include <set>
#include <tuple>

#include "simcore/graph.hpp"
#include "simcore/learning.hpp"
#include "simcore/registry.hpp"
#include "simcore/rng.hpp"
#include "support/crafted.hpp"
#include "support/dependencies.hpp"

namespace registry_test {

using namespace scenes;

std::vector<Section> small_topologies() {
  std::vector<Section> all;
  for (const auto& [name, spec] : registry<TopologySpec>()) {
    CHECK_FOR(!spec.small.empty(), "topology " + name + " names no small instance (TopologySpec::small)");
    all.push_back({name, spec.small});
  }
  return all;
}

// Routings that choose among the candidates of another routing's relation.
const std::set<std::string> kChoosing = {"external", "agent", "policy", "random", "biased"};

// True if the registry allows the pair.
bool runs_on_topology(const RoutingSpec& spec, const std::string& topology) {
  return spec.topologies.empty() ||
         std::find(spec.topologies.begin(), spec.topologies.end(), topology) != spec.topologies.end();
}
std::vector<std::string> routings_on(const std::string& topology) {
  std::vector<std::string> names;
  for (const auto& [name, spec] : registry<RoutingSpec>())
    if (!name.starts_with("test_") && runs_on_topology(spec, topology) && (names.empty() || names.back() != name))
      names.push_back(name);
  return names;
}

Config scene(const Section& topology, const Section& routing, double load, const Values& router = input_queued()) {
  return config(topology, router, routing, {"uniform", {{"load", load}, {"packet_bytes_max", bytes_of(3)}}});
}

// Runs one cycle, with random choices if an agent outside decides.
void advance(Simulation& sim) {
  const Network& net = sim.network();
  if (net.decider == Decider::kRouting) return sim.run(1);
  std::vector<u32> choices(sim.collect());
  const Batch& b = sim.batch();
  for (u32 i = 0; i < choices.size(); i++) {
    const u32 all = net.decider == Decider::kSlots ? b.decisions.slot_count[i] : b.offsets[i + 1] - b.offsets[i];
    choices[i] = below(draw(3, sim.state().part.totals.now, i), all);
  }
  sim.apply(choices.data(), choices.size());
}

void run_and_drain(const Config& c, const std::string& name) {
  Simulation sim(c), again(c);
  for (u32 k = 0; k < 400; k++) {
    advance(sim);
    advance(again);
    if (k % 8 == 0) sim.check_conservation();
  }
  CHECK_FOR(sim.state().part.totals.flits_ejected > 0, name);
  CHECK_FOR(sim.hash() == again.hash(), name + ": two runs differ");
  Simulation fork(sim);
  const std::string bytes = sim.snapshot();
  for (u32 k = 0; k < 50; k++) advance(sim), advance(fork);
  CHECK_FOR(sim.hash() == fork.hash(), name + ": a fork differs");
  again.restore(bytes);
  for (u32 k = 0; k < 50; k++) advance(again);
  CHECK_FOR(sim.hash() == again.hash(), name + ": a restored snapshot differs");
  sim.stop_sources();
  for (u32 k = 0; k < 20000 && !sim.empty(); k++) advance(sim);
  CHECK_FOR(sim.empty(), name + ": it does not drain");
  sim.check_conservation();
}

std::string text(const Section& topology, const Section& routing) {
  return topology.name + " " + scenes::text(routing);
}

// The configuration that lists a routing's candidates: the routing itself, or `external` with the relation of its name.
Section listed(const std::string& routing) {
  const auto [first, last] = registry<RoutingSpec>().equal_range(routing);
  for (auto at = first; at != last; ++at)
    if (!at->second.candidates || !at->second.agent_can_choose) return {"external", {{"relation", routing}}};
  return {routing, {}};
}

TEST(every_routing_runs_on_every_topology_that_it_accepts) {
  for (const Section& topology : small_topologies())
    for (const std::string& name : routings_on(topology.name))
      run_and_drain(scene(topology, {name, {}}, 0.6), text(topology, {name, {}}));
}

// `external` and `random` choose any candidate of each relation.
TEST(every_relation_serves_agents) {
  for (const Section& topology : small_topologies()) {
    std::set<std::string> relations = {"widest", "preferred"};
    for (const auto& [name, spec] : registry<RelationSpec>())
      if (spec.topologies.empty() || std::ranges::count(spec.topologies, topology.name)) relations.insert(name);
    for (const auto& [name, spec] : registry<RoutingSpec>())
      if (!name.starts_with("test_") && spec.candidates && spec.agent_can_choose &&
          runs_on_topology(spec, topology.name))
        relations.insert(name);
    CHECK(relations.size() > 4);
    for (const std::string& relation : relations)
      for (const std::string who : {"external", "random"}) {
        const Section routing{who, {{"relation", relation}}};
        run_and_drain(scene(topology, routing, 0.5), text(topology, routing));
      }
  }
}

// The channel dependency graph of every pair of topology and routing, by exhaustion: every candidate at every router
// between any two terminals, with the packet's memory after it. Routings draw intermediates from the packet's sequence
// number, and 40 numbers draw all of them.
TEST(every_routing_is_free_of_deadlock_on_every_topology) {
  using Key = std::tuple<u32, u32, u32, u32, u32, u32, u32, u32, std::vector<u8>>;
  u32 pairs = 0;
  for (const Section& topology : small_topologies())
    for (const std::string& name : routings_on(topology.name)) {
      if (kChoosing.contains(name)) continue;
      // They have no relation: see learned_routings_on_dragonfly_are_free_of_deadlock.
      if (name == "q_adaptive_corrected" || name == "q_hierarchical") continue;
      const auto built = build(scene(topology, {name, {}}, 0.1));
      if (built->routing_facts.reroutes) continue;  // has an escape class: see dal_escape_is_free_of_deadlock
      std::shared_ptr<const Network> network = built;
      const Section relation = built->candidates ? Section{name, {}} : listed(name);
      if (!built->candidates) network = build(scene(topology, relation, 0.1));
      CHECK_FOR(network->candidates != nullptr, text(topology, {name, {}}) + " lists no candidates");
      Lone x(network);
      const u32 numbers = x.net.chosen ? 40 : 2;
      Edges edges;
      std::set<Key> seen;
      struct Node {
        Place at;
        Packet packet;
        std::vector<u8> kept;  // the routing's memory of it
      };
      std::vector<Node> nodes;
      const auto key = [](const Node& n) {
        return Key{n.at.router,       n.at.in_port,  n.at.in_class,  n.packet.source, n.packet.destination,
                   n.packet.sequence, n.packet.hops, n.packet.phase, n.kept};
      };
      for (u32 source = 0; source < x.net.terminals; source++)
        for (u32 destination = 0; destination < x.net.terminals; destination++)
          for (u32 n = 0; n < numbers; n++) {
            const Place at = x.send(source, destination, n);
            const Node node{at, x.packet(), x.kept()};
            if (seen.insert(key(node)).second) nodes.push_back(node);
          }
      for (std::size_t k = 0; k < nodes.size(); k++) {
        const auto [at, packet, kept] = nodes[k];
        x.packet() = packet;
        x.keep(kept);
        const auto steps = x.candidates(at);
        CHECK_FOR(!steps.empty(), text(topology, {name, {}}));
        for (const Step& step : steps) {
          x.packet() = packet;
          x.keep(kept);
          x.batch.out_port[0] = static_cast<u16>(step.port);
          x.batch.out_class[0] = static_cast<u16>(step.vc_class);
          if (x.net.chosen) x.net.chosen(x.net, x.state, x.batch, 0);
          if (x.ejects(at.router, step)) {
            CHECK_EQ(at.router, x.net.terminal_router[packet.destination]);
            continue;
          }
          CHECK_FOR(step.vc_class < x.net.routing_facts.classes, text(topology, {name, {}}));
          add(edges, x.net, at.router, at.in_port, at.in_class, step.port, step.vc_class);
          Node next{x.behind(at.router, step), x.packet(), x.kept()};
          CHECK_FOR(++next.packet.hops <= x.net.routing_facts.max_hops,
                    text(topology, {name, {}}) + ": more hops than it says");
          // A forwarding table needs no distances.
          if (x.net.routing_facts.minimal && (x.net.topology->closed || !x.net.graphs[0]->hops.empty()))
            CHECK_EQ(distance(x.net, *x.net.graphs[0], next.at.router, x.net.terminal_router[packet.destination]) +
                         next.packet.hops,
                     distance(x.net, *x.net.graphs[0], x.net.terminal_router[packet.source],
                              x.net.terminal_router[packet.destination]));
          if (seen.insert(key(next)).second) nodes.push_back(next);
        }
      }
      CHECK_FOR(acyclic(edges), text(topology, {name, {}}) + ": its channel dependencies have a cycle");
      CHECK(edge_count(edges) > 0);
      pairs++;
    }
  CHECK(pairs >= 20);
}

// The closed form of a topology agrees with its links.
TEST(closed_forms_agree_with_breadth_first_search) {
  for (const Section& topology : small_topologies()) {
    const auto net = build(scene(topology, {"minimal", {}}, 0.1));
    if (!net->topology->closed) continue;
    // A Dragonfly's minimal path has one global hop. Two global hops by a third group may be fewer hops.
    const bool shorter = topology.name == "dragonfly";
    Network searched = *net;
    searched.damaged = true;  // makes the network count distances
    need_distances(searched);
    u32 longest = 0;
    for (u32 a = 0; a < net->routers; a++)
      for (u32 b = 0; b < net->routers; b++) {
        const u32 closed = net->topology->hops_between(*net, a, b),
                  counted = distance(searched, *searched.graphs[0], a, b);
        CHECK_FOR(shorter ? counted <= closed : counted == closed,
                  topology.name + ": from router " + std::to_string(a) + " to " + std::to_string(b));
        longest = std::max(longest, closed);
        if (shorter) continue;
        each_link(*net, *net->graphs[0], a, [&](u32 k) {
          if (a != b)
            CHECK_FOR(net->topology->is_minimal(*net, *net->graphs[0], a, k, b) ==
                          searched.topology->Topology::is_minimal(searched, *searched.graphs[0], a, k, b),
                      topology.name + ": port " + std::to_string(k) + " from " + std::to_string(a) + " to " +
                          std::to_string(b));
        });
      }
    CHECK_EQ(longest, net->topology->diameter);
  }
}

// Every feature stays within its bounds and every reward is finite, on every topology.
TEST(observations_and_rewards_hold_on_every_topology) {
  // A seam has at most one block that learns from feedback.
  std::string plain;
  std::vector<std::string> learners;
  for (const auto& [name, spec] : registry<ObservationSpec>())
    if (spec.learn) learners.push_back(name);
    else plain += (plain.empty() ? "" : "+") + name;
  CHECK(!learners.empty());
  for (const Section& topology : small_topologies()) {
    u32 turn = 0;
    for (const std::string& reward : registered_names<RewardSpec>()) {
      const std::string blocks = plain + '+' + learners[turn++ % learners.size()];
      Simulation sim(
          scene(topology, {"random", {{"observation", blocks}, {"reward", reward}, {"record", i64{512}}}}, 0.7));
      sim.run(1500);
      const State& s = sim.state();
      const Seam& seam = *sim.network().seam;
      CHECK_FOR(s.part.learning.transitions > 100, topology.name);
      std::vector<Feature> features;
      for (const ObservationSpec* block : seam.blocks)
        features.insert(features.end(), block->general.begin(), block->general.end());
      for (u32 k = 0; k < seam.slots; k++)
        for (const ObservationSpec* block : seam.blocks)
          features.insert(features.end(), block->per_slot.begin(), block->per_slot.end());
      CHECK_EQ(features.size(), seam.width);
      const u64 rows = std::min<u64>(s.part.learning.transitions, seam.capacity);
      for (u64 row = 0; row < rows; row++) {
        CHECK_FOR(std::isfinite(s.ring_reward[row]) && s.ring_reward[row] <= 0, reward);
        for (u32 f = 0; f < seam.width; f++) {
          const float x = s.ring_observation[row * seam.width + f];
          CHECK_FOR(x >= features[f].low && x <= features[f].high,
                    topology.name + ", " + features[f].name + ": " + std::to_string(x));
        }
      }
    }
  }
}

// A pattern either reports its needs before cycle 0, or sends to terminals that exist.
TEST(every_pattern_reports_its_needs) {
  for (const Section& topology : small_topologies())
    for (const std::string& name : registered_names<TrafficSpec>()) {
      if (name.starts_with("test_")) continue;
      try {
        const auto net = build(config(topology, input_queued(), {"minimal", {}}, {name, {}}));
        for (u32 t = 0; t < net->terminals; t++)
          for (u32 n = 0; n < 50 && net->round_size(1, t, n) > 0; n++)
            CHECK_FOR(net->destination(1, t, n, 0, 0) < net->terminals, name);
      } catch (const ConfigError& error) {
        CHECK_FOR(std::string(error.what()).starts_with("traffic." + name), error.what());
      }
    }
}

}  // namespace registry_test
