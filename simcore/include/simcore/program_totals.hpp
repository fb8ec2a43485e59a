// Totals of a program, and checks that it can run.
#pragma once

#include "simcore/limits.hpp"
#include "simcore/program.hpp"

namespace flitgym::workload {

// Calls visit(index, times) for each run of blocks of a rank that repeats() declares equal. `block` is the first of
// them. If visit sets `times` to 1, the next block follows.
template <class Visit>
void each_block(const Program& program, u32 rank, Block& block, Visit&& visit) {
  for (u64 index = 0, blocks = program.blocks(rank), times = 0; index < blocks; index += times) {
    times = program.repeats(rank, index);
    block.clear();
    program.block(rank, index, block);
    worked(8 + block.ops.size());
    visit(index, times);
  }
}

// Over all ranks and blocks. Values saturate at 2^64 - 1.
struct ProgramTotals {
  u64 messages = 0;  // sends
  u64 bytes = 0;     // sent, without headers
  u64 receives = 0;
  u64 calc_ns = 0;
  u64 operations = 0;  // operations of all kinds
};

ProgramTotals totals(const Program& program);
std::vector<u64> bytes_sent(const Program& program);  // [ranks]

// Returns whether `times` blocks from block `index` on, which repeats() declares equal, have the same peers. `first` is
// block `index`. A sample of 16 blocks is compared. `other` is scratch memory.
bool same_peers_in_run(const Program& program, u32 rank, u64 index, u64 times, const Block& first, Block& other);

// Throws ConfigError for the first error: a peer or dependency out of range, a cycle in a block, or a send or receive
// without a match. `where` names the program in the message. Sends and receives are counted per (source, destination,
// tag), and receives from any source or of any tag take the rest. Ranks of a valid program may still deadlock, because
// the order of the matches is not checked. Of blocks that repeats() declares equal, a sample of 16 is compared. If its
// peers differ (e.g. a new permutation in every iteration), every block of the program is read.
void check_program(const Program& program, const std::string& where);

}  // namespace flitgym::workload
