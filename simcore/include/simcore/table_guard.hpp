// Checks the entries of learned tables that a user writes into. A bad value stops the run with an error that names the
// entry.
#pragma once

#include "simcore/state.hpp"

namespace flitgym {

// A learned table is identified by its index in Network::memories.
class TableGuard {
 public:
  explicit TableGuard(const Network& net) : tables_(net.memories.size()) {}

  // Call when a user gets a writable view of the table, which the user may keep. The table is checked before the next
  // cycle.
  void expose(const Network& net, u32 memory);
  // Writes [routers, rows, columns] values. Throws ConfigError and leaves the table unchanged if one is invalid.
  void set(const Network& net, State& s, u32 memory, const float* values);

  // Each throws ConfigError with the first bad entry.
  void check_due(const Network& net, const State& s, u64 cycles);  // tables whose check is due within `cycles` cycles
  void check_all(const Network& net, const State& s);              // checks a state that was loaded

 private:
  struct Table {
    // [routers, rows, words of 64 columns] bits of the columns that packets use, computed at the first use
    std::shared_ptr<const std::vector<u64>> used;
    bool exposed = false, touched = false;  // touched: a view was given out since the last check
    u64 checked_at = 0;                     // cycle
  };
  const std::vector<u64>& used(const Network& net, u32 memory);
  void check(const Network& net, const State& s, u32 memory);

  std::vector<Table> tables_;  // [memories] meaningful for learned tables
};

}  // namespace flitgym
