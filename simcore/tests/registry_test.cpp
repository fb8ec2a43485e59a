// Checks of every registered component on the small instance of every registered topology. A new component is tested
// without a new test.
#include "simcore/registry.hpp"
#include "../bench/scenes.hpp"
#include "simcore/learning.hpp"
#include "support/exploration.hpp"
#include "support/links.hpp"

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

bool runs_on_topology(const RoutingSpec& spec, const std::string& topology) {
  return spec.topologies.empty() || std::ranges::count(spec.topologies, topology) > 0;
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
Section with_candidates(const std::string& routing) {
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

// Each candidate, and the packet's memory after it.
std::vector<Option> followed(Lone& x, const Node& node) {
  std::vector<Option> out;
  x.packet() = node.packet;
  x.keep(node.kept);
  for (const Step& step : x.candidates(node.at)) {
    x.packet() = node.packet;
    x.keep(node.kept);
    x.batch.out_port[0] = static_cast<u16>(step.port);
    x.batch.out_class[0] = static_cast<u16>(step.vc_class);
    if (x.net.chosen) x.net.chosen(x.net, x.state, x.batch, 0);
    out.push_back({step, x.packet(), x.kept()});
  }
  return out;
}

// The channel dependency graph of every pair of topology and routing, by exhaustion: every candidate at every router
// between any two terminals, with the packet's memory after it. Routings draw intermediates from the packet's sequence
// number, and 40 numbers draw all of them.
TEST(every_routing_is_free_of_deadlock_on_every_topology) {
  u32 pairs = 0;
  for (const Section& topology : small_topologies())
    for (const std::string& name : routings_on(topology.name)) {
      if (kChoosing.contains(name)) continue;
      // They have no relation: see learned_routings_on_dragonfly_are_free_of_deadlock.
      if (name == "q_adaptive_corrected" || name == "q_hierarchical") continue;
      std::shared_ptr<const Network> network = build(scene(topology, {name, {}}, 0.1));
      if (network->routing_facts.reroutes) continue;  // has an escape class: see dal_escape_is_free_of_deadlock
      if (!network->candidates) network = build(scene(topology, with_candidates(name), 0.1));
      CHECK_FOR(network->candidates != nullptr, text(topology, {name, {}}) + " lists no candidates");
      Lone x(network);
      // A forwarding table needs no distances.
      const Graph& graph = *x.net.graphs[0];
      const bool counted = x.net.routing_facts.minimal && (x.net.topology->closed || !graph.hops.empty());
      const auto visit = [&](const Node& node, const std::vector<Option>&) {
        const u32 from = x.net.terminal_router[node.packet.source], to = x.net.terminal_router[node.packet.destination];
        if (counted)
          CHECK_EQ(distance(x.net, graph, node.at.router, to) + node.packet.hops, distance(x.net, graph, from, to));
      };
      const Edges edges = explore(x, followed, visit, x.net.chosen ? 40 : 2);
      CHECK_FOR(acyclic(edges), text(topology, {name, {}}) + ": its channel dependencies have a cycle");
      CHECK(edge_count(edges) > 0);
      pairs++;
    }
  CHECK(pairs >= 20);
}

// A routing with its defaults, and with each value of each parameter that is a choice. Learned routings explore.
std::vector<Section> variants(const std::string& name) {
  const Values common = name.starts_with("q_") ? Values{{"epsilon", 0.5}} : Values{};
  std::vector<Section> all = {{name, common}};
  const auto [first, last] = registry<RoutingSpec>().equal_range(name);
  for (auto at = first; at != last; ++at)
    for (const ParamSpec& p : params_of(at->second))
      for (const std::string& value : p.choices) all.push_back({name, merge(common, {{p.key, value}})});
  return all;
}

// Under any congestion a routing takes one of its candidates, or of those of the relation of its name.
TEST(every_choice_is_one_of_the_candidates) {
  u32 compared = 0;
  for (const Section& topology : small_topologies())
    for (const std::string& name : routings_on(topology.name))
      for (const Section& routing : variants(name)) {
        if (kChoosing.contains(name) || name == "q_adaptive_corrected" || name == "q_hierarchical") break;
        std::shared_ptr<const Network> network;
        try {
          network = build(config(topology, input_queued(), routing, {"uniform", {}}));
        } catch (const ConfigError&) {
          continue;  // a value that needs output queues, or a parameter of this name on other topologies
        }
        Lone x(network), lister(network->candidates ? network : build(scene(topology, with_candidates(name), 0.1)));
        compared++;
        for (u32 n = 0; n < 500; n++) {
          Place at = x.send(below(draw(1, n, 0), x.net.terminals), below(draw(1, n, 1), x.net.terminals), n);
          for (bool arrived = false; !arrived; x.packet().hops++) {
            for (u32 k = 0; k < x.net.radix; k++)
              for (u32 vc = 0; vc < x.net.vcs && x.net.is_link(x.net.port(at.router, k)); vc++)
                congest(x, at.router, k, vc, 0, below(draw(n, 2, at.router * 997 + k * 31 + vc), 3) * 128);
            lister.packet() = x.packet();
            lister.keep(x.kept());
            const Step step = x.ask(at);
            const auto same = [&](const Step& c) {
              return c.port == step.port && (c.vc_class == step.vc_class || step.vc_class == kAnyClass);
            };
            CHECK_FOR(std::ranges::any_of(lister.candidates(at), same), text(topology, routing));
            arrived = x.ejects(at.router, step);
            if (!arrived) at = x.behind(at.router, step);
          }
        }
      }
  CHECK(compared > 400);
}

// SC'19's router: host links at both ends take 5 ns, a router takes 56 ns, and links take 50 ns. Each flit after the
// first adds 1 ns. On an idle network most routings take a minimal path.
TEST(zero_load_latency_of_every_routing_on_every_topology) {
  for (const Section& topology : small_topologies())
    for (const std::string& name : routings_on(topology.name)) {
      if (name == "external" || name == "agent") continue;
      const Section routing{name, name.starts_with("q_") ? Values{{"epsilon", 0.0}} : Values{}};
      const auto net = network_of(topology);
      const auto hops = hops_from(neighbors_of(*net), net->terminal_router[0]);
      for (const u32 to : {0u, 1u, net->terminals / 2, net->terminals - 1})
        for (const i64 flits : {1, 16}) {
          const Arrival got = lone_packet(topology, routing, 0, to, flits);
          const std::string what = text(topology, routing) + " " + std::to_string(got.ns) + " ns";
          CHECK_FOR(got.ns == 10 + 56 * (got.hops + 1) + 50 * got.hops + static_cast<double>(flits) - 1, what);
          const bool detours =
              std::set<std::string>{"random", "source_paths", "up_down"}.contains(name) || name.starts_with("valiant");
          CHECK_FOR(detours || !got.nonminimal, what);
          // A Dragonfly's minimal path has one global hop. Two global hops by a third group may be fewer hops.
          if (!got.nonminimal && topology.name != "dragonfly") CHECK_EQ(got.hops, hops[net->terminal_router[to]]);
        }
    }
}

TEST(links_and_terminals_lead_back) {
  for (const Section& topology : small_topologies()) {
    const auto net = network_of(topology);
    for (u32 p = 0; p < net->port_count; p++)
      if (net->channels[p].peer != kNone) CHECK_EQ(net->channels[net->channels[p].peer].peer, p);
    for (u32 t = 0; t < net->terminals; t++)
      CHECK_EQ(net->channels[net->nic(t)].peer, net->port(net->terminal_router[t], net->terminal_port[t]));
  }
}

// The closed form of a topology agrees with its links. Dragonflies: see
// closed_forms_of_parallel_links_are_the_shortest.
TEST(closed_forms_agree_with_breadth_first_search) {
  for (const Section& topology : small_topologies()) {
    const auto net = network_of(topology);
    if (net->topology->closed && topology.name != "dragonfly") check_closed_forms(*net);
  }
}

// Parameters that are valid one by one, but not together.
TEST(impossible_topologies_are_refused) {
  using List = std::vector<double>;
  const std::vector<std::pair<Section, std::string>> cases = {
      {dragonfly_section(2, 4, 2, 10), "topology.dragonfly.groups"},
      {dragonfly_section(2, 4, 2, 5, {{"links_per_group_pair", 3}}), "links_per_group_pair"},
      {dragonfly_section(1, 6, 1, 4, {{"rails", 4}}), "topology.dragonfly.rails: 4"},
      {{"fat_tree", {{"children", List{4, 4, 4}}, {"parents", List{1, 4}}}}, "topology.fat_tree.parents"},
      {{"fat_tree", {{"children", List{500, 2}}, {"parents", List{1, 13}}}}, "512"},
      {{"slim_fly", {{"q", 6}}}, "topology.slim_fly.q"},
      {{"random_regular", {{"routers", 6}, {"degree", 6}}}, "topology.random_regular.degree"},
      {hyperx_section({4, 4}, 1, {{"links", List{1, 1, 1}}}), "topology.hyperx.links"},
      {hyperx_section({40, 20}, 8, {{"links", List{9}}}), "512"},
      {{"torus", {{"sizes", List{4, 4}}, {"links", List{1, 1, 1}}}}, "topology.torus.links"},
      {{"torus", {{"sizes", List{4, 4}}, {"links", List{128}}}}, "512"},
      {{"torus", {{"sizes", List{512}}}}, "254"}};
  for (const auto& [topology, part] : cases) CHECK_THROWS(ConfigError, network_of(topology), part);
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
  // Links of 200 us: values in us would exceed 100.
  const Values far = merge(input_queued(), {{"cycle_ns", 100.0},
                                            {"link_latency_ns_host", 1000.0},
                                            {"link_latency_ns_local", 2e5},
                                            {"link_latency_ns_global", 2e5},
                                            {"output_latency_ns", 0.0},
                                            {"link_bandwidth_gb_per_s_host", 1.28},
                                            {"link_bandwidth_gb_per_s_local", 1.28},
                                            {"link_bandwidth_gb_per_s_global", 1.28},
                                            {"crossbar_bandwidth_gb_per_s", 1.28},
                                            {"watchdog_ns", 1e8}});
  for (const Section& topology : small_topologies()) {
    u32 turn = 0;
    for (const std::string& reward : registered_names<RewardSpec>()) {
      const std::string blocks = plain + '+' + learners[turn++ % learners.size()];
      const bool long_links = turn == 2 && topology.name == "dragonfly";
      Simulation sim(scene(topology, {"random", {{"observation", blocks}, {"reward", reward}, {"record", 512}}}, 0.7,
                           long_links ? far : input_queued()));
      sim.run(long_links ? 15000 : 1500);
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

// The scenes of the benchmark. Results of other commits are compared by their names. Builds the small scenes. Building
// a large scene would only take longer.
DEEP_TEST(scenes_of_the_benchmark_build) {
  std::set<std::string> names;
  for (const bench::Scene& scene : bench::scenes()) {
    CHECK_FOR(names.insert(scene.name).second, scene.name);
    CHECK_FOR(scene.cycles > 0, scene.name);
    const Config config = bench::config_of(scene);
    if (wired(config).terminals > 9999) continue;
    const Simulation sim(config);
  }
}

}  // namespace registry_test
