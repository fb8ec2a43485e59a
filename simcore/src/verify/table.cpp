// Learned tables that a user or a snapshot has written.
#include <bit>
#include <cmath>
#include <limits>

#include "simcore/error.hpp"
#include "verify/verify.hpp"

namespace flitgym {

namespace {

u32 words_of(const MemoryShape& t) { return (t.columns + 63) / 64; }

[[noreturn]] void refuse_entry(const MemoryShape& t, std::size_t row, u32 column, float value, bool used) {
  const std::string where = t.name + "[" + std::to_string(row / t.rows) + ", " + std::to_string(row % t.rows) + ", " +
                            std::to_string(column) + "] (router, row, column; " + t.meaning +
                            "): " + std::to_string(value);
  if (!used) throw ConfigError(where + ", but no packet can use this entry, and it must stay infinite");
  if (std::isfinite(value)) throw ConfigError(where + " is negative; valid are finite values from 0, in ns");
  throw ConfigError(where + " is not finite; valid are finite values" + (t.lowest < 0 ? "" : " from 0, in ns"));
}

}  // namespace

std::vector<u64> used_entries(const Network& net, u32 memory) {
  const MemoryShape& t = net.memories[memory];
  State fresh;
  fresh.memory.resize(net.memories.size());
  fresh.memory[memory].assign(memory_bytes(net, t), 0);
  fill_memory(net, fresh, memory);
  const float* const table = Kept<float>{memory}.of(fresh);
  const u32 words = words_of(t);
  std::vector<u64> used(std::size_t{net.routers} * t.rows * words, 0);
  for (std::size_t row = 0; row < std::size_t{net.routers} * t.rows; row++) {
    worked(t.columns);
    const float* const values = table + row * t.stride;
    for (u32 c = 0; c < t.columns; c++)
      used[row * words + c / 64] |= u64{values[c] != std::numeric_limits<float>::infinity()} << (c % 64);
  }
  return used;
}

// Non-negative floats order like their bit patterns, so an integer comparison finds those below infinity.
void verify_table(const Network& net, u32 memory, const AlignedBytes& table, const std::vector<u64>& used) {
  const MemoryShape& t = net.memories[memory];
  constexpr u32 kInfinity = 0x7f800000u;
  const u32 sign = t.lowest < 0 ? 0x7fffffffu : 0xffffffffu;  // if negative values are valid, -0 is valid, too
  const u32 words = words_of(t);
  const float* const all = reinterpret_cast<const float*>(table.data());
  for (std::size_t row = 0; row < used.size() / words; row++) {
    worked(t.columns);
    for (u32 word = 0; word < words; word++) {
      const float* const values = all + row * t.stride + word * 64;
      const u32 columns = word + 1 < words ? 64 : t.columns - word * 64;
      const u64 wanted = used[row * words + word];
      u64 finite = 0;
      u32 largest = 0;
      for (u32 c = 0; c < columns; c++) {
        const u32 bits = std::bit_cast<u32>(values[c]) & sign;
        finite |= u64{bits < kInfinity} << c;
        largest = bits > largest ? bits : largest;
      }
      if (finite == wanted && largest <= kInfinity) [[likely]]
        continue;
      for (u32 c = 0; c < columns; c++) {
        const u32 bits = std::bit_cast<u32>(values[c]) & sign;
        const bool needed = wanted >> c & 1;
        if (needed ? bits >= kInfinity : bits != kInfinity) refuse_entry(t, row, word * 64 + c, values[c], needed);
      }
    }
  }
}

}  // namespace flitgym
