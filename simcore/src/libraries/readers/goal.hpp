// Text form of GOAL schedules, as LogGOPSim reads it (Hoefler, Schneider, Lumsdaine, "LogGOPSim", LSAP 2010):
//
//   num_ranks 2
//   rank 0 {
//   c: calc 4000                       nanoseconds
//   s: send 1000b to 1 tag 7 cpu 0 nic 0
//   s requires c                       s starts after c finished; `irequires`: after c started
//   }
//   rank 1 { ... }
//
// Labels belong to a rank and are defined before their use. A receive may be `from -1` (any source) and have `tag -1`
// (any tag). Comments (// and /* */) may appear wherever a blank may.
#pragma once

#include "simcore/program.hpp"

namespace flitgym::workload {

// Returns a program with one block per rank, or none for a rank without operations. Throws ConfigError
// "file:line:column: error; expected syntax".
std::shared_ptr<const Program> read_goal(const std::string& text, const std::string& file_name);
std::shared_ptr<const Program> read_goal_file(const std::string& path);  // text or binary (goal_binary.hpp)

// Writes all blocks of a rank in sequence. A `calc 0` joins two blocks where it saves dependencies.
std::string write_goal(const Program& program);

}  // namespace flitgym::workload
