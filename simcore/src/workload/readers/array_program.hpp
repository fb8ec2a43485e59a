// A program from flat arrays: what a script makes with NumPy. A rank has blocks 0, 1, ... and runs each of them
// `repeat_count` times (once when nothing is said) before the next.
#pragma once

#include <memory>
#include <span>

#include "simcore/program.hpp"

namespace flitgym::workload {

// Signed and wide, so that whatever does not fit is refused instead of wrapped around.
struct ProgramArrays {
  using Column = std::span<const i64>;
  i64 ranks = 0;

  // One entry per operation. Within a block they are numbered in the order in which they come; blocks may come in any
  // order.
  Column op_rank, op_block;
  Column op_kind;  // 0 calc, 1 send, 2 receive
  Column op_size;  // ns or bytes
  Column op_peer;  // of a message; -1 = any source of a receive
  Column op_tag;   // of a message; -1 = any tag of a receive
  Column op_cpu;   // 0 .. 255

  // One entry per dependency: `after` starts when `before` has finished, or (on_start 1) has started. Both are numbers
  // in the block.
  Column dependency_rank, dependency_block, dependency_before, dependency_after, dependency_on_start;

  // One entry per block that runs more than once.
  Column repeat_rank, repeat_block, repeat_count;
};

// Copies what it needs. Throws ConfigError "op_peer[17]: what is wrong; what was expected".
std::shared_ptr<const Program> looped_program(const ProgramArrays& arrays);

}  // namespace flitgym::workload
