#include "simcore/table_guard.hpp"

#include <algorithm>

#include "verify/verify.hpp"

namespace flitgym {

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

void TableGuard::touch_exposed() {
  for (Table& table : tables_) table.touched = table.exposed;
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
// table are verified in every cycle (Workspace::wary).
void TableGuard::check_due(const Network& net, const State& s, u64 cycles) {
  const u64 now = s.part.totals.now;
  for (u32 k = 0; k < tables_.size(); k++) {
    const Table& table = tables_[k];
    const u64 period = s.memory[k].size() / sizeof(float) / 1024;
    if (table.exposed && (table.touched || now < table.checked_at || now + cycles - table.checked_at >= period))
      check(net, s, k);
  }
}

void TableGuard::check_exposed(const Network& net, const State& s) {
  for (u32 k = 0; k < tables_.size(); k++)
    if (tables_[k].exposed) check(net, s, k);
}

void TableGuard::check_all(const Network& net, const State& s) {
  for (u32 k = 0; k < tables_.size(); k++)
    if (net.memories[k].learned) verify_table(net, k, s.memory[k], used(net, k));
}

void TableGuard::restart(Cycle now) {
  for (Table& table : tables_) table.checked_at = now;
}

}  // namespace flitgym
