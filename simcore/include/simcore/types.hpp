// Integer types, sentinels, a selection without a branch, and the standard headers that every part of the core uses.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

// Declares a field of a list such as FLITGYM_STATE (state.hpp).
#define FLITGYM_DECLARE(type, name) type name{};

namespace flitgym {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;
__extension__ using u128 = unsigned __int128;

using Cycle = u32;                              // times never wrap around
inline constexpr u32 kEndOfTime = 0xff000000u;  // last cycle of a run (5.4 s of simulated time at 1.28 ns)
inline constexpr u32 kLongestDelay = 0x800000;  // longest delay, in cycles
inline constexpr u32 kNone = 0xffffffffu;       // "no such id" in every id array
inline constexpr u32 kMaxRadix = 512;           // ports of a router
// A decision that allows any VC. Used at ejection, where no cycle of dependencies can form.
inline constexpr u32 kAnyClass = 0xffff;
inline constexpr u32 kMaxVcs = 32;  // so that a set of virtual channels fits in half a word

// `chosen` if the condition holds, else `other`, without a branch. For conditions that a processor cannot predict: a
// misprediction takes as long as some 70 instructions, and compilers turn ?: into a branch where they like.
template <std::unsigned_integral T>
constexpr T select(bool condition, T chosen, T other) {
  return static_cast<T>(other ^ ((chosen ^ other) & (T{0} - T{condition})));
}
constexpr bool select(bool condition, bool chosen, bool other) { return (condition & chosen) | (!condition & other); }

}  // namespace flitgym
