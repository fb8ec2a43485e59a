// Up*/down* around links that fail. All failures together cause no cycle of dependencies, and two VC classes serve any
// number of failures. Paths are the shortest legal ones, and no packet is lost.
#include "simcore/graph.hpp"
#include "simcore/simulation.hpp"
#include "simcore/topology/fat_tree.hpp"
#include "support/crafted.hpp"
#include "support/dependencies.hpp"
#include "support/failing.hpp"
#include "support/fat_tree.hpp"

namespace routing_graph_up_down_test {

using namespace scenes;

Config scene(const Section& topology, const Values& failures, const Section& routing = {"up_down", {}}) {
  return failing(topology, failures, routing);
}

const std::vector<Section> kNetworks = {small_network(),
                                        hyperx_section({4, 3}, 2),
                                        k_ary_tree(3, 3).section(),
                                        {"torus", {{"sizes", std::vector<double>{4, 4}}}}};

// The heads of class 0: at every router, from every neighbour and terminal, in any of the graphs, whether a packet can
// come there or not. And the heads of class 1 that follow from these.
TEST(up_down_under_failures_is_free_of_deadlock) {
  bool one_class_has_a_cycle = false;
  for (const Section& topology : kNetworks) {
    const auto net = build(scene(topology, many_failures(topology, 16)));
    CHECK_EQ(net->routing_facts.classes, 2u);
    CHECK(net->graphs.size() > 16);
    std::vector<u8> fails(net->router_ports, 0);
    for (const auto& g : net->graphs)
      for (u32 p = 0; p < g->down.size(); p++) fails[p] |= g->down[p];
    Lone x(net);
    Edges edges, merged;
    u64 escapes = 0;
    for (u32 to = 0; to < net->terminals; to++) {
      std::vector<Place> escaped;
      std::set<std::pair<u32, u32>> seen;
      const auto request = [&](const Place& at) {
        if (at.router == net->terminal_router[to]) return;
        x.send(to, to);
        const auto steps = x.candidates(at);
        CHECK_FOR(!steps.empty(), topology.name);
        for (const Step& step : steps) {
          const u32 output = net->port(at.router, step.port);
          CHECK(net->is_link(output) && net->graphs[x.state.part.totals.epoch]->usable(output));
          CHECK(step.vc_class >= at.in_class);
          add(edges, *net, at.router, at.in_port, at.in_class, step.port, step.vc_class);
          add(merged, *net, at.router, at.in_port, 0, step.port, 0);
          if (step.vc_class == 0) continue;
          CHECK(!fails[output]);
          escapes += at.in_class == 0;
          const Place next = x.behind(at.router, step);
          if (seen.insert({next.router, next.in_port}).second) escaped.push_back(next);
        }
      };
      for (u32 epoch = 0; epoch < net->graphs.size(); epoch++) {
        x.state.part.totals.epoch = epoch;
        for (u32 port = 0; port < net->router_ports; port++)
          if (net->channels[port].peer != kNone) request({net->router_of_port(port), net->local_port(port), 0});
      }
      for (std::size_t k = 0; k < escaped.size(); k++) request(Place(escaped[k]));
    }
    CHECK_FOR(acyclic(edges), topology.name);
    CHECK_FOR(escapes > 0, topology.name);
    one_class_has_a_cycle |= !acyclic(merged);
  }
  CHECK(one_class_has_a_cycle);  // without the second class the routing would deadlock
}

TEST(up_down_needs_two_classes_for_any_number_of_failures) {
  for (const Section& topology : kNetworks) {
    CHECK_EQ(build(scene(topology, {}))->vcs, 1u);
    CHECK_EQ(build(scene(topology, many_failures(topology, 1)))->vcs, 2u);
    CHECK_EQ(build(scene(topology, many_failures(topology, 60)))->vcs, 2u);
  }
  // A class per hop needs another diameter after each failure.
  CHECK_THROWS(ConfigError, build(scene(small_network(), many_failures(small_network(), 60), {"minimal", {}})),
               "at most 32");
}

// Every packet arrives while links fail all the time, and some packets escape.
TEST(up_down_delivers_while_links_fail) {
  for (const Section& topology : kNetworks) {
    Simulation sim(scene(topology, many_failures(topology, 60)));
    const Network& net = sim.network();
    u64 escaped = 0;
    for (u32 k = 0; k < 1700; k++) {
      sim.run(1);
      if (k % 32 == 0) sim.check_conservation();
      for (u32 p = 0; p < net.router_ports; p++)
        if (net.is_link(p)) escaped += sim.state().input_vcs[net.vc_id(p, 1)].count;
    }
    CHECK_FOR(escaped > 0, topology.name);
    CHECK_FOR(sim.drain(20000), topology.name);
    CHECK_EQ(sim.state().part.totals.flits_accepted, sim.state().part.totals.flits_ejected);
    CHECK(sim.state().part.totals.flits_ejected > 1000);
  }
}

// Hops by another search: over pairs of a router and whether the packet has gone down, with the tree's levels.
TEST(up_down_takes_the_shortest_legal_paths_of_a_damaged_tree) {
  for (const i64 seed : {1, 2, 3}) {
    const auto net = build(scene(k_ary_tree(3, 3).section(), {{"links", i64{5}}, {"seed", seed}}));
    const auto& tree = dynamic_cast<const FatTree&>(*net->topology);
    Lone x(net);
    u32 detours = 0;
    for (u32 from = 0; from < net->terminals; from++) {
      std::vector<std::array<u32, 2>> hops(net->routers, {kNone, kNone});
      std::vector<std::pair<u32, u32>> queue = {{net->terminal_router[from], 0}};
      hops[net->terminal_router[from]][0] = 0;
      for (std::size_t head = 0; head < queue.size(); head++) {
        const auto [router, went_down] = queue[head];
        each_link(*net, *net->graphs[0], router, [&](u32 k) {
          const u32 next = net->next_router(net->port(router, k));
          const bool down = tree.level[next] < tree.level[router];
          if ((went_down && !down) || hops[next][down] != kNone) return;
          hops[next][down] = hops[router][went_down] + 1;
          queue.push_back({next, down});
        });
      }
      for (u32 to = 0; to < net->terminals; to++) {
        const u32 r = net->terminal_router[to], legal = std::min(hops[r][0], hops[r][1]);
        const u32 walked = x.walk(from, to, from + to, [](u32, const Step&) {});
        if (legal != kNone) CHECK_EQ(walked, legal);
        else detours++;
      }
    }
    CHECK_EQ(net->routing_facts.classes, detours > 0 ? 2u : 1u);
  }
}

}  // namespace routing_graph_up_down_test
