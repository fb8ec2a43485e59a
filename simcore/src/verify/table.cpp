// The learned table: what a user or a snapshot put into it.
#include <bit>
#include <cmath>
#include <limits>

#include "simcore/error.hpp"
#include "verify/verify.hpp"

namespace flitgym {

std::vector<u64> used_entries(const Network& net, const State& fresh) {
  const TableShape& t = net.table;
  std::vector<u64> used(std::size_t{net.routers} * t.rows, 0);
  for (std::size_t row = 0; row < used.size(); row++)
    for (u32 c = 0; c < t.columns; c++)
      used[row] |= u64{fresh.table[row * t.stride + c] != std::numeric_limits<float>::infinity()} << c;
  return used;
}

namespace {

[[noreturn]] void refuse_entry(const Network& net, std::size_t row, u32 column, float value, bool used) {
  const TableShape& t = net.table;
  const std::string where = "q_table[" + std::to_string(row / t.rows) + ", " + std::to_string(row % t.rows) + ", " +
                            std::to_string(column) + "] (router, row, column; " + t.layout + "): " +
                                std::to_string(value);
  if (!used) throw ConfigError(where + ", but no packet can use this entry, and it must stay infinite");
  if (std::isfinite(value)) throw ConfigError(where + " is negative; valid are finite values from 0 on, in ns");
  throw ConfigError(where + " is not finite; valid are finite values" + (t.signed_values ? "" : " from 0 on, in ns"));
}

}  // namespace

// Non-negative floats order like their bit patterns: one comparison of integers finds those below infinity.
void verify_table(const Network& net, const State& s, const std::vector<u64>& used) {
  const TableShape& t = net.table;
  constexpr u32 kInfinity = 0x7f800000u;
  const u32 sign = t.signed_values ? 0x7fffffffu : 0xffffffffu;  // -0 is as good as 0 where negative values are
  for (std::size_t row = 0; row < used.size(); row++) {
    const float* const values = &s.table[row * t.stride];
    u64 finite = 0;
    u32 largest = 0;
    for (u32 c = 0; c < t.columns; c++) {
      const u32 bits = std::bit_cast<u32>(values[c]) & sign;
      finite |= u64{bits < kInfinity} << c;
      largest = bits > largest ? bits : largest;
    }
    if (finite == used[row] && largest <= kInfinity) [[likely]] continue;
    for (u32 c = 0; c < t.columns; c++) {
      const u32 bits = std::bit_cast<u32>(values[c]) & sign;
      const bool needed = used[row] >> c & 1;
      if (needed ? bits >= kInfinity : bits != kInfinity) refuse_entry(net, row, c, values[c], needed);
    }
  }
}

}  // namespace flitgym
