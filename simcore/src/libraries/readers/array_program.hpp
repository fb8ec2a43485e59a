// A program from flat arrays, such as a script makes with NumPy. A rank has blocks 0, 1, ... It runs each block
// `repeat_count` times (once by default) before the next.
#pragma once

#include <span>

#include "simcore/program.hpp"

namespace flitgym::workload {

// Signed 64-bit columns, so that values out of range are refused instead of wrapped around.
struct ProgramArrays {
  using Column = std::span<const i64>;
  i64 ranks = 0;

  // One entry per operation. Operations of a block are numbered in the order of their entries. Blocks may come in any
  // order.
  Column op_rank, op_block;
  Column op_kind;  // 0 calc, 1 send, 2 receive
  Column op_size;  // ns or bytes
  Column op_peer;  // of a message; -1 = any source of a receive
  Column op_tag;   // of a message; -1 = any tag of a receive
  Column op_cpu;   // 0 .. 255

  // One entry per dependency. `after` starts when `before` has finished, or has started if on_start is 1. Both are
  // operation numbers within the block.
  Column dependency_rank, dependency_block, dependency_before, dependency_after, dependency_on_start;

  // One entry per block that runs more than once.
  Column repeat_rank, repeat_block, repeat_count;
};

// Copies the data it needs. Throws ConfigError "op_peer[17]: error; expected value". check_program() also finds cycles
// and messages without a partner.
std::shared_ptr<const Program> looped_program(const ProgramArrays& arrays);

}  // namespace flitgym::workload
