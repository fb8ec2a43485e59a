// Noise of the hosts against closed forms.
#include <cmath>

#include "support/jobs.hpp"
#include "support/motif_programs.hpp"

namespace noise_test {

using namespace scenes;

// `rounds` computations of 10 us by each rank, and a barrier after each of them. Messages take no time.
Simulation computing(u32 ranks, u32 rounds, const Values& noise, bool barrier = true) {
  auto program = std::make_shared<testing::Written>(ranks);
  for (u32 r = 0; r < ranks; r++)
    for (u32 k = 0; k < rounds; k++) {
      workload::Script script(program->of[r].emplace_back());
      script.compute(10000);
      if (barrier) workload::barrier(script, workload::world(ranks, r), workload::Algorithm::kDissemination, 0);
    }
  const Values free{{"host", "loggops"},           {"network", "none"},   {"loggops_L_ns", 0.0},
                    {"loggops_o_ns", 0.0},         {"loggops_g_ns", 0.0}, {"loggops_G_ns_per_byte", 0.0},
                    {"loggops_O_ns_per_byte", 0.0}};
  Simulation sim(with_jobs({given("job", program)}, merge(free, noise)));
  finish(sim, u64{1} << 40);
  return sim;
}
double us(u64 ps) { return static_cast<double>(ps) / 1e6; }

// The mean of the largest of n exponential times is the n-th harmonic number, that of one is 1.
TEST(exponential_noise_delays_a_barrier_by_harmonic_numbers) {
  double harmonic = 0;
  for (u32 n = 1; n <= 16; n++) harmonic += 1.0 / n;
  const Simulation sim = computing(16, 4000, {{"noise", "exponential"}});
  CHECK_NEAR(us(sim.state().ranks[0].finished) / 4000, 10 * harmonic, 0.02 * 10 * harmonic);
  CHECK_NEAR(us(sim.state().ranks[3].calc) / 4000, 10.0, 0.6);
}

// The computation times of a log-normal distribution have the given mean and coefficient of variation: over many ranks,
// the sum of k times has the coefficient c / sqrt(k).
TEST(lognormal_noise_has_its_mean_and_variation) {
  for (const double variation : {0.1, 1.0}) {
    const Simulation sim = computing(72, 100, {{"noise", "lognormal"}, {"noise_variation", variation}}, false);
    double sum = 0, squares = 0;
    for (const Rank& rank : sim.state().ranks) sum += us(rank.calc), squares += us(rank.calc) * us(rank.calc);
    const double mean = sum / 72, deviation = std::sqrt(squares / 72 - mean * mean);
    CHECK_NEAR(mean, 1000.0, 1000 * 4 * variation / std::sqrt(7200.0));
    CHECK_NEAR(deviation / mean, variation / 10, 0.3 * variation / 10);
  }
}

TEST(slow_ranks_and_skewed_starts) {
  const Simulation slow = computing(72, 3, {{"noise_slow_share", 0.25}, {"noise_slow_factor", 3.0}}, false);
  u32 number = 0;
  for (const Rank& rank : slow.state().ranks) {
    CHECK(rank.calc == 30000000 || rank.calc == 90000000);
    number += rank.calc == 90000000;
  }
  CHECK(number > 8 && number < 30);  // 18 +- 3.3 standard deviations
  const Simulation skewed = computing(72, 1, {{"noise_skew_ns", 5000.0}}, false);
  double sum = 0;
  for (const Rank& rank : skewed.state().ranks) {
    CHECK(rank.started <= 5000000);
    CHECK_EQ(rank.finished - rank.started, 10000000u);
    sum += us(rank.started);
  }
  CHECK_NEAR(sum / 72, 2.5, 0.6);
}

}  // namespace noise_test
