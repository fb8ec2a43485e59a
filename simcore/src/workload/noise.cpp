#include "workload/noise.hpp"

#include "simcore/plain_file.hpp"
#include "simcore/rng.hpp"
#include "simcore/text.hpp"

namespace flitgym {
namespace workload {

constexpr u64 kStream = u64{0x6e6f6973} << 32;  // plus the rank; separate from the draws of packets
constexpr u64 kTries = 16;  // counters of an operation; a rank's speed and its place in the trace have the first
constexpr double kLongestNs = 1e15;  // of an operation, as build.cpp demands

static double exponential(double x) { return x < 0 ? 1 / exp_up(-x) : exp_up(x); }

struct Noisy : Program {
  std::shared_ptr<const Program> inner;
  bool lognormal = false, varies = false;
  double sigma = 0, slow_share = 0, slow_factor = 1;
  u64 seed = 0;
  u32 first_rank = 0;

  u64 blocks(u32 rank) const override { return inner->blocks(rank); }
  u64 repeats(u32 rank, u64 index) const override { return inner->repeats(rank, index); }
  std::string where(u32 rank, u64 index, u32 op) const override { return inner->where(rank, index, op); }
  u64 flow_time(u32 rank, u64& number, u64 before) const override { return inner->flow_time(rank, number, before); }
  Flow flow(const Network& net, u32 rank, u64 number) const override { return inner->flow(net, rank, number); }

  void block(u32 rank, u64 index, Block& out) const override {
    inner->block(rank, index, out);
    const u64 stream = kStream + first_rank + rank;
    const double speed = unit(draw(seed, stream, 0)) < slow_share ? slow_factor : 1;
    for (u64 k = 0; k < out.ops.size(); k++) {
      Op& op = out.ops[k];
      if (op.kind != OpKind::kCalc || op.size == 0) continue;
      const double factor = speed * (varies ? drawn(stream, (index << 32) + (k + 1) * kTries) : 1);
      op.size = static_cast<u64>(std::llround(std::min(kLongestNs, static_cast<double>(op.size) * factor)));
    }
  }

  // A factor with mean 1. The normal variate is drawn by the polar method (Marsaglia and Bray, SIAM Review 6(3), 1964).
  double drawn(u64 stream, u64 counter) const {
    if (!lognormal) return -log_unit(unit(draw(seed, stream, counter)));
    for (u64 k = counter;; k += 2) {
      const double u = 2 * unit(draw(seed, stream, k)) - 1, v = 2 * unit(draw(seed, stream, k + 1)) - 1;
      const double s = u * u + v * v;
      if (s >= 1 || s == 0) continue;
      return exponential(sigma * u * std::sqrt(-2 * log_unit(s) / s) - sigma * sigma / 2);
    }
  }
};

std::vector<ParamSpec> noise_params() {
  return {
      choice("noise", "none", {"none", "lognormal", "exponential"},
             "distribution of computation times: each one is multiplied by a random factor with mean 1"),
      real("noise_variation", 0.1, 0, 100, "", "coefficient of variation of the factor, with noise=lognormal"),
      real("noise_slow_share", 0, 0, 1, "", "probability that a rank is slow"),
      real("noise_slow_factor", 2, 1, 1e6, "", "factor of the computation times of slow ranks"),
      choice(
          "noise_trace", "", {},
          "file with the detours of a processor to the operating system, as LogGOPSim reads it: a line for each one, "
          "with start and length in ns"),
      real("noise_skew_ns", 0, 0, 1e12, "ns", "ranks start late by a uniformly distributed time up to this one"),
  };
}

std::shared_ptr<const Program> with_noise(std::shared_ptr<const Program> program, const Params& params,
                                          u32 first_rank) {
  const std::string& noise = params.text("noise");
  if (noise == "none" && params.real("noise_slow_share") == 0) return program;
  auto noisy = std::make_shared<Noisy>();
  const double variation = params.real("noise_variation");
  noisy->ranks = program->ranks;
  noisy->inner = std::move(program);
  noisy->varies = noise != "none";
  noisy->lognormal = noise == "lognormal";
  noisy->sigma = std::sqrt(std::log(1 + variation * variation));
  noisy->slow_share = params.real("noise_slow_share");
  noisy->slow_factor = params.real("noise_slow_factor");
  noisy->seed = params.run_seed();
  noisy->first_rank = first_rank;
  return noisy;
}

// Format and rules are those of spcl/LogGOPSim, src/LogGOPSim/Noise.hpp. Detours in the time that others add do not
// count. Different from there, the trace begins at its first detour, it repeats at the start of its last detour, and an
// operation may be longer than the trace.
Detours detours_of(const Params& params) {
  Detours found;
  const std::string& path = params.text("noise_trace");
  if (path.empty()) return found;
  const std::string expected = "; expected at least two lines with start and length of a detour in ns";
  const text::Source source{path, read_plain_file(path, path, expected, 2)};
  u64 end = 0, first = 0;  // ps
  for (text::Lines lines(source.text); lines.next();) {
    const u32 line = lines.number();
    const std::vector<std::string_view> words = text::words(lines.line());
    if (words.empty() || words[0][0] == '#') continue;
    if (words.size() != 2) text::fail(source, line, words.size(), " words", expected);
    const auto ps = [&](const char* what, u32 k) {
      return static_cast<u64>(std::llround(1000 * text::real_number(source, line, what, words[k], 0, kLongestNs)));
    };
    const u64 start = ps("the start of a detour", 0), length = ps("the length of a detour", 1);
    if (start < end) text::fail(source, line, "the detour begins before the end of the last one", expected);
    if (found.start.empty()) first = start;
    end = start + length;
    found.start.push_back(start - first);
    found.before.push_back(found.before.back() + length);
  }
  if (found.start.empty() || found.start.back() == 0) text::fail(source, 0, "it is too short", expected);
  found.period = found.start.back();
  found.start.pop_back();
  found.before.pop_back();
  found.seed = params.run_seed();
  return found;
}

}  // namespace workload

u64 Detours::delay(u32 rank, u64 from, u64 work) const {
  if (period == 0) return 0;
  const double place = unit(draw(seed, workload::kStream + rank, 1)) * static_cast<double>(period);
  const u64 begin = (from + static_cast<u64>(place)) % period, end = begin + work;
  const auto count = [&](u64 until) { return std::lower_bound(start.begin(), start.end(), until) - start.begin(); };
  const auto k = count(begin);
  const u64 busy = k > 0 ? start[k - 1] + before[k] - before[k - 1] : 0;  // until the end of the previous detour
  return end / period * before.back() + before[count(end % period)] - before[k] + std::max(busy, begin) - begin;
}

}  // namespace flitgym
