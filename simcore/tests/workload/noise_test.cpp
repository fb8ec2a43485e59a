// Noise of the hosts against closed forms.
#include <cmath>

#include "support/file.hpp"
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

// Detours of 1 ns and 600 ns, one per us, extend 10 us by exactly ten of them. A computation that begins during a
// detour also waits for its end: from a random time on, t^2 / 2 per us on average.
TEST(a_trace_stretches_computation_by_its_detours) {
  for (const u64 t : {u64{1}, u64{600}}) {
    std::string text = "# netgauge\n";
    for (const u32 at : {200, 1200, 2200}) text += std::to_string(at) + "\t" + std::to_string(t) + "\n";
    const fabrics::File file(text);
    const Simulation sim = computing(72, 1, {{"noise_trace", file.path.string()}}, false);
    double waited = 0;
    for (const Rank& rank : sim.state().ranks) {
      CHECK(rank.calc >= (10000 + 10 * t) * 1000 && rank.calc < (10000 + 11 * t) * 1000);
      waited += static_cast<double>(rank.calc) / 1000 - static_cast<double>(10000 + 10 * t);
    }
    CHECK_NEAR(waited / 72, static_cast<double>(t * t) / 2000, 70 * static_cast<double>(t) / 600);
  }
  const fabrics::File touching("0.1 0.2\n0.3 0.1\n5 1\n");
  computing(2, 1, {{"noise_trace", touching.path.string()}}, false);
  for (const auto& [text, part] : {std::pair{"0 1\n5\n", ":2: 1 words"},
                                   {"#\n0 9\n8 1\n", ":3: the detour begins before the end of the last one"},
                                   {"0 1\n5 x\n", ":2: 'x' is not a number"},
                                   {"0 1\n", ": it is too short"}}) {
    const fabrics::File file(text);
    CHECK_THROWS(ConfigError, computing(2, 1, {{"noise_trace", file.path.string()}}, false), file.path.string() + part);
  }
}

}  // namespace noise_test
