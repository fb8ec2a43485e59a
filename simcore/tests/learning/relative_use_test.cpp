// Price of a path: the running mean of a link, the report to the previous router, and the features.
#include "support/seam.hpp"

namespace learning_relative_use_test {

using namespace scenes;

const Values kSeam = {{"observation", "relative+relative_use"}};

float use_of(const Simulation& sim, u32 router, u32 local) {
  const Network& net = sim.network();
  return Kept<float>{find_memory(net, "relative_use_link")}.of(sim.state())[net.port(router, local)];
}

// `flits` packets of a flit from terminal 2 to each destination in turn, on minimal paths.
Simulation flow(const std::vector<u32>& destinations, u32 flits) {
  std::vector<Planned> plan;
  for (u32 k = 0; k < flits; k++) plan.push_back({2, destinations[k % destinations.size()]});
  return Simulation(config(small_network(), merge(hpdc21(), {{"source_backlog", "kept"}}), {"agent", kSeam},
                           planned(std::move(plan))));
}

// hpdc21: a flit takes 20 cycles, on the link of a terminal and on the links of routers alike. A single flow fills its
// path. Router 1 has the local ports 2 to 4.
TEST(link_use_is_the_share_of_time) {
  for (const u32 ways : {1u, 2u}) {
    Simulation sim = flow(ways == 1 ? std::vector<u32>{10} : std::vector<u32>{10, 6}, 500);
    for (u32 cycle = 0; cycle < 9000; cycle++) advance(sim, [](u32) { return 0u; });
    CHECK(!sim.empty());
    const double share = 1.0 / ways;
    // The last update can lie a mean hop (140 cycles) back, and the mean has a memory of three.
    CHECK_NEAR(use_of(sim, 1, 2), share, 0.05);
    CHECK_NEAR(use_of(sim, 1, 4), ways == 2 ? share : 0.0, 0.05);
    CHECK_EQ(use_of(sim, 1, 3), 0.0f);
    // Router 0 has unused links for a detour, so it reports an unused path.
    const LearnedTable table = learned_table(sim.network());
    const u32 row = (1 * 2 + 0) * 2;  // group 1, first terminal of the router, first leg
    CHECK_EQ(table.row(sim.state(), 1, table.rows / 2 + row)[0], 0.0f);
  }
}

TEST(price_and_slack_by_hand) {
  Lone x = lone(small_network(), {"agent", kSeam}, hpdc21());
  float* const use = kept<float>(x.net, x.state, "relative_use_link");
  u32* const last = kept<u32>(x.net, x.state, "relative_use_last");
  for (u32 local = 2; local < 7; local++) last[x.net.port(1, local) * 2] = 10'000;  // the means are up to date
  const LearnedTable table = learned_table(x.net);
  const u32 row = (1 * 2 + 0) * 2;
  struct Case {
    float use, later;
    double waited, slack, busy;  // waited: mean hops since the NIC accepted the packet
  };
  for (const auto& [own, later, waited, slack, busy] : {Case{0.2f, 0.75f, 2, 0.375, 0},
                                                        {0.6f, 0.25f, 1, 0.125, 0},
                                                        {0.6f, 0.25f, 0.75, 0.0625, 0},
                                                        {0.6f, 0.25f, 0.5, 0, 0},
                                                        {0.6f, 0.25f, 0, 0, 0},
                                                        {0.9f, 0.1f, 2, 0, 0.5},
                                                        {0.0f, 0.0f, 2, 1.5, 0},
                                                        {0.4f, 1.5f, 2, 0, 0.5},
                                                        {0.9f, 1.5f, 2, 0, 1}}) {
    const Place at = x.send(2, 10);
    x.batch.now = x.state.part.totals.now = 10'000;
    x.packet().injected = 10'000 - static_cast<Cycle>(std::lround(waited * x.net.seam->hop_scale_ns / x.net.cycle_ns));
    for (u32 local = 3; local < 7; local++) use[x.net.port(1, local)] = 0.95f;
    use[x.net.port(1, 2)] = own;
    table.row(x.state, 1, table.rows / 2 + row)[0] = later;
    table.row(x.state, 1, table.rows / 2 + row)[1] = 0.7f;  // less than the price of the port itself
    table.row(x.state, 1, row)[0] = 100;
    const Shown shown = show(x, at);
    CHECK_NEAR(shown.per_slot[0].at("busy"), busy, 1e-5);
    CHECK_NEAR(shown.per_slot[1].at("busy"), 0.75, 1e-5);
    CHECK_NEAR(shown.general.at("slack"), slack, 0.002);  // the waiting time is a whole number of cycles
    CHECK_NEAR(shown.per_slot[0].at("lost"), 100 / x.net.seam->hop_scale_ns, 1e-6);
  }
}

// A packet of 14 flits needs 280 cycles on a link. It is late from three times this.
TEST(a_long_packet_is_late_after_longer_waits) {
  Lone x = lone(small_network(), {"agent", kSeam}, hpdc21());
  const double hop = x.net.seam->hop_scale_ns / x.net.cycle_ns;  // cycles
  for (const u32 cycles : {800u, 840u, 1260u, 1680u}) {
    const Place at = x.send(2, 10);
    x.packet().flits = 14;
    x.batch.now = x.state.part.totals.now = 10'000;
    x.packet().injected = 10'000 - cycles;
    const double late = std::max(cycles - 840.0, 0.0) / hop;
    CHECK_NEAR(show(x, at).general.at("slack"), late, 1e-5);  // no link is used
  }
}

// A packet with an even number reports lost time, with an odd one the price of the best path.
TEST(packets_report_lost_time_and_price_in_turn) {
  Lone x = lone(small_network(), {"agent", kSeam}, hpdc21());
  const LearnedTable table = learned_table(x.net);
  float* const use = kept<float>(x.net, x.state, "relative_use_link");
  // A packet from terminal 2 to group 1 is at router 0 of group 0, behind router 1. Any link of router 0 could be
  // taken.
  const Place first = x.send(2, 10);
  const auto steps = x.candidates(first);
  const auto back = std::ranges::find_if(steps, [&](const Step& step) { return x.behind(1, step).router == 0; });
  CHECK(back != steps.end());
  for (const u32 sequence : {4u, 5u}) {
    x.send(2, 10, sequence);
    x.packet().hops = 1;
    const u32 row = (1 * 2 + 0) * 2 + 1;  // at router 0 the packet has left its first router
    for (u32 k = 0; k < x.net.link_span; k++) {
      use[x.net.port(0, x.net.first_link[0] + k)] = 0.3f;
      table.row(x.state, 0, row)[k] = 1000;
      table.row(x.state, 0, table.rows / 2 + row)[k] = 0.5f;
    }
    x.state.details[0].reward = 7;
    const Place at = x.behind(1, *back);
    show(x, at);
    const PacketDetail& detail = x.state.details[0];
    const bool odd = sequence & 1;
    CHECK_EQ(detail.row, (1 * 2 + 0) * 2 + (odd ? table.rows / 2 : 0));
    CHECK_EQ(detail.reward, odd ? 0u : 7u);
    if (odd) CHECK_EQ(detail.value, 0.5f);
    else CHECK_NEAR(detail.value, 1000, 1e-3);  // the minimal path is among the candidates
    // A longer queue replaces the learned time. A flit takes 20 cycles.
    for (u32 local = 2; local < 7; local++) x.state.ports[x.net.port(0, local)].queued = 50;
    show(x, at);
    const double queue_ns = 50 * 20 * x.net.cycle_ns;
    CHECK(queue_ns > 1000 * 0.5);
    if (!odd) CHECK_NEAR(detail.value, std::max(queue_ns, 1000.0), 1e-3);
  }
}

// Each report of lost time reduces the other lost times of its row by 0.1 / links, and leaves the prices.
TEST(lost_times_decay_with_reports) {
  Simulation sim = flow({10}, 500);
  const Network& net = sim.network();
  const LearnedTable table = learned_table(net);
  const u32 row = (1 * 2 + 0) * 2;
  for (const u32 first : {row, row + 2, table.rows / 2 + row})
    for (u32 k = 1; k < net.link_span; k++) table.row(sim.state(), 1, first)[k] = 1000;
  for (u32 cycle = 0; cycle < 9000; cycle++) advance(sim, [](u32) { return 0u; });
  const double left = std::log(table.row(sim.state(), 1, row)[1] / 1000) / std::log(1 - 0.1 / net.link_span);
  CHECK_NEAR(left, std::round(left), 0.02);  // a whole number of reports
  CHECK(left > 200 && left < 250);           // every second packet of some 450
  CHECK_EQ(table.row(sim.state(), 1, row + 2)[1], 1000.0f);
  CHECK_EQ(table.row(sim.state(), 1, table.rows / 2 + row)[1], 1000.0f);
}

// A ring of two-way links without detours: the second router reports the price of its full link, which is 2, and the
// first router learns it.
TEST(the_price_of_later_links_is_learned) {
  std::vector<Planned> plan(600, {0, 2});
  Simulation sim(config(torus({6}), merge(hpdc21(), {{"source_backlog", "kept"}}),
                        {"agent", merge(kSeam, {{"relation", "minimal"}})}, planned(std::move(plan))));
  const Network& net = sim.network();
  for (u32 cycle = 0; cycle < 11000; cycle++) advance(sim, [](u32) { return 0u; });
  CHECK(!sim.empty());
  const LearnedTable table = learned_table(net);
  const u32 row = net.seam->region[2] * 2;
  const float* const use = Kept<float>{find_memory(net, "relative_use_link")}.of(sim.state());
  u32 used = 0;
  for (u32 k = 0; k < net.link_span; k++) {
    const u32 port = net.port(0, net.first_link[0] + k);
    if (net.is_link(port) && use[port] > 0.5f) {
      CHECK_NEAR(use[port], 1, 0.05);
      CHECK_NEAR(table.row(sim.state(), 0, table.rows / 2 + row)[k], 2, 0.25);
      used++;
    }
  }
  CHECK_EQ(used, 1u);
}

// A window resets the counters of flits. The running means of the utilisation must not notice it.
TEST(windows_do_not_change_the_use_of_links) {
  std::vector<float> first;
  for (const bool windows : {false, true}) {
    Simulation sim = flow({10, 6}, 500);
    for (u32 cycle = 0; cycle < 9000; cycle++) {
      if (windows && cycle % 130 == 0) sim.begin_window();
      if (windows && cycle % 260 == 90) sim.end_window();
      advance(sim, [](u32) { return 0u; });
    }
    const float* const use = Kept<float>{find_memory(sim.network(), "relative_use_link")}.of(sim.state());
    const std::vector<float> now(use, use + sim.network().router_ports);
    CHECK(*std::ranges::max_element(now) > 0.4f);
    if (windows) CHECK(now == first);
    first = now;
  }
}

}  // namespace learning_relative_use_test
