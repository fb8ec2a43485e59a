// What a program amounts to, and whether it can be run at all.
#pragma once

#include <string>
#include <vector>

#include "simcore/program.hpp"

namespace flitgym::workload {

// Over all ranks and blocks; 2^64 - 1 stands for that and more.
struct ProgramTotals {
  u64 messages = 0;  // sends
  u64 bytes = 0;     // sent, without headers
  u64 receives = 0;
  u64 calc_ns = 0;
  u64 operations = 0;  // of all kinds
};

ProgramTotals totals(const Program& program);
std::vector<u64> bytes_sent(const Program& program);  // [ranks]

// Of the run of `times` blocks that begins with block `index`, which is `first`: have they the same peers, too? A
// sample of 16 is looked at; `other` is room for it.
bool same_peers_in_run(const Program& program, u32 rank, u64 index, u64 times, const Block& first, Block& other);

// Throws ConfigError with what is wrong first: a peer or a dependency that is out of range, a cycle in a block, a send
// that no receive takes or the other way round. `where` names the program in the message.
//
// Sends and receives are counted per (source, destination, tag) over the whole program; receives from any source or of
// any tag take what those with a name leave. Nothing is said about the order in which they meet: a program that passes
// may still be one in which ranks wait for each other in a circle.
//
// Of a run of blocks that repeats() calls alike a sample of 16 is looked at; where their peers are the same in every
// rank the first stands for the run, otherwise (a new permutation every iteration) all blocks of the program are looked
// at.
void check_program(const Program& program, const std::string& where);

}  // namespace flitgym::workload
