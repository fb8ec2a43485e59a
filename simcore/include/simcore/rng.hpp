// Random numbers are functions of (seed, stream, counter). There is no generator with a state, so the numbers do not
// depend on the order in which threads draw them.
#pragma once

#include "simcore/types.hpp"

namespace flitgym {

// A bijective 64-bit mixer with full avalanche (the finaliser of SplitMix64, Steele et al., OOPSLA 2014).
inline u64 mix64(u64 x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ull;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

inline u64 draw(u64 seed, u64 stream, u64 counter) {
  const u64 key = mix64(seed + 0x9e3779b97f4a7c15ull * (stream + 1));
  return mix64(key + 0xd1b54a32d192ed03ull * (counter + 1));
}

// Uniform integer in [0, n).
inline u32 below(u64 bits, u32 n) { return static_cast<u32>((u128{bits} * n) >> 64); }

// Uniform real in (0, 1): never 0, so that its logarithm is finite.
inline double unit(u64 bits) { return (static_cast<double>(bits >> 12) + 0.5) * 0x1.0p-52; }

// Natural logarithm of x in (0, 1) with an error of 1e-10: a table over the leading seven bits of the mantissa and a
// cubic polynomial. It uses only basic IEEE operations, so all machines draw the same gaps. The logarithms of libraries
// may differ in the last bit.
struct LogTable {
  double inverse[128], log[128];
  constexpr LogTable() : inverse(), log() {
    for (int i = 0; i < 128; i++) {
      const double c = 1 + (i + 0.5) / 128, y = (c - 1) / (c + 1), z = y * y;
      double series = 0;
      for (int k = 31; k >= 1; k -= 2) series = series * z + 1.0 / k;
      inverse[i] = 1 / c;
      log[i] = 2 * y * series;
    }
  }
};
inline constexpr LogTable kLogTable;

inline double log_unit(double x) {
  const u64 bits = std::bit_cast<u64>(x);
  const u32 i = bits >> 45 & 127;
  const double m = std::bit_cast<double>((bits & 0xfffffffffffffull) | 0x3ff0000000000000ull),
               r = m * kLogTable.inverse[i] - 1;
  const double exponent = static_cast<double>(static_cast<i32>(bits >> 52) - 1023);
  const double log = exponent * 0.6931471805599453 + (kLogTable.log[i] + (r - r * r * (0.5 - r * (1.0 / 3))));
  return log < 0 ? log : 0.0;
}

// e to the power x >= 0 with a relative error of 1e-12, by a series on [-ln 2 / 2, ln 2 / 2]; like log_unit() the same
// on all machines. Values of x above 700 count as 700.
inline double exp_up(double x) {
  const auto octave = static_cast<i32>((x < 700 ? x : 700.0) * 1.4426950408889634 + 0.5);
  const double r = (x < 700 ? x : 700.0) - octave * 0.6931471805599453;
  double series = 1;
  for (int k = 12; k >= 1; k--) series = 1 + series * r / k;
  return series * std::bit_cast<double>(static_cast<u64>(octave + 1023) << 52);
}

// Counters of a packet's stream. Each use has a separate range.
enum : u64 {
  kDrawDestination = 0,    // traffic pattern: 16 counters
  kDrawRoute = 64,         // routing: 16 counters per router hop
  kDrawSize = 48,          // packet size
  kDrawRecord = 49,        // whether an agent's decisions for the packet are recorded
  kDrawDirection = 50,     // a bit per dimension: direction around a ring if both are equally long
  kDrawPeriod = 51,        // lengths of bursts and pauses: 2 counters
  kDrawClass = 53,         // traffic class of a terminal
  kDrawFlow = 1024,        // incast: receiver and senders
  kDrawGap = u64{1} << 32  // time to the next generation, one per load step
};

}  // namespace flitgym
