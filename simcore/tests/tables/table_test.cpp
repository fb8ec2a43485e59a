// Forwarding tables: refused tables, the search for cycles, and the agreement of the simulator with the table.
#include "simcore/tables/table.hpp"

#include "simcore/rng.hpp"
#include "support/dependencies.hpp"
#include "support/tables.hpp"
#include "test.hpp"

namespace tables_table_test {

using namespace scenes;

Config play(const Section& topology, std::shared_ptr<const tables::ForwardingTable> table, double load,
            const Values& routing = {}, const Values& router = {}) {
  Config c = config(topology, merge(input_queued(), router), {"table", routing}, {"uniform", {{"load", load}}});
  c.table = std::move(table);
  return c;
}

// Walks every route and stores every dependency in a set: slow and plain.
Edges dependencies(const tables::ChannelGraph& g, const tables::ForwardingTable& table) {
  Edges edges;
  for (u32 t = 0; t < g.terminals; t++)
    for (u32 d = 0; d < table.destinations(); d++) {
      const u32 s = g.terminal_switch[t], layer = table.layer_of(s, t, d);
      u32 in = kNone, lane = 0;
      tables::each_channel(g, table, s, d, [&](u32 c) {
        const u32 out = tables::lane_of(g, table, layer, in, t, c);
        if (in != kNone) edges[channel_class(in, lane)].insert(channel_class(c, out));
        in = c;
        lane = out;
      });
    }
  return edges;
}

// Every dependency leads to a later place.
bool follows(const Edges& edges, const std::vector<u32>& place, u32 lanes) {
  const auto at = [&](u32 node) { return place[std::size_t{node >> 5} * lanes + class_of(node)]; };
  return std::ranges::all_of(edges, [&](const auto& edge) {
    return std::ranges::all_of(edge.second, [&](u32 next) { return at(edge.first) < at(next); });
  });
}

// Shortest routes with random ties and random layers.
tables::ForwardingTable random_table(const tables::ChannelGraph& g, u32 layers, u64 seed, tables::LayerBy by) {
  tables::ForwardingTable table = tables::empty_table(g, "random");
  std::vector<u32> hops;
  u64 n = 0;
  for (u32 t = 0; t < g.terminals; t++) {
    hops = tables::hops_to(g, g.terminal_switch[t]);
    for (u32 s = 0; s < g.switches; s++) {
      std::vector<u32> ways;
      for (u32 c = g.first[s]; c < g.first[s + 1]; c++)
        if (hops[g.to[c]] + 1 == hops[s]) ways.push_back(c);
      if (hops[s] > 0) table.at(s, t) = g.port[ways[below(draw(seed, 1, n++), static_cast<u32>(ways.size()))]];
    }
  }
  table.layers = layers;
  table.layer_by = by;
  table.layer.resize(std::size_t{by == tables::LayerBy::kDestination ? 1
                                 : by == tables::LayerBy::kSwitch    ? g.switches
                                                                     : g.terminals} *
                     g.terminals);
  for (u8& layer : table.layer) layer = static_cast<u8>(below(draw(seed, 2, n++), layers));
  return table;
}

TEST(a_table_with_a_flaw_is_refused_by_name) {
  const tables::ChannelGraph g = graph_of(torus({6}));
  const tables::ForwardingTable good = made(g, "min_hop");
  tables::ForwardingTable bad = good;
  bad.at(2, 4) = tables::kNoPort;
  CHECK_THROWS(ConfigError, check_table(g, bad), "switch 2", "terminal 4");
  bad = good;
  bad.at(2, 4) = 2;  // towards 1
  bad.at(1, 4) = 1;  // towards 2
  CHECK_THROWS(ConfigError, check_table(g, bad), "terminal 4", "1 -> 2 -> 1");
  CHECK_THROWS(ConfigError, check_table(graph_of(torus({7})), good), "another network", "6 switches", "7");
}

TEST(cycles_are_found_where_they_are) {
  u32 with = 0, without = 0;
  for (const Section& topology :
       {torus({5}), torus({4, 3}), hyperx_section({4, 3}, 2), small_network(),
        Section{"random_regular", registry<TopologySpec>().find("random_regular")->second.small}}) {
    const tables::ChannelGraph g = graph_of(topology);
    for (const tables::LayerBy by :
         {tables::LayerBy::kDestination, tables::LayerBy::kSwitch, tables::LayerBy::kTerminal})
      for (const u32 layers : {1u, 2u, 6u, 30u})
        for (u64 seed = 0; seed < 4; seed++) {
          const tables::ForwardingTable table = random_table(g, layers, seed, by);
          tables::check_table(g, table);
          for (const tables::ForwardingTable& same : {table, as_routes(g, table)}) {
            const Edges edges = dependencies(g, same);
            std::vector<u32> place;
            const auto cycle = find_cycle(g, same, &place);
            CHECK_EQ(cycle.empty(), acyclic(edges));
            CHECK(!cycle.empty() || follows(edges, place, same.classes()));
            for (std::size_t k = 0; k < cycle.size(); k++) {
              const tables::LaneChannel &a = cycle[k], &b = cycle[(k + 1) % cycle.size()];
              CHECK(edges.at(channel_class(a.channel, a.lane)).contains(channel_class(b.channel, b.lane)));
            }
            (cycle.empty() ? without : with)++;
          }
        }
  }
  CHECK(with > 40 && without > 40);
}

// Bubble flow control makes a single ring of a torus safe, but not a cycle over several rings.
TEST(rings_count_as_one_with_bubbles) {
  const Section square = torus({4, 4});
  const tables::ChannelGraph g = graph_of(square);
  tables::ForwardingTable x_first = tables::empty_table(g, "x first"), mixed = tables::empty_table(g, "either first");
  for (u32 s = 0; s < 16; s++)
    for (u32 t = 0; t < 16; t++)
      for (tables::ForwardingTable* table : {&x_first, &mixed}) {
        const u32 dx = (t % 4 + 4 - s % 4) % 4, dy = (t / 4 + 4 - s / 4) % 4;
        const bool y_first = table == &mixed && t % 2;
        if (s == t) continue;
        table->at(s, t) = static_cast<u16>(dx && !(y_first && dy) ? 1 + (dx == 3) : 3 + (dy == 3));
      }
  for (tables::ForwardingTable* table : {&x_first, &mixed}) {
    tables::check_table(g, *table);
    table->bubble = false;
    CHECK(!find_cycle(g, *table).empty());
    table->bubble = true;
  }
  CHECK(find_cycle(g, x_first).empty());
  CHECK(!find_cycle(g, mixed).empty());
  Simulation sim(
      play(square, std::make_shared<tables::ForwardingTable>(x_first), 1.0, {}, {{"input_buffer_flits", 2}}));
  CHECK(sim.network().routing_facts.bubble);
  sim.run(20000);
  CHECK(sim.state().part.totals.flits_ejected > 10000);
}

TEST(a_table_that_can_deadlock_is_refused_or_does) {
  const tables::ChannelGraph g = graph_of(torus({6}));
  const auto table = std::make_shared<const tables::ForwardingTable>(made(g, "min_hop"));
  const Values tight = {{"input_buffer_flits", 1}, {"watchdog_ns", 2000.0}};
  CHECK_THROWS(ConfigError, Simulation(play(torus({6}), table, 1.0)), "can deadlock", "0:1->1", "in lane 0",
               "allow_cycles");
  Simulation sim(play(torus({6}), table, 1.0, {{"allow_cycles", true}}, tight));
  CHECK_THROWS(CoreError, sim.run(100000), "deadlock", "waits for");
}

// A table, the same table as complete routes, and the routing with the same rule move the same packets in the same
// cycles.
TEST(the_simulator_plays_the_table) {
  const Section square = mesh({4, 4});
  const tables::ChannelGraph g = graph_of(square);
  tables::ForwardingTable order = tables::empty_table(g, "x first");
  for (u32 s = 0; s < 16; s++)
    for (u32 t = 0; t < 16; t++) {
      const u32 sx = s % 4, tx = t % 4, sy = s / 4, ty = t / 4;
      if (s != t) order.at(s, t) = static_cast<u16>(sx != tx ? (tx > sx ? 1 : 2) : (ty > sy ? 3 : 4));
    }
  const auto hash_of = [](Simulation&& sim) {
    sim.run(3000);
    u64 sum = sim.state().part.totals.flits_ejected;
    for (const auto& p : sim.state().ports) sum = mix64(sum ^ p.flits);
    return sum;
  };
  const u64 wanted =
      hash_of(Simulation(config(square, input_queued(), {"dimension_order", {}}, {"uniform", {{"load", 0.7}}})));
  CHECK_EQ(hash_of(Simulation(play(square, std::make_shared<tables::ForwardingTable>(order), 0.7))), wanted);
  CHECK_EQ(hash_of(Simulation(play(square, std::make_shared<tables::ForwardingTable>(as_routes(g, order)), 0.7))),
           wanted);
}

// Every registered engine on every small topology that it accepts: two runs make the same table, and a table without a
// cycle runs and drains.
TEST(every_engine_makes_tables_that_run) {
  u32 made_so_far = 0;
  for (const auto& [name, topology] : registry<TopologySpec>()) {
    const Section section{name, topology.small};
    const tables::ChannelGraph g = graph_of(section);
    for (const auto& [engine, spec] : registry<tables::EngineSpec>()) {
      if (!spec.topologies.empty() && !std::ranges::count(spec.topologies, name)) continue;
      const std::string what = engine + " on " + name;
      Values budget;  // limits engines that run for a given number of steps
      for (const ParamSpec& p : spec.params)
        if (p.key == "steps") budget[p.key] = i64{500};
      tables::ForwardingTable table;
      try {
        table = made(g, engine, budget);
      } catch (const ConfigError& error) {
        // An engine for one kind of network names itself in the error.
        CHECK_FOR(std::string(error.what()).find(engine) != std::string::npos, what + ": " + error.what());
        continue;
      }
      CHECK_FOR(digest(table) == digest(made(g, engine, budget)), what + ": two tables differ");
      CHECK_FOR(table.engine == engine, what);
      std::vector<u32> place;
      const bool free = find_cycle(g, table, table.bubble ? nullptr : &place).empty();
      CHECK_FOR(table.bubble || free == acyclic(dependencies(g, table)), what);
      CHECK_FOR(table.bubble || !free || follows(dependencies(g, table), place, table.classes()), what);
      if (!free || table.classes() > kMaxVcs) continue;
      Config c = play(section, nullptr, 0.6, merge(budget, {{"engine", engine}}));
      Simulation sim(c);
      CHECK_EQ(sim.network().vcs, table.classes());
      sim.run(400);
      sim.check_conservation();
      sim.stop_sources();
      for (u32 k = 0; k < 20000 && !sim.empty(); k++) sim.run(1);
      CHECK_FOR(sim.empty(), what + " does not drain");
      made_so_far++;
    }
  }
  CHECK(made_so_far > 0);
}

}  // namespace tables_table_test
