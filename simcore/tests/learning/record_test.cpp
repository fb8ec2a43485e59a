// The record of a decision: its reward, the time at which its router gets it, and the ring of transitions. Also forks
// between the halves of a cycle.
#include <set>

#include "simcore/graph.hpp"
#include "support/seam.hpp"

namespace learning_record_test {

using namespace scenes;

// A run in which the test is the agent and keeps a record of its own: the decisions of every packet, and its delivery.
struct Made {
  u64 number;
  Cycle when;
  u32 router, slot, job;
  std::vector<float> row;
  std::vector<u8> mask;
};
struct Journey {
  std::vector<Made> decisions;
  Cycle delivered = 0;  // 0: not yet
  u32 destination = 0;  // router
};

class Books {
 public:
  explicit Books(const Config& config) : sim(config), net(sim.network()), seam(*net.seam) {}

  Simulation sim;
  const Network& net;
  const Seam& seam;
  std::map<std::pair<u32, u32>, Journey> journeys;  // by source and sequence
  std::vector<Cycle> filed;                         // [transitions] cycle in which the ring got it

  void cycle() {
    State& s = sim.state();
    const Cycle now = s.part.totals.now;
    const u64 before = s.part.learning.transitions;
    std::vector<u32> choices(sim.collect());
    filed.resize(filed.size() + s.part.learning.transitions - before, now);
    // A packet that is no longer in its place was delivered in this cycle.
    std::set<u32> free(s.part.free_packets.begin(), s.part.free_packets.end());
    for (auto at = at_work_.begin(); at != at_work_.end();) {
      const auto [id, name] = *at;
      const Packet& p = s.packets[id];
      if (!free.contains(id) && std::pair{p.source, p.sequence} == name) {
        ++at;
        continue;
      }
      journeys.at(name).delivered = now;
      at = at_work_.erase(at);
    }
    const Batch& b = sim.batch();
    const Decisions& d = b.decisions;
    for (u32 j = 0; j < choices.size(); j++) choices[j] = any_slot(sim, b, j);
    u64 number = s.part.learning.recorded;
    for (u32 j = 0; j < choices.size(); j++) {
      const u32 id = b.packet[d.request[j]];
      const Packet& p = s.packets[id];
      const float* const row = d.observation.data() + std::size_t{j} * seam.width;
      const u8* const mask = d.mask.data() + std::size_t{j} * seam.slots;
      Journey& journey = journeys[{p.source, p.sequence}];
      journey.destination = net.terminal_router[p.destination];
      journey.decisions.push_back({number++,
                                   now,
                                   b.router[d.request[j]],
                                   choices[j],
                                   p.job,
                                   {row, row + seam.width},
                                   {mask, mask + seam.slots}});
      at_work_[id] = {p.source, p.sequence};
    }
    sim.apply(choices.data(), choices.size());
  }
  // Runs to the last packet and the last feedback.
  void finish() {
    sim.stop_sources();
    for (u32 k = 0;
         k < 200000 && (!sim.empty() || sim.state().part.learning.transitions < sim.state().part.learning.recorded);
         k++)
      cycle();
    CHECK(sim.empty());
  }

 private:
  std::map<u32, std::pair<u32, u32>> at_work_;  // by packet id
};

float us(const Network& net, Cycle cycles) { return -static_cast<float>(cycles * net.cycle_ns * 0.001); }

// The ring has every decision exactly once, and agrees with the test's record.
void check_books(const Books& x, const std::string& reward) {
  const State& s = x.sim.state();
  const Seam& seam = x.seam;
  CHECK(s.part.learning.transitions > 300 && s.part.learning.transitions <= seam.capacity);
  CHECK_EQ(s.part.learning.transitions, s.part.learning.recorded);
  CHECK_EQ(s.part.learning.recorded, s.part.learning.decisions);
  std::map<u64, u64> row_of;  // by number of the decision
  for (u64 n = 0; n < s.part.learning.transitions; n++) {
    CHECK(s.ring_decision[n] < s.part.learning.recorded);
    CHECK_FOR(row_of.emplace(s.ring_decision[n], n).second, "filed twice");
  }
  u64 seen = 0, several = 0;
  for (const auto& [name, journey] : x.journeys) {
    CHECK(journey.delivered > 0);
    double sum = 0;
    for (std::size_t k = 0; k < journey.decisions.size(); k++, seen++) {
      const Made& made = journey.decisions[k];
      const u64 n = row_of.at(made.number);
      const bool last = k + 1 == journey.decisions.size(), to_the_end = reward != "hop_delay" || last;
      const Cycle closed = to_the_end ? journey.delivered : journey.decisions[k + 1].when;
      CHECK_EQ(s.ring_reward[n], us(x.net, closed - made.when));
      sum += s.ring_reward[n];
      CHECK(s.ring_done[n] == to_the_end);
      CHECK_EQ(s.ring_next_decision[n], last ? ~u64{0} : journey.decisions[k + 1].number);
      CHECK(s.ring_action[n] == made.slot && s.ring_router[n] == made.router && s.ring_decided[n] == made.when &&
            s.ring_job[n] == made.job);
      CHECK(std::equal(made.row.begin(), made.row.end(), &s.ring_observation[n * seam.width]));
      CHECK(std::equal(made.mask.begin(), made.mask.end(), &s.ring_mask[n * seam.slots]));
      const std::vector<float> no_row(seam.width);
      const std::vector<u8> no_mask(seam.slots);
      const auto& next_row = to_the_end ? no_row : journey.decisions[k + 1].row;
      const auto& next_mask = to_the_end ? no_mask : journey.decisions[k + 1].mask;
      CHECK(std::equal(next_row.begin(), next_row.end(), &s.ring_next_observation[n * seam.width]));
      CHECK(std::equal(next_mask.begin(), next_mask.end(), &s.ring_next_mask[n * seam.slots]));
      // Feedback takes the time of an empty path back, and one cycle.
      const u32 here = to_the_end ? journey.destination : journey.decisions[k + 1].router;
      CHECK_EQ(x.filed[n], closed + 1 +
                               static_cast<Cycle>(
                                   std::lround(flight(x.net, *x.net.graphs[0], here, made.router) / x.net.cycle_ns)));
    }
    several += journey.decisions.size() > 1;
    const Cycle delay = journey.delivered - journey.decisions[0].when;
    if (reward == "hop_delay") CHECK_EQ(std::llround(-sum * 1000 / x.net.cycle_ns), static_cast<long long>(delay));
  }
  CHECK_EQ(seen, s.part.learning.recorded);
  CHECK(several > 50);
}
void check_nothing_is_open(const State& s) {
  std::set<u32> free(s.part.free_decisions.begin(), s.part.free_decisions.end());
  CHECK_EQ(free.size(), s.part.free_decisions.size());
  CHECK_EQ(free.size(), s.open_decisions.size());
  for (const u32 last : s.last_decision) CHECK_EQ(last, kNone);
}

Section recorded(const std::string& reward, i64 room, const Values& more = {}) {
  return {"agent", merge({{"reward", reward}, {"record", room}}, more)};
}

// With long links, feedback is on its way for longer than the 1,023 cycles of the wheel: a global hop takes 1,501
// cycles. A single job has no other job to compare with, so the reward job_slowdown is the delay to delivery.
TEST(rewards_and_links_of_every_decision) {
  struct Case {
    std::string reward;
    Config config;
    u32 cycles;
  };
  const Values far = merge(input_queued(), {{"link_latency_ns_global", 1500.0}});
  for (const Case& c : {Case{"hop_delay", seam_on_dragonfly(recorded("hop_delay", 1 << 14)), 700},
                        {"end_to_end_delay", seam_on_dragonfly(recorded("end_to_end_delay", 1 << 14)), 700},
                        {"hop_delay", seam_on_hyperx(recorded("hop_delay", 1 << 14), sc19(), 0.5), 700},
                        {"end_to_end_delay", seam_on_hyperx(recorded("end_to_end_delay", 1 << 14), sc19(), 0.5), 700},
                        {"hop_delay", seam_on_dragonfly(recorded("hop_delay", 1 << 12), far, 0.01), 1500},
                        {"job_slowdown", seam_on_dragonfly(recorded("job_slowdown", 1 << 14)), 400}}) {
    Books x(c.config);
    for (u32 k = 0; k < c.cycles; k++) x.cycle();
    CHECK(!x.sim.empty());
    x.finish();
    check_books(x, c.reward);
    check_nothing_is_open(x.sim.state());
    if (c.reward == "job_slowdown") CHECK(*kept<double>(x.net, x.sim.state(), "job_slowdown") > 1);
  }
}

// Transition n is in row n mod capacity. A small ring holds the last transitions.
TEST(the_ring_wraps) {
  constexpr u32 kRoom = 37;
  Simulation small(seam_on_dragonfly(recorded("hop_delay", kRoom))),
      large(seam_on_dragonfly(recorded("hop_delay", 1 << 14)));
  for (Simulation* sim : {&small, &large}) advance_at_random(*sim, 900);
  const State &a = small.state(), &b = large.state();
  CHECK_EQ(a.part.learning.transitions, b.part.learning.transitions);
  CHECK(a.part.learning.transitions > 5 * kRoom);
  CHECK_EQ(a.ring_reward.size(), std::size_t{kRoom});
  const u32 width = small.network().seam->width, slots = small.network().seam->slots;
  for (u64 n = b.part.learning.transitions - kRoom; n < b.part.learning.transitions; n++) {
    const u64 row = n % kRoom;
    CHECK(a.ring_decision[row] == b.ring_decision[n] && a.ring_next_decision[row] == b.ring_next_decision[n] &&
          a.ring_reward[row] == b.ring_reward[n]);
    CHECK(a.ring_action[row] == b.ring_action[n] && a.ring_done[row] == b.ring_done[n] &&
          a.ring_router[row] == b.ring_router[n] && a.ring_decided[row] == b.ring_decided[n]);
    CHECK(std::equal(&a.ring_observation[row * width], &a.ring_observation[row * width] + width,
                     &b.ring_observation[n * width]));
    CHECK(std::equal(&a.ring_next_observation[row * width], &a.ring_next_observation[row * width] + width,
                     &b.ring_next_observation[n * width]));
    CHECK(std::equal(&a.ring_mask[row * slots], &a.ring_mask[row * slots] + slots, &b.ring_mask[n * slots]));
    CHECK(std::equal(&a.ring_next_mask[row * slots], &a.ring_next_mask[row * slots] + slots,
                     &b.ring_next_mask[n * slots]));
  }
  // Without a ring no decision is recorded.
  Simulation none(seam_on_dragonfly({"agent", {}}));
  advance_at_random(none, 300);
  CHECK(none.state().part.learning.decisions > 100 && none.state().part.learning.recorded == 0 &&
        none.state().open_decisions.empty());
}

// All decisions of a packet are recorded, or none. The recording does not change the run.
TEST(a_part_of_the_packets_is_recorded_completely) {
  Simulation part(seam_on_dragonfly(recorded("hop_delay", 1 << 14, {{"record_part", 0.3}}))),
      all(seam_on_dragonfly(recorded("hop_delay", 1 << 14)));
  std::map<std::pair<u32, u32>, std::set<bool>> kept;
  u64 decisions = 0;
  for (u32 cycle = 0; cycle < 900; cycle++) {
    const Cycle now = part.state().part.totals.now;
    advance_at_random(all, 1);
    advance_at_random(part, 1);
    const Batch& b = part.batch();
    const State& s = part.state();
    for (u32 j = 0; j < b.decisions.count; j++, decisions++) {
      const u32 id = b.packet[b.decisions.request[j]], last = id < s.last_decision.size() ? s.last_decision[id] : kNone;
      const bool recorded_now = last != kNone && s.open_decisions[last].decided == now;
      kept[{s.packets[id].source, s.packets[id].sequence}].insert(recorded_now);
    }
  }
  u64 packets = 0;
  for (const auto& [name, answers] : kept) {
    CHECK_EQ(answers.size(), 1u);
    packets += answers.contains(true);
  }
  CHECK_NEAR(packets, 0.3 * static_cast<double>(kept.size()), 5 * std::sqrt(0.21 * static_cast<double>(kept.size())));
  CHECK(kept.size() > 1000 && part.state().part.learning.recorded > 500);
  CHECK_EQ(part.state().part.learning.decisions, decisions);
  CHECK_EQ(part.state().part.totals.flits_ejected, all.state().part.totals.flits_ejected);
  drain_at_random(part);
  advance_at_random(part, 2000);
  CHECK_EQ(part.state().part.learning.transitions, part.state().part.learning.recorded);
  check_nothing_is_open(part.state());
}

// ---- Forks ----

TEST(a_fork_between_the_halves_of_a_cycle_keeps_its_decisions) {
  for (const Config& c : {seam_on_dragonfly(recorded("hop_delay", 200)), seam_on_hyperx(recorded("hop_delay", 200))}) {
    Simulation sim(c);
    advance_at_random(sim, 400);
    u32 n = 0;
    while ((n = sim.collect()) < 2) {
      const std::vector<u32> zeros(n);
      sim.apply(zeros.data(), n);
    }
    Simulation fork(sim), other(sim);
    const Decisions &mine = sim.batch().decisions, &its = fork.batch().decisions;
    CHECK(its.count == n && its.observation == mine.observation && its.mask == mine.mask);
    CHECK(its.ports == mine.ports && its.slot_count == mine.slot_count);
    std::vector<u32> first(n, 0), last(n);
    for (u32 j = 0; j < n; j++) last[j] = mine.slot_count[j] - 1;
    sim.apply(last.data(), n);
    fork.apply(last.data(), n);
    other.apply(first.data(), n);
    CHECK_EQ(fork.hash(), sim.hash());
    CHECK(other.hash() != sim.hash());
    for (Simulation* each : {&sim, &fork}) advance_at_random(*each, 200);
    CHECK_EQ(fork.hash(), sim.hash());
  }
}

// Cycles in which all ranks compute are skipped, except the cycles in which feedback arrives.
TEST(feedback_of_a_workload_comes_in_time) {
  Config c = config(small_network(), sc22(), {"random", {{"record", 4096}}}, {"", {}});
  c.workload = {
      {{"placement", "linear"}},
      {{"ur", {"ur", {{"ranks", 48}, {"iterations", 12}, {"compute_ns", 3000}, {"bytes", 2000}}}, nullptr, {}}}};
  Simulation whole(c), pieces(c);
  whole.run(60000);
  CHECK(whole.workload_finished());
  for (u32 k = 0; k < 60000; k += 50) pieces.run(50);
  CHECK(whole.state().part.learning.recorded > 100);
  CHECK_EQ(whole.state().part.learning.transitions, whole.state().part.learning.recorded);
  CHECK_EQ(whole.hash(), pieces.hash());
}

}  // namespace learning_record_test
