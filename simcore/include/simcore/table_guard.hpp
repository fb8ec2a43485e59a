// Guards the learned tables that a user writes into: their entries are checked, so that a bad value stops the run with
// the name of the entry.
#pragma once

#include <memory>
#include <vector>

#include "simcore/network.hpp"
#include "simcore/state.hpp"

namespace flitgym {

// Learned tables are named by their number in Network::memories.
class TableGuard {
 public:
  explicit TableGuard(const Network& net) : tables_(net.memories.size()) {}

  // A user gets a writable view of the table and may keep it. The table is checked before the next cycle.
  void expose(const Network& net, u32 memory);
  void touch_exposed();  // a user may have written into every exposed table
  // Writes [routers, rows, columns] values. Throws ConfigError and leaves the table unchanged if one is invalid.
  void set(const Network& net, State& s, u32 memory, const float* values);

  // Each throws ConfigError with the first bad entry.
  void check_due(const Network& net, const State& s, u64 cycles);  // tables whose check is due within `cycles` cycles
  void check_exposed(const Network& net, const State& s);
  void check_all(const Network& net, const State& s);  // of a state that was loaded
  void restart(Cycle now);                             // after such a state has been taken over

 private:
  struct Table {
    std::shared_ptr<const std::vector<u64>> used;  // used_entries() of src/verify, made when first needed
    bool exposed = false, touched = false;         // touched: a view was given out since the last check
    u64 checked_at = 0;                            // cycle
  };
  const std::vector<u64>& used(const Network& net, u32 memory);
  void check(const Network& net, const State& s, u32 memory);

  std::vector<Table> tables_;  // [memories] meaningful for learned tables
};

}  // namespace flitgym
