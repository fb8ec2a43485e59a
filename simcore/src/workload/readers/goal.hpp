// The text form of GOAL schedules, as LogGOPSim reads it (Hoefler, Schneider, Lumsdaine, "LogGOPSim", LSAP 2010):
//
//   num_ranks 2
//   rank 0 {
//   c: calc 4000                       nanoseconds
//   s: send 1000b to 1 tag 7 cpu 0 nic 0
//   s requires c                       s starts after c finished; `irequires`: after c started
//   }
//   rank 1 { ... }
//
// Labels belong to a rank and stand above their use. A receive may be `from -1` and have `tag -1`: any. Comments (//
// and /* */) may stand wherever a blank may.
#pragma once

#include <memory>
#include <string>

#include "simcore/program.hpp"

namespace flitgym::workload {

// A program of one block per rank (none where the rank does nothing). Throws ConfigError "file:line:column: what; what
// was expected".
std::shared_ptr<const Program> read_goal(const std::string& text, const std::string& file_name);
std::shared_ptr<const Program> read_goal_file(const std::string& path);

// All blocks of a rank one below the other; `calc 0` stands between two blocks where it saves dependencies.
std::string write_goal(const Program& program);

}  // namespace flitgym::workload
