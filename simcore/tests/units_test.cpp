// The basic building blocks: wheel, random numbers, histogram, quantiles.
#include "simcore/rng.hpp"
#include "support/scenes.hpp"
#include "test.hpp"

namespace units_test {

using namespace scenes;

TEST(wheel_gives_back_everything_when_due) {
  Wheel<u32> wheel;
  wheel.reset(100);
  CHECK(wheel.longest() >= 100);
  std::map<Cycle, std::vector<u32>> wanted;
  std::vector<u32> out;
  u32 pushed = 0, taken = 0;
  // Starts near the end of the 32-bit clock, so that the clock wraps.
  for (u32 step = 0; step < 5000; step++) {
    const Cycle now = 0xfffffa00u + step;
    const bool due = wanted.count(now) > 0;
    CHECK_EQ(wheel.due(now), due);
    out.clear();
    wheel.take(now, out);
    CHECK(out == (due ? wanted[now] : std::vector<u32>{}));  // in the order of pushing
    wanted.erase(now);
    taken += static_cast<u32>(out.size());
    if (step >= 4800) continue;
    for (u32 k = 0; k < below(draw(1, 2, step), 200); k++) {
      const Cycle when = now + 1 + below(draw(1, step, k), 100);
      wheel.push(when, pushed);
      wanted[when].push_back(pushed++);
    }
  }
  CHECK_EQ(taken, pushed);
  CHECK(wanted.empty());
}

// Uniformity of the draws that the simulator uses: neighbouring counters, streams and seeds. Chi-square over 64 bins
// has 63 degrees of freedom: mean 63, standard deviation 11.2.
TEST(draws_are_uniform_along_every_argument) {
  for (u32 along = 0; along < 3; along++) {
    std::vector<u32> bins(64);
    double mean = 0;
    const u32 n = 64000;
    for (u32 k = 0; k < n; k++) {
      const u64 bits = along == 0 ? draw(k, 7, 9) : along == 1 ? draw(7, k, 9) : draw(7, 9, k);
      bins[below(bits, 64)]++;
      mean += unit(bits) / n;
    }
    double chi = 0;
    for (u32 count : bins) chi += (count - 1000.0) * (count - 1000.0) / 1000.0;
    CHECK_NEAR(chi, 63, 5 * 11.2);
    CHECK_NEAR(mean, 0.5, 5 * 0.2887 / std::sqrt(n));
  }
}

TEST(logarithm_is_accurate) {
  for (u32 k = 0; k < 20000; k++) {
    const double x = unit(draw(3, 1, k));
    CHECK_NEAR(log_unit(x), std::log(x), 1e-10);
  }
  for (const double x : {0x1.0p-53, 1e-9, 0.5, 0.75, 0.999999}) CHECK_NEAR(log_unit(x), std::log(x), 1e-10);
}

TEST(histogram_is_within_its_stated_error) {
  u32 last = 0;
  for (u64 cycles = 0; cycles < (u64{1} << 32); cycles += cycles < 4096 ? 1 : cycles / 97) {
    const u32 bin = histogram_bin(static_cast<u32>(cycles));
    CHECK(bin < kHistogramBins);
    CHECK(bin >= last);
    last = bin;
    CHECK_NEAR(histogram_middle(bin), static_cast<double>(cycles), kHistogramError * static_cast<double>(cycles));
  }
  CHECK(histogram_bin(0xffffffffu) < kHistogramBins);
  for (u32 exact = 0; exact < 128; exact++) CHECK_EQ(histogram_middle(histogram_bin(exact)), exact);
}

TEST(quantiles_agree_with_sorted_samples) {
  for (u32 round = 0; round < 30; round++) {
    std::vector<u32> samples(1 + below(draw(9, 9, round), 400)), histogram(kHistogramBins);
    for (std::size_t k = 0; k < samples.size(); k++) {
      samples[k] = below(draw(9, round, k), round % 3 == 0 ? 100 : 100000);
      histogram[histogram_bin(samples[k])]++;
    }
    std::sort(samples.begin(), samples.end());
    for (const double q : {0.01, 0.5, 0.95, 0.99, 1.0}) {
      const auto rank = static_cast<std::size_t>(std::max(1.0, std::ceil(q * static_cast<double>(samples.size()))));
      CHECK_NEAR(quantile(histogram, q), samples[rank - 1], kHistogramError * samples[rank - 1]);
    }
  }
  CHECK_EQ(quantile(std::vector<u32>(kHistogramBins), 0.5), 0);
}

// The points of a time series add up to the window, whether latencies begin at the NIC or at generation.
TEST(time_series_add_up_to_the_window) {
  for (const std::string from : {"nic", "generation"}) {
    Simulation sim(config(small_network(), merge(hpdc21(), {{"latency_from", from}, {"source_backlog", "kept"}}),
                          {"minimal", {}}, {"uniform", {{"load", 0.9}}}));
    sim.set_series_interval(300);
    sim.begin_window();
    sim.run(5000);
    SeriesPoint sum;
    for (const SeriesPoint& x : summed(sim.state(), &Partition::series))
      sum.packets += x.packets, sum.flits += x.flits, sum.hops += x.hops, sum.latency += x.latency;
    const auto& window = sim.state().part.window;
    CHECK(sum.packets == window.delivered && sum.flits == window.flits && sum.hops == window.hops);
    CHECK_EQ(sum.latency, from == "nic" ? window.latency_nic : window.latency_generation);
    CHECK(window.latency_nic < window.latency_generation);
  }
}

}  // namespace units_test
