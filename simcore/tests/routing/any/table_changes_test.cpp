// Forwarding tables around links that fail during the run: the table of each state of the links, freedom from deadlock
// in each state, and delivery.
#include "simcore/simulation.hpp"
#include "simcore/tables/walk.hpp"
#include "support/crafted.hpp"
#include "support/dependencies.hpp"
#include "support/failing.hpp"
#include "support/fat_tree.hpp"
#include "support/tables.hpp"

namespace routing_any_table_changes_test {

using namespace scenes;

Section torus(const std::vector<double>& sizes) { return {"torus", {{"sizes", sizes}}}; }
Section table(const std::string& engine, const Values& more = {}) {
  return {"table", merge({{"engine", engine}}, more)};
}
Section tree() { return k_ary_tree(3, 3).section(); }

struct Case {
  Section topology, routing;
  std::string events = "";
  Values failures(u32 count) const {
    return events.empty() ? many_failures(topology, count) : Values{{"events", events}};
  }
  std::string name() const { return topology.name + " " + to_string(routing.values.at("engine")); }
};

// Layers by destination, by switch and by terminal, lanes, and several addresses per terminal.
std::vector<Case> cases() {
  return {{small_network(), table("dfsssp")},
          {small_network(), table("nue", {{"layers", i64{2}}})},
          {hyperx_section({4, 4}, 2), table("parx")},
          {tree(), table("ftree")},
          {tree(), table("up_down")},
          {torus({4, 4}), table("lash")},
          {torus({5, 5}), table("torus_2qos"), "0-1@200-500/400*3, 7-12@250-600"},  // needs a path within each ring
          {torus({5, 5}), table("dfsssp")}};
}

// The links that are down in an epoch, for `failures.links`.
Values missing(const Network& net, u32 epoch) {
  std::string links;
  const auto& down = net.graphs[epoch]->down;
  for (u32 p = 0; p < down.size(); p++)
    if (down[p] && net.channels[p].peer > p)
      links +=
          (links.empty() ? "" : ", ") + std::to_string(net.router_of_port(p)) + ":" + std::to_string(net.local_port(p));
  return links.empty() ? Values{} : Values{{"links", links}};
}

// In every epoch, a new packet follows the table that the engine makes for a network without the failed links.
TEST(packets_follow_the_table_of_the_present_links) {
  for (const Case& c : cases()) {
    if (c.routing.values.at("engine") == Value{std::string("parx")}) continue;  // draws an address per packet
    const auto net = build(failing(c.topology, c.failures(6), c.routing));
    Lone x(net);
    u32 most = 0, longest = 0;
    for (u32 epoch = 0; epoch < net->graphs.size(); epoch++) {
      x.state.part.totals.epoch = epoch;
      const tables::ChannelGraph g = graph_of(c.topology, missing(*net, epoch));
      Values own = c.routing.values;
      own.erase("engine");
      const tables::ForwardingTable wanted = made(g, to_string(c.routing.values.at("engine")), own);
      most = std::max(most, wanted.classes());
      for (u32 from = 0; from < net->terminals; from++)
        for (u32 to = 0; to < net->terminals; to++) {
          const u32 source = net->terminal_router[from], layer = wanted.layer_of(source, from, to);
          std::vector<Step> route, walked;
          u32 in = kNone;
          tables::each_channel(g, wanted, source, to, [&](u32 k) {
            route.push_back({g.port[k], tables::lane_of(g, wanted, layer, in, from, k)});
            in = k;
          });
          x.walk(from, to, 0, [&](u32, const Step& step) { walked.push_back(step); });
          CHECK_FOR(walked == route, c.name());
          longest = std::max<u32>(longest, static_cast<u32>(route.size()));
        }
    }
    CHECK_EQ(net->routing_facts.classes, most + 1);
    CHECK(net->routing_facts.max_hops > longest);
  }
}

// Heads at every router, from every neighbour, in every class and to every terminal, whether a packet can come there or
// not. In each epoch their dependencies have no cycle. The tables of all epochs together have one, so heads must be
// routed again at each change.
DEEP_TEST(tables_that_change_are_free_of_deadlock) {
  u32 cycles_of_all = 0;
  u64 kept = 0, escapes = 0;
  for (const Case& c : cases()) {
    const auto net = build(failing(c.topology, c.failures(8), c.routing));
    const u32 last = net->routing_facts.classes - 1;
    const bool lanes = c.routing.values.at("engine") == Value{std::string("torus_2qos")};
    Lone x(net);
    Edges all;
    for (u32 epoch = 0; epoch < net->graphs.size(); epoch++) {
      x.state.part.totals.epoch = epoch;
      Edges edges;
      for (u32 to = 0; to < net->terminals; to++) {
        std::vector<Place> escaped;
        std::set<std::pair<u32, u32>> seen;
        const auto request = [&](u32 from, const Place& at, u32 hops) {
          if (at.router == net->terminal_router[to]) return;
          x.send(from, to);
          x.packet().hops = static_cast<u8>(hops);
          const Step step = x.ask(at);
          const Place next = x.behind(at.router, step);
          CHECK(net->graphs[epoch]->usable(net->port(at.router, step.port)));
          for (Edges* set : {&edges, &all})
            add(*set, *net, at.router, at.in_port, at.in_class, step.port, step.vc_class);
          CHECK(step.vc_class == last || (at.in_class != last && hops == 1));
          if (step.vc_class == last && seen.insert({next.router, next.in_port}).second) escaped.push_back(next);
          if (at.in_class != last) (step.vc_class == last ? escapes : kept)++;
        };
        for (u32 port = 0; port < net->router_ports; port++)
          for (u32 vc_class = 0; net->is_link(port) && vc_class < last; vc_class++) {
            const Place at{net->router_of_port(port), net->local_port(port), vc_class};
            for (u32 from = 0; from < (lanes ? net->terminals : 1); from++) request(from, at, 1);
            request(0, at, net->routing_facts.max_hops - 1);
          }
        for (std::size_t k = 0; k < escaped.size(); k++) request(0, Place(escaped[k]), 2);
      }
      CHECK_FOR(acyclic(edges), c.name());
    }
    cycles_of_all += !acyclic(all);
  }
  CHECK(cycles_of_all > 0 && kept > 0 && escapes > 0);
}

// After a change, no head still waits for the hop of an earlier table.
TEST(heads_that_wait_are_routed_again_when_the_table_changes) {
  const Values flits = merge(input_queued(), {{"input_buffer_flits", i64{8}}});
  for (const Values& router :
       {flits, merge(flits, {{"vc_allocation", std::string("before_switch")}}), packet_crossbar(sc22())}) {
    Config c = failing(torus({5, 5}), many_failures(torus({5, 5}), 12), table("dfsssp"), 0.9);
    c.router.values = router;
    Simulation sim(c);
    const Network& net = sim.network();
    Lone x(build(c));
    u32 waiting = 0, moved = 0;
    for (u32 epoch = 1; epoch < net.graphs.size(); epoch++) {
      sim.run(net.graphs[epoch]->from - sim.state().part.totals.now);
      const std::vector<InputVc> before(sim.state().input_vcs.begin(), sim.state().input_vcs.end());
      sim.run(1);
      x.state.part.totals.epoch = epoch;
      for (u32 v = 0; v < before.size(); v++) {
        const InputVc& in = sim.state().input_vcs[v];
        if (!in.routed() || in.sent > 0 || in.front == kNone) continue;
        const u32 port = net.port_of_vc(v), at_router = net.router_of_port(port);
        x.packet() = sim.state().packets[packet_of(in.front)];
        const Step now = x.ask({at_router, net.local_port(port), net.vc_of(v)});
        if (x.ejects(at_router, now)) continue;
        waiting++;
        CHECK_EQ(u32{in.out_port}, now.port);
        CHECK_EQ(u32{in.out_vc} % net.routing_facts.classes, now.vc_class);
        moved += before[v].front == in.front && before[v].routed() &&
                 (before[v].out_port != in.out_port || before[v].out_vc != in.out_vc);
      }
    }
    CHECK(waiting > 100 && moved > 0);
  }
}

TEST(vc_classes_of_a_table_do_not_grow_with_the_number_of_changes) {
  for (const Section& topology : {small_network(), tree()})
    for (const u32 count : {1u, 12u, 60u})
      CHECK_EQ(build(failing(topology, many_failures(topology, count), table("up_down")))->vcs, 2u);
  CHECK_EQ(build(failing(tree(), {}, table("up_down")))->vcs, 1u);
  const auto net = build(failing(tree(), {{"events", std::string("0.1@200-300/200*300")}}, table("up_down")));
  CHECK_EQ(net->graphs.size(), 601u);
  CHECK_EQ(net->vcs, 2u);
}

// Every packet arrives while links fail all the time. Two runs are equal.
TEST(tables_deliver_while_links_fail) {
  u64 escaped = 0;
  for (const Case& c : cases()) {
    const Config config = failing(c.topology, c.failures(20), c.routing, 0.6);
    Simulation sim(config), again(config);
    const Network& net = sim.network();
    for (u32 k = 0; k < 800; k++) {
      sim.run(1);
      if (k % 32 == 0) sim.check_conservation();
      for (u32 p = 0; p < net.router_ports; p++)
        if (net.is_link(p)) escaped += sim.state().input_vcs[net.vc_id(p, net.vcs - 1)].count;
    }
    again.run(800);
    CHECK_FOR(again.hash() == sim.hash(), c.name() + ": two runs differ");
    CHECK_FOR(sim.drain(20000), c.name());
    CHECK_EQ(sim.state().part.totals.flits_accepted, sim.state().part.totals.flits_ejected);
    CHECK(sim.state().part.totals.flits_ejected > 1000);
  }
  CHECK(escaped > 0);
}

// With allow_cycles, packets follow the present table.
TEST(tables_with_cycles_follow_failures_if_allowed) {
  const Values events = {{"events", std::string("0-1@300-500/400*3")}};
  CHECK_THROWS(ConfigError, build(failing(torus({6}), events, table("min_hop"))), "can deadlock");
  Simulation sim(failing(torus({6}), events, table("min_hop", {{"allow_cycles", true}}), 0.1));
  sim.run(2000);
  CHECK(sim.drain(20000));
  CHECK_EQ(sim.state().part.totals.flits_accepted, sim.state().part.totals.flits_ejected);
}

}  // namespace routing_any_table_changes_test
