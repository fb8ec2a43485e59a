#include "simcore/table_guard.hpp"

namespace flitgym {

static u32 words_of(const MemoryShape& t) { return (t.columns + 63) / 64; }

[[noreturn]] static void refuse_entry(const MemoryShape& t, std::size_t row, u32 column, float value, bool used) {
  const std::string where = t.name + "[" + std::to_string(row / t.rows) + ", " + std::to_string(row % t.rows) + ", " +
                            std::to_string(column) + "] (router, row, column; " + t.meaning +
                            "): " + std::to_string(value);
  if (!used) throw ConfigError(where, ", but no packet can use this entry, and it must stay infinite");
  if (std::isfinite(value)) throw ConfigError(where, " is negative; valid are finite values from 0, in ns");
  throw ConfigError(where, " is not finite; valid are finite values", t.lowest < 0 ? "" : " from 0, in ns");
}

// The used columns as bits, [routers, rows, words of 64 columns]. They are derived from the table of a new network,
// whose other columns are infinite.
static std::vector<u64> used_entries(const Network& net, u32 memory) {
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

// Throws ConfigError, naming the first invalid entry: one that is not finite or below the lowest value, or an unused
// one with a finite value. Non-negative floats order like their bit patterns, so an integer comparison finds those
// below infinity.
static void verify_table(const Network& net, u32 memory, const AlignedBytes& table, const std::vector<u64>& used) {
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

const std::vector<u64>& TableGuard::used(const Network& net, u32 memory) {
  auto& bits = tables_.at(memory).used;
  if (!bits) bits = std::make_shared<const std::vector<u64>>(used_entries(net, memory));
  return *bits;
}

void TableGuard::check(const Network& net, const State& s, u32 memory) {
  verify_table(net, memory, s.memory[memory], used(net, memory));
  tables_[memory].touched = false;
  tables_[memory].checked_at = s.part.totals.now;
}

void TableGuard::expose(const Network& net, u32 memory) {
  used(net, memory);
  tables_[memory].exposed = tables_[memory].touched = true;
}

void TableGuard::set(const Network& net, State& s, u32 memory, const float* values) {
  const MemoryShape& t = net.memories[memory];
  State given;
  given.memory.resize(memory + 1);
  given.memory[memory] = s.memory[memory];
  float* const table = Kept<float>{memory}.of(given);
  for (std::size_t row = 0; row < std::size_t{net.routers} * t.rows; row++)
    std::copy_n(values + row * t.columns, t.columns, table + row * t.stride);
  verify_table(net, memory, given.memory[memory], used(net, memory));
  s.memory[memory] = given.memory[memory];
}

// A check every `period` cycles costs a run next to nothing, however often run() is called. The routes that come of a
// table are verified in every cycle (Workspace::verify_choices). The present cycle is earlier than the last check if a
// snapshot was restored.
void TableGuard::check_due(const Network& net, const State& s, u64 cycles) {
  const u64 now = s.part.totals.now;
  for (u32 k = 0; k < tables_.size(); k++) {
    const Table& table = tables_[k];
    const u64 period = s.memory[k].size() / sizeof(float) / 1024;
    if (table.exposed && (table.touched || now < table.checked_at || now + cycles - table.checked_at >= period))
      check(net, s, k);
  }
}

void TableGuard::check_all(const Network& net, const State& s) {
  for (u32 k = 0; k < tables_.size(); k++)
    if (net.memories[k].learned) verify_table(net, k, s.memory[k], used(net, k));
}

}  // namespace flitgym
