// Features and rewards in the network's own unit of time. A network that is twice as slow in all its parts looks the
// same, an idle network loses no time, and a toll applies only to time lost in queues. Also the slots by estimate.
#include <set>

#include "simcore/graph.hpp"
#include "support/seam.hpp"

namespace learning_relative_test {

using namespace scenes;

Values relative_seam(const Values& more = {}) {
  return merge({{"observation", "relative+relative_lost"}, {"reward", "relative_delay"}, {"record", 4096}}, more);
}

// The router with all times doubled.
Values slower(const Values& router) {
  Values out = router;
  for (auto& [key, value] : out)
    if (double* const number = std::get_if<double>(&value)) {
      if (key.find("_ns") != std::string::npos) *number *= 2;
      if (key.find("bandwidth") != std::string::npos) *number /= 2;
    }
  return out;
}

// The rows of a run with random slots, and all rewards.
struct Seen {
  std::vector<float> rows, rewards;
  double scale_ns = 0;
};
Seen watch(const Config& config, u32 cycles) {
  Simulation sim(config);
  const Seam& seam = *sim.network().seam;
  Seen seen;
  seen.scale_ns = static_cast<double>(seam.hop_scale_ns);
  for (u32 cycle = 0; cycle < cycles; cycle++)
    advance(sim, [&](u32 j) {
      const float* const row = sim.batch().decisions.observation.data() + std::size_t{j} * seam.width;
      seen.rows.insert(seen.rows.end(), row, row + seam.width);
      return any_slot(sim, sim.batch(), j);
    });
  const State& s = sim.state();
  const u64 kept = std::min<u64>(s.part.learning.transitions, seam.capacity);
  seen.rewards.assign(s.ring_reward.begin(), s.ring_reward.begin() + static_cast<std::ptrdiff_t>(kept));
  return seen;
}

TEST(a_network_twice_as_slow_looks_the_same) {
  for (const Values& router : {hpdc21(), input_queued(), sc22()}) {
    const Seen one = watch(seam_on_dragonfly({"agent", relative_seam()}, router, 0.6), 1500);
    const Seen two = watch(seam_on_dragonfly({"agent", relative_seam()}, slower(router), 0.6), 1500);
    CHECK_NEAR(two.scale_ns, 2 * one.scale_ns, 1e-3);
    CHECK(one.rows.size() > 10000 && one.rows.size() == two.rows.size() && one.rewards.size() == two.rewards.size());
    for (std::size_t k = 0; k < one.rows.size(); k++)
      CHECK_NEAR(one.rows[k], two.rows[k], 1e-4 * std::max(1.0f, std::abs(one.rows[k])));
    for (std::size_t k = 0; k < one.rewards.size(); k++)
      CHECK_NEAR(one.rewards[k], two.rewards[k], 1e-4 * std::max(1.0f, std::abs(one.rewards[k])));
  }
}

// hpdc21: a flit takes 32 ns. A local hop takes 20 + 1 + 31 = 52 cycles of 1.6 ns, a global hop 20 + 1 + 200 = 221.
TEST(relative_features_by_hand) {
  Lone x = lone(small_network(), {"agent", relative_seam()}, hpdc21());
  const Seam& seam = *x.net.seam;
  const double local = 52 * 1.6, global = 221 * 1.6, flit = 32, mean = (3 * local + 2 * global) / 5 + flit;
  CHECK_NEAR(seam.hop_scale_ns, mean, 1e-3);
  // Router 1 to group 1 by port 2, which is local. Ports 3 and 4 are local, 5 and 6 global.
  const Place at = x.send(2, 10);
  x.state.ports[x.net.port(1, 3)].queued = 5;
  x.state.ports[x.net.port(1, 3)].load = 12;
  x.net.feedback.row(x.state, 1, 2)[2] = 250;  // router 1, group 1, where the packet enters; third column: port 4
  const Shown shown = show(x, at);
  CHECK_EQ(shown.count, 5u);
  CHECK_NEAR(shown.general.at("hops_left"), 3 / 8.0, 1e-6);
  CHECK_NEAR(shown.general.at("time_left"), (2 * local + global) / mean, 1e-5);
  CHECK_NEAR(shown.general.at("packet_time"), flit / mean, 1e-6);
  CHECK_NEAR(shown.general.at("backlog"), 12 * flit / 5 / mean, 1e-5);
  CHECK_NEAR(shown.per_slot[1].at("queued"), 5 * flit / mean, 1e-5);
  CHECK_NEAR(shown.per_slot[1].at("uncredited"), 7 * flit / mean, 1e-5);
  CHECK_EQ(shown.per_slot[0].at("queued"), 0.0f);
  CHECK_EQ(shown.per_slot[0].at("more_time"), 0.0f);
  CHECK_NEAR(shown.per_slot[3].at("hop_time"), global / mean, 1e-5);
  CHECK_NEAR(shown.per_slot[2].at("lost"), 250 / mean, 1e-5);
}

// One row per group and leg. If senders are distinguished, also per place of the sender on its router.
TEST(time_lost_is_distinguished_by_leg_and_sender) {
  for (const bool by_source : {false, true}) {
    const Values seam = relative_seam(
        {{"observation", std::string(by_source ? "relative+relative_lost_by_source" : "relative+relative_lost")}});
    Lone x = lone(small_network(), {"agent", seam}, hpdc21());
    const double mean = x.net.seam->hop_scale_ns;
    const u32 places = by_source ? 2 : 1, rows = x.net.memories[x.net.table].rows;
    CHECK_EQ(rows, x.net.topology->regions(x.net) * places * 2);
    for (u32 row = 0; row < rows; row++) x.net.feedback.row(x.state, 1, row)[0] = 10.0f * static_cast<float>(row);
    for (const u32 source : {2u, 3u})
      for (const u8 hops : {u8{0}, u8{1}, u8{2}}) {
        const Place at = x.send(source, 10);
        x.packet().hops = hops;
        const u32 row = (1 * places + (source - 2) % places) * 2 + (hops > 0);
        const Shown shown = show(x, at);
        CHECK(shown.count > 0);
        CHECK_NEAR(shown.per_slot[0].at("lost"), 10.0 * row / mean, 1e-4);  // the minimal port 2 is the first column
      }
  }
}

// With toll 0 the rewards are those of hop_delay in another unit. Under load the toll applies to the time lost.
TEST(a_toll_applies_to_lost_time) {
  const Values no_toll = {{"toll", 0.0}};
  const Seen us = watch(seam_on_dragonfly({"agent", relative_seam({{"reward", "hop_delay"}})}, hpdc21(), 0.6), 1200);
  const Seen none = watch(seam_on_dragonfly({"agent", relative_seam(no_toll)}, hpdc21(), 0.6), 1200);
  const Seen twice = watch(seam_on_dragonfly({"agent", relative_seam({{"toll", 2.0}})}, hpdc21(), 0.6), 1200);
  CHECK(us.rewards.size() > 500 && us.rewards.size() == none.rewards.size() &&
        us.rewards.size() == twice.rewards.size());
  u32 tolled = 0;
  for (std::size_t k = 0; k < us.rewards.size(); k++) {
    CHECK_NEAR(us.rewards[k] * 1000, none.rewards[k] * none.scale_ns, 0.05);
    const float lost = (none.rewards[k] - twice.rewards[k]) / 2;
    CHECK(lost >= -1e-4f && lost <= -none.rewards[k] + 1e-4f);
    tolled += lost > 0.1f;
  }
  CHECK(tolled > us.rewards.size() / 4);
}

// On minimal paths, the time lost is the delay beyond the flight, the last hop and the rest of the packet.
TEST(time_lost_until_delivery_by_its_definition) {
  std::vector<double> idle, rewards[2];  // [decision], ns
  double most = 0;
  for (const double toll : {0.0, 1.0}) {
    Simulation sim(config(hyperx_section({4, 4}, 1), hpdc21(),
                          {"agent", relative_seam({{"toll", toll}, {"relation", "minimal_adaptive"}})},
                          {"uniform", {{"load", 0.8}, {"packet_bytes", bytes_of(3)}}}));
    const Network& net = sim.network();
    const Seam& seam = *net.seam;
    idle.clear();
    for (u32 cycle = 0; cycle < 6000; cycle++)
      advance(sim, [&](u32 j) {
        const Batch& b = sim.batch();
        const u32 i = b.decisions.request[j];
        const Packet& p = sim.state().packets[b.packet[i]];
        const u32 to = net.terminal_router[p.destination], last = net.port(to, net.terminal_port[p.destination]);
        idle.push_back(double{flight(net, *net.graphs[0], b.router[i], to)} + double{seam.hop_ns[last]} + 2 * 32.0);
        return any_slot(sim, b, j);
      });
    const State& s = sim.state();
    std::vector<double>& mine = rewards[toll > 0];
    mine.assign(idle.size(), 0.0);
    CHECK(s.part.learning.transitions > 300 && s.part.learning.transitions <= seam.capacity);
    for (u64 n = 0; n < s.part.learning.transitions; n++)
      if (s.ring_done[n]) mine[s.ring_decision[n]] = double{s.ring_reward[n]} * double{seam.hop_scale_ns};
  }
  for (std::size_t k = 0; k < idle.size(); k++) {
    if (rewards[0][k] == 0) continue;  // it is on its way
    CHECK_NEAR(rewards[0][k] - rewards[1][k], std::max(0.0, -rewards[0][k] - idle[k]), 0.5);
    most = std::max(most, rewards[0][k] - rewards[1][k]);
  }
  CHECK(most > 200);
}

// 8x8: 2 direct links and 12 deroutes. The first candidate stays. The other slots take the candidates of least distance
// and queue, at random among equals.
TEST(slots_by_estimate_are_the_best) {
  Lone x = Lone(build(config(hyperx_section({8, 8}, 1), input_queued(),
                             {"agent", {{"slots", 4}, {"slots_by", "estimate"}}}, {"uniform", {}})));
  std::set<u32> taken;
  for (u32 n = 0; n < 300; n++) {
    const Place at = x.send(0, 9, n);
    const auto all = x.candidates(at);
    const Shown shown = show(x, at);
    CHECK(all.size() == 14 && shown.count == 4 && shown.slots[0] == all[0]);
    CHECK_EQ(std::ranges::count(shown.slots, all[1]), 1);  // the other direct link; all links are local
    for (u32 k = 1; k < 4; k++) taken.insert(shown.slots[k].port);
  }
  CHECK_EQ(taken.size(), 13u);
  // A hop takes 11 ns. With 30 flits in its queue the direct link is worse than any deroute, with 5 it is not.
  const Place at = x.send(0, 9, 1);
  const auto all = x.candidates(at);
  for (const u32 flits : {5u, 30u}) {
    x.state.ports[x.net.port(at.router, all[1].port)].load = flits;
    CHECK_EQ(std::ranges::count(show(x, at).slots, all[1]), flits == 5 ? 1 : 0);
  }
  // Only one deroute has no queue.
  for (u32 k = 1; k < 14; k++) x.state.ports[x.net.port(at.router, all[k].port)].load = k == 7 ? 0 : 40 + k;
  CHECK(show(x, at).slots[1] == all[7]);
}

// The two direct links share slot 0. All 13 other candidates share the other slots.
TEST(slots_by_rotated_begin_with_any_of_the_shortest_paths) {
  Lone x = Lone(build(config(hyperx_section({8, 8}, 1), input_queued(),
                             {"agent", {{"slots", 4}, {"slots_by", "rotated"}}}, {"uniform", {}})));
  u32 first = 0;
  std::set<u32> taken;
  for (u32 n = 0; n < 2000; n++) {
    const Place at = x.send(0, 9, n);
    const auto all = x.candidates(at);
    const Shown shown = show(x, at);
    CHECK(shown.count == 4 && (shown.slots[0] == all[0] || shown.slots[0] == all[1]));
    CHECK_EQ(std::set<Step>(shown.slots.begin(), shown.slots.end()).size(), 4u);
    first += shown.slots[0] == all[0];
    for (u32 k = 1; k < 4; k++) taken.insert(shown.slots[k].port);
  }
  CHECK_NEAR(first, 1000, 5 * std::sqrt(500.0));
  CHECK_EQ(taken.size(), 14u);
}

// Dragonfly with 8 routers per group and 4 global links per router: from router 1 to group 1 the minimal port and 10
// others, 6 of them local. On an idle network local ports seem shorter than global ports. Both kinds still get slots in
// turn.
TEST(slots_by_estimate_take_local_and_global_links_in_turn) {
  Lone x = lone(network_1056(), {"agent", {{"slots", 5}, {"slots_by", "estimate"}}}, hpdc21());
  std::set<u32> locals, globals;
  for (u32 n = 0; n < 300; n++) {
    const Place at = x.send(4, 32 + 5, n);
    const auto all = x.candidates(at);
    const Shown shown = show(x, at);
    CHECK(all.size() == 11 && shown.count == 5 && shown.slots[0] == all[0]);
    u32 global = 0;
    for (u32 k = 1; k < 5; k++) {
      const bool far = x.net.channels[x.net.port(at.router, shown.slots[k].port)].kind == PortKind::kGlobal;
      global += far;
      (far ? globals : locals).insert(shown.slots[k].port);
    }
    CHECK_EQ(global, 2u);
    CHECK_EQ(std::set<Step>(shown.slots.begin(), shown.slots.end()).size(), 5u);
  }
  CHECK_EQ(globals.size(), 4u);
  CHECK_EQ(locals.size(), 6u);
}

}  // namespace learning_relative_test
