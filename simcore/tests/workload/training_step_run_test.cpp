// training_step on the host model of LogGOPS, without a network.
#include "simcore/simulation.hpp"
#include "simcore/stats.hpp"
#include "simcore/workload.hpp"
#include "support/scenes.hpp"
#include "test.hpp"
#include "workload/program_totals.hpp"

namespace workload_training_step_run_test {

using namespace flitgym;
using namespace scenes;

// Finishing time in ns of a job alone. All costs of messages are `ns`.
u64 finish(u32 ranks, Values motif, double ns) {
  Config c = config(small_network(), sc22(), {"minimal", {}}, {"", {}});
  c.workload.values = {{"host", std::string("loggops")},
                       {"network", std::string("none")},
                       {"loggops_L_ns", ns},
                       {"loggops_o_ns", ns},
                       {"loggops_g_ns", ns},
                       {"loggops_G_ns_per_byte", 0.0}};
  motif["ranks"] = i64{ranks};
  c.workload.jobs = {{"training", {"training_step", motif}, nullptr, {}}};
  Simulation sim(c);
  CHECK(sim.run_workload(1u << 30));
  const JobTotals totals = job_sums(sim.state())[0];
  CHECK_EQ(totals.bytes_received, workload::totals(*sim.network().workload->jobs[0].program).bytes);
  return totals.finished / 1000;
}

// With messages without cost a step takes (m + (p - 1) / v) times the forward and backward pass of a stage. The output
// layer of a vocabulary of one takes less than half a nanosecond.
TEST(training_step_bubble_in_a_run) {
  const auto time = [](i64 p, i64 v, i64 m) {
    return finish(static_cast<u32>(p),
                  {{"layers", i64{8}},
                   {"sequence", i64{32}},
                   {"vocabulary", i64{1}},
                   {"pipeline", p},
                   {"virtual_stages", v},
                   {"micro_batches", m},
                   {"iterations", i64{2}}},
                  0);
  };
  const u64 alone = time(1, 1, 1) / 2;
  for (const i64 p : {2, 4})
    for (const i64 v : {1, 2})
      for (const i64 m : {4, 8}) {
        const u64 ideal = alone / static_cast<u64>(p) * static_cast<u64>(m);
        CHECK_EQ(time(p, v, m), 2 * (ideal + ideal * static_cast<u64>(p - 1) / static_cast<u64>(v * m)));
      }
}

// Without overlap the reductions of the four layers follow the computation. With overlap only the last one does,
// because messages do not wait for the processor that computes.
TEST(training_step_overlap_in_a_run) {
  const auto time = [](u32 ranks, bool overlap) {
    return static_cast<double>(finish(
        ranks, {{"bucket_bytes", i64{1}}, {"tflops", 0.01}, {"micro_batches", i64{1}}, {"overlap", overlap}}, 100));
  };
  const double computation = time(1, false), reductions = time(4, false) - computation;
  CHECK(reductions > 4 * 6 * 100);
  CHECK_NEAR(time(4, true), computation + reductions / 4, reductions / 50);
}

}  // namespace workload_training_step_run_test
