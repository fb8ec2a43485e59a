// The example files of docs/extending are compiled into these tests, so the tests of the registry find their
// components. The cases here check the purpose of each example against numbers worked out by hand, and the errors that
// the pages show.
#include "simcore/learning.hpp"
#include "simcore/topology/dragonfly.hpp"
#include "simcore/workload.hpp"
#include "support/crafted.hpp"
#include "support/tables.hpp"

namespace examples_test {

using namespace scenes;

Section cycles(i64 dimensions) { return {"cube_connected_cycles", {{"dimensions", dimensions}}}; }
std::shared_ptr<const Network> uniform_network(const Section& topology, const Section& routing) {
  return build(config(topology, input_queued(), routing, {"uniform", {}}));
}

// Preparata & Vuillemin: d 2^d routers with three links each. The diameter is 2d + floor(d/2) - 2 for d >= 4, and 6 for
// d = 3. d = 2 is a ring of eight.
TEST(example_cube_connected_cycles_have_the_published_diameter) {
  for (const u32 d : {2u, 3u, 4u, 5u, 6u, 7u}) {
    const auto net = uniform_network(cycles(d), {"minimal", {}});
    CHECK_EQ(net->routers, d << d);
    CHECK_EQ(net->groups, 1u << d);
    u32 links[2] = {};
    for (u32 p = 0; p < net->router_ports; p++)
      if (net->is_link(p)) links[net->channels[p].kind == PortKind::kGlobal]++;
    CHECK_EQ(links[0], 2 * net->routers);
    CHECK_EQ(links[1], net->routers);
    CHECK_EQ(net->graphs[0]->diameter, d < 4 ? 2 * d : 2 * d + d / 2 - 2);
  }
}

// One of n minimal ports is full. A packet takes it if both draws name it, with probability 1 / n^2.
TEST(example_two_choices_take_the_full_port_once_in_n_squared) {
  for (const u32 n : {2u, 3u, 4u}) {
    Lone x(uniform_network(hyperx_section(std::vector<double>(n, 2.0), 1), {"two_choices", {}}));
    const u32 across = (1u << n) - 1, full = 1;  // the opposite corner of a hypercube: all n links lead closer
    congest(x, 0, full, 0, 0, 7);
    const double packets = 20000;
    double taken = 0;
    for (u32 k = 0; k < packets; k++) taken += x.ask(x.send(0, across, k)).port == full;
    const double part = 1.0 / (n * n);
    CHECK_NEAR(taken / packets, part, 4 * std::sqrt(part * (1 - part) / packets));
  }
  CHECK_THROWS(ConfigError, uniform_network(small_network(), {"two_choices", {{"congestion", "output_queue"}}}),
               "routing.two_choices.congestion: output_queue is always 0");
}

// Groups have a routers. Where a packet enters a group and continues by a local link, the candidates are all a - 1
// local ports. Elsewhere it is only the minimal port.
TEST(example_local_detours_offer_the_local_ports_where_a_group_is_entered) {
  Lone x(uniform_network(small_network(), {"external", {{"relation", "local_detours"}}}));
  const Dragonfly& df = as_dragonfly(x.net);
  u32 all = 0, one = 0;
  for (u32 source = 0; source < x.net.terminals; source += df.p)
    for (u32 to = 0; to < x.net.routers; to++) {
      Place at = x.send(source, to * df.p);
      for (u32 hops = 0; at.router != to; hops++) {
        x.packet().hops = static_cast<u8>(hops);
        const u32 minimal = df.own_minimal_port(x.net, at.router, x.packet());
        const bool entered = x.net.channels[x.net.port(at.router, at.in_port)].kind != PortKind::kLocal;
        const auto steps = x.candidates(at);
        CHECK_EQ(steps[0].port, minimal);
        CHECK_EQ(steps.size(), entered && !df.is_global(minimal) ? df.a - 1 : 1);
        (steps.size() > 1 ? all : one)++;
        const Step last = steps.back();  // a detour if the router offers one
        CHECK(last.vc_class == hops);
        at = x.behind(at.router, last);
        CHECK(hops < 5);
      }
    }
  CHECK(all > 1000 && one > 1000);
  CHECK_THROWS(ConfigError, uniform_network(hyperx_section({4, 4}, 1), {"external", {{"relation", "local_detours"}}}),
               "routing.external.relation: unknown value 'local_detours'", "on topology 'hyperx' there are");
}

// Of N terminals S are servers. A server receives f N / S + 1 - f of the mean, another terminal 1 - f.
TEST(example_storage_sends_its_part_to_the_servers) {
  const auto pattern = [](double fraction, double load) {
    return Section{"storage", {{"fraction", fraction}, {"group", 3}, {"load", load}}};
  };
  Simulation sim(config(small_network(), input_queued(), {"minimal", {}}, pattern(0.1, 0.25)));
  sim.run(2000);
  sim.begin_window();
  sim.run(20000);
  sim.end_window();
  double servers = 0, others = 0;
  for (u32 t = 0; t < 72; t++) {
    const u32 port = sim.network().port(sim.network().terminal_router[t], sim.network().terminal_port[t]);
    (t / 8 == 3 ? servers : others) += static_cast<double>(sim.state().ports[port].window_flits);
  }
  const double mean = 20000 * 0.25;
  CHECK_NEAR(servers / 8, mean * (0.1 * 72 / 8 + 0.9), 0.02 * mean);
  CHECK_NEAR(others / 64, mean * 0.9, 0.02 * mean);
  CHECK_THROWS(ConfigError,
               build(config(small_network(), input_queued(), {"minimal", {}}, {"storage", {{"group", 9}}})),
               "traffic.storage.group: 9 is not a group of topology 'dragonfly'; valid groups: 0 .. 8");
}

// Without message costs each iteration takes 2 (m + s - 1) computations in sequence, as in the paper.
TEST(example_pipeline_takes_the_time_of_its_bubble) {
  for (const i64 stages : {1, 2, 5, 8})
    for (const i64 micro_batches : {1, 4, 9}) {
      Config c = config(small_network(), sc22(), {"minimal", {}}, {"", {}});
      c.workload.values = {{"host", "loggops"},   {"network", "none"},   {"loggops_L_ns", 0.0},
                           {"loggops_o_ns", 0.0}, {"loggops_g_ns", 0.0}, {"loggops_G_ns_per_byte", 0.0}};
      c.workload.jobs = {
          {"training",
           {"pipeline", {{"ranks", stages}, {"micro_batches", micro_batches}, {"iterations", 3}, {"compute_ns", 700}}},
           nullptr,
           {}}};
      Simulation sim(c);
      CHECK(sim.run_workload(1u << 30));
      CHECK_EQ(job_sums(sim.state())[0].finished / 1000, u64(3 * 2 * (micro_batches + stages - 1) * 700));
      CHECK_EQ(job_sums(sim.state())[0].messages_received, u64(3 * 2 * micro_batches * (stages - 1)));
    }
}

// The load jumps from 0 to 12 flits and stays. When the agent looks again after a time t, the mean is 12 t / (t + 1000
// ns). The rise is the difference to 12.
TEST(example_trend_sees_a_queue_that_grows) {
  const Config c = config(small_network(), merge(input_queued(), {{"input_buffer_flits", 48}}),
                          {"random", {{"observation", "trend"}}}, {"uniform", {}});
  for (const Cycle wait : {0u, 1000u, 3000u}) {
    Lone x(build(c));
    const Place at = x.send(0, 70);
    for (const Step& step : x.candidates(at)) congest(x, at.router, step.port, 0, 0, 12);
    x.request(0, at);
    x.batch.now = x.state.part.totals.now = wait;
    make_decisions(x.net, x.state, x.batch);
    CHECK(x.batch.decisions.count == 1 && x.batch.decisions.slot_count[0] > 1);
    for (u32 k = 0; k < x.batch.decisions.slot_count[0]; k++) {
      const double mean = 12.0 / 48 * wait / (wait + 1000);
      CHECK_NEAR(x.batch.decisions.observation[2 * k], mean, 1e-6);
      CHECK_NEAR(x.batch.decisions.observation[2 * k + 1], 12.0 / 48 - mean, 1e-6);
    }
  }
}

// A higher toll changes a reward by the toll times the hops. In the same run, each difference is a whole number of
// hops, from 1 to the longest path.
TEST(example_delay_and_hops_charges_for_every_hop) {
  const auto run = [](double toll) {
    Simulation sim(config(small_network(), input_queued(),
                          {"random", {{"reward", "delay_and_hops"}, {"toll", toll}, {"record", 4096}}},
                          {"uniform", {{"load", 0.2}}}));
    sim.run(1500);
    const u64 rows = std::min<u64>(sim.state().part.learning.transitions, 4096);
    return std::vector<float>(sim.state().ring_reward.begin(),
                              sim.state().ring_reward.begin() + static_cast<std::ptrdiff_t>(rows));
  };
  const auto free = run(0), dear = run(2);
  CHECK(free.size() > 1000 && free.size() == dear.size());
  std::vector<u32> seen(6, 0);
  for (std::size_t k = 0; k < free.size(); k++) {
    const double hops = (free[k] - dear[k]) / 2;
    CHECK_NEAR(hops, std::round(hops), 1e-3);
    CHECK(free[k] < 0 && hops > 0.5 && hops < 5.5);
    seen[static_cast<u32>(std::lround(hops))]++;
  }
  for (u32 hops = 1; hops <= 5; hops++) CHECK_FOR(seen[hops] > 0, std::to_string(hops));
}

// Two leaves under n spines with one terminal on each side. A hash puts a destination on each spine with probability 1
// / n.
TEST(example_hashed_tables_are_minimal_and_spread_like_balls_in_bins) {
  const tables::ChannelGraph g = graph_of(tree({32, 4}, {1, 8}));
  u32 most = 0, least = ~0u;
  for (const i64 seed : {1, 2, 3}) {
    const tables::ForwardingTable table = made(g, "hashed", {{"hash_seed", seed}});
    CHECK(tables::route_lengths(g, table).minimal);
    std::vector<u32> up(g.ports, 0);
    for (u32 t = 32; t < g.terminals; t++) up[table.at(g.terminal_switch[0], t)]++;
    const u32 spines = static_cast<u32>(std::ranges::count_if(up, [](u32 n) { return n > 0; }));
    CHECK_EQ(spines, 8u);
    for (const u32 n : up)
      if (n > 0) most = std::max(most, n), least = std::min(least, n);
  }
  CHECK(least < 12 && most > 12);  // an even distribution gives 12 of the 96 destinations to each
}

}  // namespace examples_test
