// Jobs that a scheduler starts: schedules by hand, placements on free nodes, and wrong input.
#include <set>

#include "core/hosts/engine.hpp"
#include "support/jobs.hpp"
#include "support/motif_programs.hpp"

namespace scheduler_test {

using namespace scenes;

// A job of ranks that only compute. Times in us.
JobSection computing(const std::string& name, double submit, u32 ranks, u64 run, double estimate = 0) {
  auto program = std::make_shared<testing::Written>(ranks);
  for (auto& blocks : program->of) blocks.emplace_back().calc(run * 1000);
  JobSection job = given(name, program);
  job.motif.values = {{"start_ns", submit * 1000},
                      {"estimate_ns", (estimate > 0 ? estimate : static_cast<double>(run)) * 1000}};
  return job;
}

// Six jobs on 72 nodes; `late_estimate` is the estimate of the third one.
std::vector<JobSection> six(double late_estimate = 0) {
  return {computing("a", 0, 36, 100), computing("b", 1, 54, 50), computing("c", 2, 18, 30, late_estimate),
          computing("d", 3, 18, 200), computing("e", 4, 36, 40), computing("f", 5, 18, 40)};
}

std::vector<u64> starts_us(const Simulation& sim) {
  std::vector<u64> starts;
  for (const Job& job : sim.network().workload->jobs) {
    CHECK_EQ(sim.state().ranks[job.first_rank].started % 1000000, 0u);  // at once, not in the next cycle or window
    starts.push_back(sim.state().ranks[job.first_rank].started / 1000000);
  }
  return starts;
}

Values by(const std::string& scheduler, const Values& more = {}) {
  return merge({{"scheduler", scheduler}, {"placement", "linear"}}, more);
}

// A job starts 1 us after its decision. First come: b waits for a, c fits beside b, d waits for c, e and f for b.
// Backfilling: b has a reservation at 101. c ends before it, and d takes the 18 nodes that b leaves. f follows c, since
// it ends before 101. If c is expected to end at 102, c takes the nodes that b leaves, f ends in time, and d waits for
// c.
TEST(schedules_by_hand) {
  const std::vector<std::pair<Config, std::vector<u64>>> cases{
      {with_jobs(six(), by("first_come")), {1, 102, 102, 133, 153, 153}},
      {with_jobs(six(), by("backfilling")), {1, 102, 3, 4, 153, 34}},
      {with_jobs(six(99), by("backfilling")), {1, 102, 3, 34, 153, 6}}};
  const Values loggops{{"host", "loggops"}, {"network", "none"}};
  for (const auto& [config, starts] : cases) {
    Config alone = config;
    alone.workload.values = merge(alone.workload.values, loggops);
    for (Config c : {config, alone})
      for (const u32 parts : {1u, 2u, 9u}) {
        c.partitions = parts;
        Simulation sim(c);
        finish(sim);
        CHECK(starts_us(sim) == starts);
      }
  }
}

// Every job has free nodes of its own, by the rule of the placement. The jobs before it hold 7 + 9 nodes.
TEST(placements_of_a_scheduler) {
  for (const std::string placement : {"linear", "random", "random_router", "random_group", "clustered",
                                      "clustered_router", "fragmented", "least_interfering"}) {
    Simulation sim(with_jobs({computing("a", 0, 7, 50), computing("b", 1, 9, 50), computing("c", 2, 8, 50)},
                             by("first_come", {{"placement", placement}})));
    sim.run(20000);
    const Workload& w = *sim.network().workload;
    std::set<u32> nodes, groups, routers, all_of_c;
    for (u32 r = 0; r < w.ranks(); r++) {
      const u32 t = workload::terminal_of(w, sim.state(), r);
      CHECK_EQ(workload::rank_at(w, sim.state(), t), r);
      CHECK(nodes.insert(t).second);
      if (r < 16) continue;
      all_of_c.insert(t);
      groups.insert(t / 8);
      routers.insert(t / 2);
    }
    if (placement == "linear") CHECK(*all_of_c.begin() == 16 && *all_of_c.rbegin() == 23);
    if (placement == "clustered") CHECK_EQ(groups.size(), 1u);
    if (placement == "clustered_router") CHECK_EQ(routers.size(), 4u);
    if (placement == "random_group") CHECK(groups.size() <= 3);
    if (placement == "random") CHECK(groups.size() >= 4);
    finish(sim);
    CHECK_EQ(sim.state().ranks.back().finished, u64{53000000});
  }
}

// The load that the third job shares with the other two, on minimal paths, is the least of the placements.
TEST(least_interfering_placement) {
  const auto common = [](const std::string& placement) {
    const auto job = [](const std::string& name, i64 ranks, double start) {
      JobSection j = motif(
          "collective",
          {{"ranks", ranks}, {"collective", "alltoall"}, {"bytes", 20000}, {"iterations", 50}, {"start_ns", start}});
      j.name = name;
      return j;
    };
    Simulation sim(with_jobs({job("a", 36, 0), job("b", 12, 2000), job("c", 8, 3000)},
                             by("first_come", {{"placement", placement}})));
    sim.run(20000);
    const Workload& w = *sim.network().workload;
    std::vector<double> sum, last;
    for (const Job& j : w.jobs) {
      std::vector<u32> at;
      for (u32 r = 0; r < j.ranks; r++) at.push_back(workload::terminal_of(w, sim.state(), j.first_rank + r));
      last = rank_mapping()->load(sim.network(), w.nodes, *j.program, at);
      sum.resize(last.size());
      if (&j != &w.jobs.back())
        for (u32 p = 0; p < sum.size(); p++) sum[p] += last[p];
    }
    double shared = 0;
    for (u32 p = 0; p < sum.size(); p++) shared += std::min(sum[p], last[p]);
    return shared;
  };
  CHECK(common("random") > common("least_interfering"));
  CHECK(common("least_interfering") <= std::min(common("linear"), common("clustered")));
}

TEST(a_scheduler_refuses_what_it_cannot_place) {
  const auto refused = [](std::vector<JobSection> jobs, const Values& values, const std::string& part) {
    CHECK_THROWS(ConfigError, Simulation(with_jobs(std::move(jobs), values)), part);
  };
  refused({computing("a", 0, 73, 1)}, by("first_come"), "73 ranks");
  refused({given("a", computing("a", 0, 2, 1).program)}, by("backfilling"), "workload.jobs.a.estimate_ns");
  refused({computing("a", 0, 2, 1)}, by("first_come", {{"launch_ns", 0.5}}), "workload.launch_ns");
  refused({given("a", computing("a", 0, 2, 1).program, {0, 1})}, by("first_come"), "workload.jobs.a.terminals");
  refused({computing("a", 0, 2, 1)}, {{"placement", "least_interfering"}}, "needs workload.scheduler");
}

}  // namespace scheduler_test
